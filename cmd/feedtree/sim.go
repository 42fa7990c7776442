package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/feedtree/feedtree/sim/scenario"
)

type simCmd struct {
	Scenario string `arg:"" help:"What to run, or list."`

	Nodes       int           `help:"How many nodes; default: what the scenario's targets are meant for." placeholder:"N" env:"-"`
	Seed        uint64        `help:"Decides everything left to chance." default:"1" env:"-"`
	Latency     string        `help:"The network below: matrix (measured between hosts) or transit-stub (Scribe's)." enum:"matrix,transit-stub" default:"matrix" env:"-"`
	LatencyFile string        `help:"The matrix: CSV, one-way delays in ms. Default: shared/data/${latency_file} in this directory or one above, else a small one made up." placeholder:"FILE" type:"path"`
	JSON        string        `name:"json" help:"Write the result for machines, too." placeholder:"FILE" type:"path" env:"-"`
	Plot        string        `help:"Write plots (PNG), too." placeholder:"DIR" type:"path" env:"-"`
	Broken      []string      `help:"Switch part of the protocol off, to see it missed: repair; of witness: witnesses." placeholder:"PART" env:"-"`
	WarmUp      time.Duration `help:"Time before anything is measured, 10m at most; default: the scenario's." placeholder:"TIME" env:"-"`
	Span        time.Duration `help:"How long to measure, where a scenario goes by time; default: the scenario's." placeholder:"TIME" env:"-"`
	Session     time.Duration `help:"Median time that a node stays, under churn." default:"1h" env:"-"`
	Trace       string        `help:"Replay real feed documents of a directory: polling." placeholder:"DIR" type:"path" env:"-"`
	Trees       int           `help:"How many trees lying publishers are put into, and how often honest ones crash: equivocation; default 1000." placeholder:"N" env:"-"`
	Feeds       int           `help:"How many feeds the busiest nodes of idle and feeds are in, default 5000; or that are polled, default 1000." placeholder:"N" env:"-"`

	profiled
}

// latencyFile is looked for where nothing else is said.
const latencyFile = "latency-100-hosts.csv"

// Help teaches the command.
func (simCmd) Help() string {
	return `Runs the protocol as shipped in a simulated network and sets what it measures beside the targets. Same flags, same result: the trace hash covers every message. ctrl-C prints what there is so far, marked partial.

Examples:

    feedtree sim list
    feedtree sim static --nodes 10000 --latency transit-stub --plot plots
    feedtree sim churn --session 5m --json churn.json
    feedtree sim churn --nodes 2000 --broken repair`
}

// Run runs one scenario, or lists them.
func (c simCmd) Run(ctx context.Context, t terminal) error {
	return c.during(func() error { return c.run(ctx, t) })
}

func (c simCmd) run(ctx context.Context, t terminal) error {
	if c.Scenario == "list" {
		return listScenarios(t.Out)
	}
	if c.Scenario == pollingScenario {
		if c.Nodes != 0 || len(c.Broken) > 0 || c.WarmUp != 0 || c.Span != 0 {
			return coded{errors.New("polling has no nodes: of what a run is, it takes --feeds, --seed and --trace"), exitUsage}
		}
		return c.runPolling(ctx, t)
	}
	if c.Scenario == forksScenario {
		if c.Nodes != 0 || len(c.Broken) > 0 || c.WarmUp != 0 || c.Span != 0 || c.Feeds != 0 {
			return coded{errors.New("equivocation plays many small trees: of what a run is, it takes --trees and --seed"), exitUsage}
		}
		return c.runForks(ctx, t)
	}
	if c.Scenario == liesScenario {
		if c.Nodes != 0 || len(c.Broken) > 0 && !slices.Equal(c.Broken, []string{oneWitness}) || c.WarmUp != 0 || c.Span != 0 || c.Feeds != 0 {
			return coded{errors.New("witness plays many small worlds: of what a run is, it takes --seed and --broken " + oneWitness), exitUsage}
		}
		return c.runLies(ctx, t)
	}
	s, err := scenario.Find(c.Scenario)
	if err != nil {
		return coded{fmt.Errorf("%w, %s, %s, %s", err, pollingScenario, forksScenario, liesScenario), exitUsage}
	}
	if err := c.prepare(); err != nil {
		return err
	}
	cfg := scenario.Config{
		Nodes: c.Nodes, Seed: c.Seed, Latency: c.Latency, MatrixFile: c.matrix(), Broken: c.Broken,
		WarmUp: c.WarmUp, Span: c.Span, Session: c.Session, Feeds: c.Feeds,
	}
	if needs := s.Needs(cfg); needs != "" {
		fmt.Fprintf(t.Err, "this needs %s of memory, and takes up to twice that where there is plenty\n", needs)
	}
	bar := newBar(t.Err)
	result, err := s.Run(ctx, cfg, bar.show)
	bar.clear()
	if err != nil && !result.Partial {
		return fmt.Errorf("sim %s: %w", c.Scenario, err)
	}
	return c.done(t, result, result.Partial)
}

// done shows and writes a result. One of a run that was cut short is no success.
func (c simCmd) done(t terminal, r finding, partial bool) error {
	if err := c.write(t, r); err != nil {
		return err
	}
	if partial {
		return errors.New("cut short: the figures are partial") // and no cancellation, which would be success
	}
	return nil
}

// prepare makes what is to be written to, before anything takes long.
func (c simCmd) prepare() error {
	if c.Plot != "" {
		if err := os.MkdirAll(c.Plot, 0o777); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	if c.JSON != "" {
		f, err := os.OpenFile(c.JSON, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return fmt.Errorf("--json: %w", err)
		}
		return f.Close()
	}
	return nil
}

// matrix is the file of measured delays, empty if there is none.
func (c simCmd) matrix() string {
	if c.LatencyFile != "" {
		return c.LatencyFile
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		file := filepath.Join(dir, "shared", "data", latencyFile)
		if _, err := os.Stat(file); err == nil {
			return file
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// A finding is a result that can be shown.
type finding interface {
	WriteTable(io.Writer) error
	WriteJSON(io.Writer) error
	Plot(dir string) ([]string, error)
}

func (c simCmd) write(t terminal, r finding) error {
	if err := r.WriteTable(t.Out); err != nil {
		return err
	}
	if c.JSON != "" {
		var b strings.Builder
		if err := r.WriteJSON(&b); err != nil {
			return err
		}
		if err := os.WriteFile(c.JSON, []byte(b.String()), 0o666); err != nil {
			return err
		}
	}
	if c.Plot == "" {
		return nil
	}
	files, err := r.Plot(c.Plot)
	for _, f := range files {
		fmt.Fprintln(t.Out, "plotted", f)
	}
	return err
}

func listScenarios(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range scenario.All() {
		fmt.Fprintf(t, "%s\t%s\n", s.Name, s.About)
	}
	fmt.Fprintf(t, "%s\t%s\n", pollingScenario, "what policies of polling lose and how long items wait, on feeds as Han measured them or real ones")
	fmt.Fprintf(t, "%s\t%s\n", forksScenario, "publishers that say two things at one place, and honest ones that crash: who is proved to lie")
	fmt.Fprintf(t, "%s\t%s\n", liesScenario, "volunteers that say what no origin answered: what is believed, and how soon it is found")
	return t.Flush()
}
