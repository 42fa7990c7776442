// Command fuzzall runs all fuzz targets of the module, and says how many executions
// that were.
//
//	go run ./internal/fuzz/fuzzall -executions 1e8 -for 2h -seed 7
//
// It goes round the targets, and gives each a slice of time: a part of it to Go's
// engine, which looks for inputs that cover more, and the rest to mutations of what
// was found so far (internal/fuzz), which are many times as fast. It ends when there
// were so many executions, or when the time is over, or at ctrl-C, and always says
// how far it came. What failed is in the package's testdata/fuzz, to stay there
// with the fix; a target that failed gets no further slice.
//
// With -keep it runs nothing: of what the engine found it adds to testdata/fuzz a
// few inputs, which together cover what all of them do.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// settings are the flags.
type settings struct {
	executions float64
	limit      time.Duration
	slice      time.Duration
	guided     float64
	seed       uint64
	dir        string
	keep       int
}

func main() {
	var s settings
	flag.Float64Var(&s.executions, "executions", 1e8, "end after so many, over all targets")
	flag.DurationVar(&s.limit, "for", 2*time.Hour, "end after this time")
	flag.DurationVar(&s.slice, "slice", 10*time.Second, "how long a target runs at a time")
	flag.Float64Var(&s.guided, "guided", 0.25, "the part of the time that Go's engine gets")
	flag.Uint64Var(&s.seed, "seed", 1, "of the mutations")
	flag.StringVar(&s.dir, "dir", filepath.Join(os.TempDir(), "feedtree-fuzz"), "where programs and what the engine found are kept, also for the next run")
	flag.IntVar(&s.keep, "keep", 0, "keep at most so many inputs of each target in testdata/fuzz, and run nothing")
	only := flag.String("run", "", "only targets that this matches, as feed.FuzzParse")
	flag.Parse()
	if err := run(s, *only); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

func run(s settings, only string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	targets, err := find(".", match)
	if err != nil {
		return err
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if s.keep > 0 {
		return keepAll(ctx, s, targets)
	}
	if err := build(ctx, s, targets); err != nil {
		return err
	}
	began := time.Now()
	if s.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.limit)
		defer cancel()
	}
	rounds(ctx, s, targets)
	return table(s, targets, time.Since(began))
}

// rounds gives slices until there were executions enough, or ctx ends.
func rounds(ctx context.Context, s settings, targets []*target) {
	began := time.Now()
	for round := uint64(0); ; round++ {
		for _, t := range turn(targets, round) {
			if ctx.Err() != nil || float64(total(targets)) >= s.executions {
				return
			}
			fmt.Fprintf(os.Stderr, "%8v  %12d executions, round %d, %s\n", time.Since(began).Round(time.Second), total(targets), round+1, t.name())
			t.guide(ctx, s, time.Duration(s.guided*float64(s.slice)))
			t.mutate(ctx, s, s.seed+round, time.Duration((1-s.guided)*float64(s.slice)))
		}
		if !anyLeft(targets) {
			return
		}
	}
}

// turn returns the targets of a round: all that did not fail, or, in two rounds of
// three, the faster half of them.
func turn(targets []*target, round uint64) []*target {
	var left []*target
	for _, t := range targets {
		if !t.failed {
			left = append(left, t)
		}
	}
	if round%3 != 0 {
		slices.SortStableFunc(left, func(a, b *target) int { return cmp.Compare(b.speed(), a.speed()) })
		left = left[:(len(left)+1)/2]
	}
	return left
}

func anyLeft(targets []*target) bool {
	for _, t := range targets {
		if !t.failed {
			return true
		}
	}
	return false
}

func total(targets []*target) (n int) {
	for _, t := range targets {
		n += t.guided + t.mutated
	}
	return n
}

// table prints what was run, and returns an error if something failed or it ended
// early.
func table(s settings, targets []*target, took time.Duration) error {
	failed := 0
	fmt.Printf("%-45s %14s %14s %10s\n", "target", "guided", "mutations", "time")
	for _, t := range targets {
		note := ""
		if t.failed {
			failed++
			note = "  FAILED"
		}
		fmt.Printf("%-45s %14d %14d %10v%s\n", t.name(), t.guided, t.mutated, t.took.Round(time.Second), note)
	}
	sum := total(targets)
	fmt.Printf("%d executions of %d targets in %v, seed %d, %d failed\n", sum, len(targets), took.Round(time.Second), s.seed, failed)
	switch {
	case failed > 0:
		return fmt.Errorf("%d targets failed", failed)
	case float64(sum) < s.executions:
		return fmt.Errorf("ended early, before %.0f executions", s.executions)
	}
	return nil
}
