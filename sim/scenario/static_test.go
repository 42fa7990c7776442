package scenario

import (
	"testing"
	"time"
)

// A million nodes are to be built and get ten items in a quarter of an hour: their items
// are closer together. They join at the rate that a hundred thousand have, and then trees
// have as long to warm up however large they are, unless somebody says how long.
func TestManyTakeLessTime(t *testing.T) {
	for _, tc := range []struct {
		cfg                  Config
		joined, warmUp, pace time.Duration
	}{
		{Config{Nodes: 1000}, time.Minute, 150 * time.Second, 5 * time.Second},
		{Config{Nodes: 100_000}, time.Minute, 150 * time.Second, 5 * time.Second},
		{Config{Nodes: 200_000}, 90 * time.Second, 3 * time.Minute, 500 * time.Millisecond},
		{Config{Nodes: 1_000_000}, 330 * time.Second, 7 * time.Minute, 500 * time.Millisecond},
		{Config{Nodes: 1_000_000, WarmUp: 5 * time.Minute}, 5 * time.Minute, 5 * time.Minute, 500 * time.Millisecond},
		{Config{Nodes: 1_000_000, WarmUp: time.Minute}, time.Minute, time.Minute, 500 * time.Millisecond},
		{Config{Nodes: 10_000_000}, 8 * time.Minute, 570 * time.Second, 500 * time.Millisecond},
	} {
		cfg := tc.cfg
		if err := static.check(&cfg); err != nil {
			t.Fatal(err)
		}
		if cfg.joined() != tc.joined || cfg.WarmUp != tc.warmUp || pace(cfg) != tc.pace {
			t.Errorf("%+v: joined by %v, warm-up %v, items %v apart; want %v, %v and %v",
				tc.cfg, cfg.joined(), cfg.WarmUp, pace(cfg), tc.joined, tc.warmUp, tc.pace)
		}
	}
}
