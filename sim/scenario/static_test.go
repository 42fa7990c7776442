package scenario

import (
	"testing"
	"time"
)

// A million nodes are to be built and get ten items in a quarter of an hour: their items
// are closer together. How long trees warm up does not depend on how large they are, unless
// somebody says how long.
func TestManyTakeLessTime(t *testing.T) {
	for _, tc := range []struct {
		cfg          Config
		warmUp, pace time.Duration
	}{
		{Config{Nodes: 100_000}, 150 * time.Second, 5 * time.Second},
		{Config{Nodes: 1_000_000}, 150 * time.Second, 500 * time.Millisecond},
		{Config{Nodes: 1_000_000, WarmUp: 5 * time.Minute}, 5 * time.Minute, 500 * time.Millisecond},
	} {
		cfg := tc.cfg
		if err := static.check(&cfg); err != nil {
			t.Fatal(err)
		}
		if cfg.WarmUp != tc.warmUp || pace(cfg) != tc.pace {
			t.Errorf("%+v: warm-up %v, items %v apart; want %v and %v", tc.cfg, cfg.WarmUp, pace(cfg), tc.warmUp, tc.pace)
		}
	}
}
