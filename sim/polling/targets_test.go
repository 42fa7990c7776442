package polling_test

import (
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/sim/polling"
)

var (
	sweepSeeds    = flag.Int("sweep.seeds", 0, "replay the workloads in full with so many seeds and print the table")
	sweepWorkload = flag.String("sweep.workload", "", "only this one")
	sweepPlots    = flag.String("sweep.plots", "", "write plots over Han's range of budgets into this directory")
)

// TestSweep is the whole measurement: 1,000 feeds, twelve weeks, every policy.
func TestSweep(t *testing.T) {
	if *sweepSeeds == 0 {
		t.Skip("-sweep.seeds is not given")
	}
	c := polling.Config{Seeds: *sweepSeeds}
	if *sweepWorkload != "" {
		c.Workloads = []string{*sweepWorkload}
	}
	if *sweepPlots != "" {
		c.Budgets = []int{1000, 2000, 5000, 10000, 15000, 20000}
	}
	r, err := polling.Run(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("seeds 1 to %d\n%s", c.Seeds, &table)
	if *sweepPlots != "" {
		if err := r.Plot(*sweepPlots); err != nil {
			t.Fatal(err)
		}
	}
}
