package bench

import (
	"context"
	"slices"
	"testing"
	"time"
)

const settled = 100 * time.Millisecond

// Every backend delivers every item, and every figure is there.
func TestRun(t *testing.T) {
	r, err := Run(t.Context(), Config{Nodes: 4, Messages: 5, Size: 500, Rate: 50, Backends: Backends, Burst: 50, settle: settled})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 3 || r.Partial {
		t.Fatalf("got %+v", r)
	}
	for _, row := range r.Rows {
		if row.Expected != 15 || row.Delivered != 15 {
			t.Errorf("%s: %d of %d delivered, want 15", row.Backend, row.Delivered, row.Expected)
		}
		if row.P50 <= 0 || row.P99 < row.P50 || row.Max < row.P99 || row.Bytes < 1 || row.CPU <= 0 || row.Join <= 0 || row.Goroutines <= 0 {
			t.Errorf("%s: figures that cannot be: %+v", row.Backend, row)
		}
		if b := row.Burst; b == nil || b.Silent != 0 || b.Delivered+b.Reported != 150 {
			t.Errorf("%s: of a burst %+v", row.Backend, b)
		}
	}
}

// A delay is on every hop, and does not keep the sender.
func TestDelay(t *testing.T) {
	const delay = 50 * time.Millisecond
	r, err := Run(t.Context(), Config{Nodes: 3, Messages: 5, Size: 500, Rate: 20, Backends: []string{"push"}, Delay: delay, settle: settled})
	if err != nil {
		t.Fatal(err)
	}
	if row := r.Rows[0]; row.Delivered != 10 || row.P50 < ms(delay) {
		t.Errorf("with %v on the way: %+v", delay, row)
	}
}

// ctrl-C leaves what there is, marked.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Config{Nodes: 2, Messages: 1000, Size: 100, Rate: 50, Backends: []string{"push"}, settle: settled}
	c.Progress = func(stage string, done float64) {
		if stage == "push: publish" && done > 0.005 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Partial || len(r.Rows) != 1 || r.Rows[0].Delivered == 0 || r.Rows[0].Expected >= 1000 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestBadConfigIsRefused(t *testing.T) {
	good := Config{Nodes: 2, Messages: 1, Size: 1, Rate: 1, Backends: []string{"push"}}
	for name, spoil := range map[string]func(*Config){
		"one node":    func(c *Config) { c.Nodes = 1 },
		"too many":    func(c *Config) { c.Nodes = 5000 },
		"no messages": func(c *Config) { c.Messages = 0 },
		"too large":   func(c *Config) { c.Size = 2 << 20 },
		"no rate":     func(c *Config) { c.Rate = 0 },
		"who":         func(c *Config) { c.Backends = []string{"smoke"} },
		"nobody":      func(c *Config) { c.Backends = nil },
		"delay":       func(c *Config) { c.Delay = -1 },
	} {
		c := good
		c.Backends = slices.Clone(good.Backends)
		spoil(&c)
		if _, err := Run(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestQuantile(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := quantile(all, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if quantile[time.Duration](nil, 0.5) != 0 {
		t.Error("of nothing")
	}
}
