package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// Config says what to measure.
type Config struct {
	Nodes    int           // at least 2; the first publishes
	Messages int           // at least 1
	Size     int           // bytes of payload
	Rate     float64       // messages per second
	Backends []string      // of Backends
	Delay    time.Duration // of every packet, one way
	Cut      time.Duration // 0, or how long a member is cut off while items go on
	Burst    int           // 0, or how many items are published as fast as they are taken
	Runs     int           // of every backend, in turn; a row has the medians; 0: 1

	bare   int64         // the memory of the process before any host
	settle time.Duration // between joining and publishing, until tables and places are found; 0: 25 s

	// Progress is told what goes on, and how much of it is done, 0 to 1.
	Progress func(stage string, done float64)
}

// Backends are the names there are, in the order of running.
var Backends = []string{"tree", "gossip", "push"}

// Result is what was measured.
type Result struct {
	Rows    []Row `json:"rows"`
	Partial bool  `json:"partial,omitempty"` // it was interrupted
}

// Row is one backend's figures. Fields of a phase that did not run are absent.
type Row struct {
	Backend   string  `json:"backend"`
	Runs      int     `json:"runs,omitempty"` // if several: medians, the most of Max and Depth, and sums of what is counted
	Nodes     int     `json:"nodes"`
	Messages  int     `json:"messages"`
	Size      int     `json:"size"`
	Expected  int     `json:"expected"`
	Delivered int     `json:"delivered"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	Bytes     float64 `json:"bytes_per_envelope_byte"`
	CPU       float64 `json:"cpu_ms_per_delivery"`
	RSS       float64 `json:"rss_mib_per_node"`
	Join      float64 `json:"join_ms_p50"`

	Goroutines float64 `json:"goroutines_per_node"`
	Depth      int     `json:"depth,omitempty"` // the most edges an item crossed; 0: not known
	DelayMS    float64 `json:"delay_ms,omitempty"`

	Cut   *Losses `json:"cut,omitempty"`   // of the member that was cut off
	Burst *Losses `json:"burst,omitempty"` // of all members
}

// Losses is what became of items under stress.
type Losses struct {
	Expected  int     `json:"expected"`
	Delivered int     `json:"delivered"`
	Reported  int     `json:"reported"` // as missing, and not delivered after all
	Silent    int     `json:"silent"`   // neither
	Seconds   float64 `json:"seconds"`  // until the last delivery
}

// ordered are the backends in the order of running.
func (c *Config) ordered() []string {
	return slices.DeleteFunc(slices.Clone(Backends), func(name string) bool { return !slices.Contains(c.Backends, name) })
}

// result has a row for each backend that was measured.
func (c *Config) result(rows map[string][]Row) (r Result) {
	for _, name := range c.ordered() {
		if of := rows[name]; len(of) > 0 {
			r.Rows = append(r.Rows, median(of))
		}
	}
	return r
}

func (c *Config) check() error {
	switch {
	case c.Nodes < 2 || c.Nodes > 1000:
		return fmt.Errorf("%d nodes: from 2 to 1000 fit into one process", c.Nodes)
	case c.Messages < 1 || c.Rate <= 0:
		return fmt.Errorf("%d messages at %v a second: both must be more than 0", c.Messages, c.Rate)
	case c.Size < 1 || c.Size > signing.MaxPayload:
		return fmt.Errorf("a size of %d: from 1 to %d bytes", c.Size, signing.MaxPayload)
	case c.Delay < 0 || c.Cut < 0 || c.Burst < 0 || c.Runs < 0:
		return fmt.Errorf("delay %v, cut %v, burst %d, runs %d: none may be negative", c.Delay, c.Cut, c.Burst, c.Runs)
	case len(c.Backends) == 0:
		return fmt.Errorf("no backend: there are %v", Backends)
	}
	for _, b := range c.Backends {
		if !slices.Contains(Backends, b) {
			return fmt.Errorf("backend %q: there are %v", b, Backends)
		}
	}
	c.Runs = max(c.Runs, 1)
	if c.settle == 0 {
		c.settle = 25 * time.Second
	}
	if c.Progress == nil {
		c.Progress = func(string, float64) {}
	}
	return nil
}
