package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/feedtree/feedtree/internal/bench"
)

type benchCmd struct {
	Multicast benchMulticastCmd `cmd:"" help:"Measure the ways events travel beside each other."`
	Archive   benchArchiveCmd   `cmd:"" help:"Measure how fast items are archived, read and found."`
}

type benchMulticastCmd struct {
	Nodes    int           `help:"How many nodes; the first publishes." default:"20" env:"-"`
	Messages int           `help:"How many items." default:"100" env:"-"`
	Size     int           `help:"Bytes of each." default:"4096" env:"-"`
	Rate     float64       `help:"Items a second." default:"10" env:"-"`
	Backend  []string      `help:"What to measure: tree, gossip, push (the floor)." enum:"tree,gossip,push" default:"tree,gossip,push" env:"-"`
	Delay    time.Duration `help:"Delay of every packet on its way." placeholder:"TIME" env:"-"`
	Cut      time.Duration `help:"Cut a member off for so long, too, and count what it gets of what it missed." placeholder:"TIME" env:"-"`
	Burst    int           `help:"Publish so many items as fast as they are taken, too." placeholder:"N" env:"-"`
	Runs     int           `help:"Measure each so often, in turn, and give the medians: figures of one run are a matter of luck." default:"1" env:"-"`
	JSON     string        `name:"json" help:"Write the figures for machines, too." placeholder:"FILE" type:"path" env:"-"`

	profiled
}

// Help teaches the command.
func (benchMulticastCmd) Help() string {
	return `Runs nodes in this process, over QUIC on loopback, with the same envelopes for each backend, one after the other. CPU and memory are the process's, so let nothing else run.

Examples:

    feedtree bench multicast --nodes 20 --runs 3
    feedtree bench multicast --nodes 100 --delay 100ms --backend tree,gossip --json delay.json
    feedtree bench multicast --cut 30s --burst 10000 --messages 10`
}

// Run measures. What an interrupt leaves is printed and marked.
func (c benchMulticastCmd) Run(ctx context.Context, t terminal) error {
	return c.during(func() error { return c.run(ctx, t) })
}

func (c benchMulticastCmd) run(ctx context.Context, t terminal) error {
	bar, now := newBar(t.Err), ""
	progress := func(stage string, done float64) {
		if stage != now {
			bar.clear()
			bar, now = newBar(t.Err), stage
		}
		bar.show(stage, done)
	}
	result, err := bench.Run(ctx, bench.Config{
		Nodes: c.Nodes, Messages: c.Messages, Size: c.Size, Rate: c.Rate, Backends: c.Backend,
		Delay: c.Delay, Cut: c.Cut, Burst: c.Burst, Runs: c.Runs, Progress: progress,
	})
	bar.clear()
	if len(result.Rows) > 0 || result.Partial {
		if err := printBench(t.Out, result); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if c.JSON == "" {
		return nil
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.JSON, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}

func printBench(w io.Writer, r bench.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "backend\tnodes\tdelivered\tp50 ms\tp99 ms\tmax ms\tdepth\tbytes\tCPU ms\tMiB/node\tgoroutines\tjoin ms\t")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%d\t%d/%d\t%.1f\t%.1f\t%.1f\t%d\t%.3f\t%.3f\t%.1f\t%.0f\t%.0f\t\n", row.Backend, row.Nodes,
			row.Delivered, row.Expected, row.P50, row.P99, row.Max, row.Depth, row.Bytes, row.CPU, row.RSS, row.Goroutines, row.Join)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for _, of := range []struct {
			what string
			*bench.Losses
		}{{"a member cut off", row.Cut}, {"a burst", row.Burst}} {
			if of.Losses != nil {
				fmt.Fprintf(w, "%s, %s: %d of %d delivered, %d told as missing, %d lost in silence, %.1f s\n",
					row.Backend, of.what, of.Delivered, of.Expected, of.Reported, of.Silent, of.Seconds)
			}
		}
	}
	if r.Partial {
		fmt.Fprintln(w, "partial: it was interrupted")
	}
	return nil
}
