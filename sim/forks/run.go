package forks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Config is what to play. The zero value is what the targets are meant for.
type Config struct {
	Seed     uint64 // of the first world; the others follow it
	Trees    int    // worlds of a liar; 0: 1,000
	Crashes  int    // of honest publishers; 0: 1,000
	Backups  int    // restored among these; 0: one for ten crashes
	Reckless bool   // honest publishers go on where their state says
}

// Result is what came of it.
type Result struct {
	Seed    uint64  `json:"seed"`
	Trees   int     `json:"trees"`       // of liars
	Met     int     `json:"met"`         // of these, where branches met
	Proved  int     `json:"proved"`      // of those, where the lie was proved
	Unaware int     `json:"unaware"`     // honest members, in those, that did not hear of it within two minutes
	First   float64 `json:"first_p50_s"` // until somebody knew, since the lie or since parted networks met
	Median  float64 `json:"all_p50_s"`   // until everybody did
	P99     float64 `json:"all_p99_s"`
	Worst   float64 `json:"all_max_s"`
	Crashes int     `json:"crashes"`      // of honest publishers
	Backups int     `json:"backups"`      // restored
	False   int     `json:"false_proofs"` // against them
}

// Run plays all worlds. If ctx ends before, the result is of those played so far.
func Run(ctx context.Context, c Config, progress func(done, total int)) (Result, error) {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	set(&c.Trees, 1000)
	set(&c.Crashes, 1000)
	set(&c.Backups, c.Crashes/10)
	if c.Trees < 0 || c.Crashes < 0 || c.Backups < 0 || c.Backups > c.Crashes {
		return Result{}, fmt.Errorf("%d trees, %d crashes, %d backups: none is negative, and backups are restored after crashes", c.Trees, c.Crashes, c.Backups)
	}
	r := Result{Seed: c.Seed}
	total := c.Trees + (c.Crashes+lives-1)/lives
	var first, all []float64
	for i := range total {
		if err := ctx.Err(); err != nil {
			r.summarise(first, all)
			return r, err
		}
		if progress != nil {
			progress(i, total)
		}
		if i >= c.Trees {
			r.honest(c, c.Seed+uint64(i))
			continue
		}
		o := playLiar(c.Seed + uint64(i))
		r.Trees++
		if !o.met {
			continue
		}
		r.Met++
		r.Unaware += o.missed
		if o.proved {
			r.Proved++
			first, all = append(first, o.first.Seconds()), append(all, o.all.Seconds())
		}
	}
	r.summarise(first, all)
	return r, nil
}

// honest plays the next world of crashes.
func (r *Result) honest(c Config, seed uint64) {
	crashes := min(lives, c.Crashes-r.Crashes)
	backups := c.Backups*(r.Crashes+crashes)/c.Crashes - r.Backups
	r.False += playHonest(seed, crashes, backups, c.Reckless)
	r.Crashes += crashes
	r.Backups += backups
}

func (r *Result) summarise(first, all []float64) {
	slices.Sort(first)
	slices.Sort(all)
	at := func(sorted []float64, part float64) float64 {
		if len(sorted) == 0 {
			return 0
		}
		x := sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
		return math.Round(1000*x) / 1000
	}
	r.First, r.Median, r.P99, r.Worst = at(first, 0.5), at(all, 0.5), at(all, 0.99), at(all, 1)
}

// Kept reports whether the targets of the issue are met: every lie proved once
// branches meet, all told within two minutes, nobody accused falsely.
func (r Result) Kept() bool { return r.Proved == r.Met && r.Unaware == 0 && r.False == 0 }

// WriteTable writes the result for people.
func (r Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what string, figure any, target string, met bool) {
		verdict := ""
		if target != "" {
			verdict = "met"
			if !met {
				verdict = "MISSED"
			}
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\n", what, figure, target, verdict)
	}
	fmt.Fprintf(w, "equivocation: liars found out, honest publishers never; seed %d\n\n", r.Seed)
	fmt.Fprintln(t, "measure\tfigure\ttarget\t")
	row("trees with a lying publisher", r.Trees, "", true)
	row("where branches met", r.Met, "", true)
	row("proved, of these", r.Proved, fmt.Sprintf("%d", r.Met), r.Proved == r.Met)
	row("honest members not told within 2 min", r.Unaware, "0", r.Unaware == 0)
	row("until somebody knew, median (s)", r.First, "", true)
	row("until everybody knew, median (s)", r.Median, "", true)
	row("until everybody knew, P99 (s)", r.P99, "", true)
	row("until everybody knew, worst (s)", r.Worst, fmt.Sprintf("≤ %v", told.Seconds()), r.Worst <= told.Seconds())
	row("crashes of honest publishers", r.Crashes, "", true)
	row("backups restored", r.Backups, "", true)
	row("false proofs", r.False, "0", r.False == 0)
	return t.Flush()
}

// WriteJSON writes the result as one object.
func (r Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Plot draws nothing: the figures are few.
func (Result) Plot(string) ([]string, error) { return nil, nil }
