package scenario

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Into how many lanes a scenario is parted changes nothing in it: neither the trace
// nor what is measured.
func TestLanesChangeNothing(t *testing.T) {
	play := func(name string, cfg Config) Result {
		s, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Run(context.Background(), cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tc := range []struct {
		scenario, latency string
		nodes             int
	}{{"static", "matrix", 200}, {"groups", "transit-stub", 80}, {"kill", "matrix", 80}} {
		cfg := Config{Nodes: tc.nodes, Seed: 7, Latency: tc.latency, WarmUp: 75 * time.Second, lanes: 1}
		want := play(tc.scenario, cfg)
		for _, lanes := range []int{2, 5, 16} {
			cfg.ahead = lanes == 5
			cfg.lanes = lanes
			got := play(tc.scenario, cfg)
			if got.TraceHash != want.TraceHash || !maps.Equal(got.Measures, want.Measures) {
				t.Errorf("%s in %d lanes: %s %v\nin one: %s %v", tc.scenario, lanes, got.TraceHash, got.Measures, want.TraceHash, want.Measures)
			}
		}
	}
}

// Every lane has its turn once in a window, however many there are to a processor, and no
// more of them at once than there are processors.
func TestAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 16} {
		var now, most atomic.Int32
		turns := make([]int, n)
		atOnce(n, func(k int) {
			turns[k]++
			now.Add(1)
			for range 1000 { // time for the others to begin
				runtime.Gosched()
				if n := now.Load(); n > most.Load() {
					most.Store(n)
				}
			}
			now.Add(-1)
		})
		if slices.ContainsFunc(turns, func(n int) bool { return n != 1 }) || int(most.Load()) > runtime.GOMAXPROCS(0) {
			t.Errorf("%d lanes had %v turns, %d of them at once", n, turns, most.Load())
		}
	}
}
