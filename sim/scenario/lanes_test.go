package scenario

import (
	"context"
	"maps"
	"testing"
	"time"
)

// On how many processors a scenario is played changes nothing in it: neither the trace
// nor what is measured.
func TestProcessorsChangeNothing(t *testing.T) {
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
		for _, lanes := range []int{2, 5} {
			cfg.lanes = lanes
			got := play(tc.scenario, cfg)
			if got.TraceHash != want.TraceHash || !maps.Equal(got.Measures, want.Measures) {
				t.Errorf("%s on %d processors: %s %v\non one: %s %v", tc.scenario, lanes, got.TraceHash, got.Measures, want.TraceHash, want.Measures)
			}
		}
	}
}
