package scenario

import (
	"testing"
	"time"
)

// A million nodes have three quarters of a minute more to join than a hundred thousand, and then
// trees have as long to warm up however large they are, unless somebody says how long.
func TestWarmUp(t *testing.T) {
	for _, tc := range []struct {
		cfg    Config
		warmUp time.Duration
	}{
		{Config{Nodes: 100_000}, 150 * time.Second},
		{Config{Nodes: 1_000_000}, 195 * time.Second},
		{Config{Nodes: 1_000_000, WarmUp: 5 * time.Minute}, 5 * time.Minute},
	} {
		cfg := tc.cfg
		if err := static.check(&cfg); err != nil {
			t.Fatal(err)
		}
		if cfg.WarmUp != tc.warmUp {
			t.Errorf("%+v: warm-up %v, want %v", tc.cfg, cfg.WarmUp, tc.warmUp)
		}
	}
}

// All join in the time for it, of more than 100,000 ever more a second: of a million 40,000
// in the first fifth, of 100,000 a fifth.
func TestRush(t *testing.T) {
	for nodes, inFirstFifth := range map[int]float64{100_000: 0.2, 1_000_000: 0.04} {
		first, at := 0.0, 0.0
		for k := range 1000 {
			was := at
			if at = rush(float64(k)/1000, nodes); at < was || at < 0 || at > 1 {
				t.Fatalf("%d nodes: the draw of %d thousandths joins at %v, the one before at %v", nodes, k, at, was)
			}
			if at < 0.2 {
				first += 0.001
			}
		}
		if first < inFirstFifth-0.002 || first > inFirstFifth+0.002 {
			t.Errorf("%d nodes: a part of %.3f joins in the first fifth of the time, want %.3f", nodes, first, inFirstFifth)
		}
	}
}
