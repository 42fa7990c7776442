package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TTL is what publishers promise: a next event or a heartbeat within it.
const TTL = 5 * time.Minute

// Round is the time that counts as one round of looking for a better place.
const Round = 5 * time.Second

// Config says how a scenario is run. The zero value is the scenario as its
// targets are meant, with seed 0.
type Config struct {
	Nodes   int    // 0: what the scenario says
	Seed    uint64 // of everything left to chance
	Latency string // "matrix" or "transit-stub"; "": matrix
	// MatrixFile holds measured one-way delays: see ReadMatrix of overlay/sim.
	// "": the small matrix that the project brings along.
	MatrixFile string
	// Broken switches parts of the protocol off, to show that the measures see
	// it: "repair".
	Broken []string
	// WarmUp is how long the trees have before anything is measured, ten minutes
	// at most; 0: the scenario's own.
	WarmUp time.Duration
	// Span is how long the scenario measures, where it goes by time; 0: its own.
	Span time.Duration
	// Feeds is how many feeds the busiest nodes of idle and feeds are in; 0: 5,000.
	Feeds int
	// Session is the median time that a node stays under churn; 0: one hour.
	Session time.Duration

	lanes int  // the network is parted into so many; 0: as many as serve the processors there are
	ahead bool // its nodes read ahead, however few they are
}

// Latencies lists the latency models.
func Latencies() []string { return []string{"matrix", "transit-stub"} }

// many is with how many nodes a simulated second does not cost much: of a million it
// takes several of two processors.
const many = 100_000

const longestWarmUp = 10 * time.Minute

// Progress is told how much of a run is done, from 0 to 1. It is called often.
type Progress func(stage string, done float64)

// Scenario is one experiment.
type Scenario struct {
	Name  string
	About string // one line
	// Nodes is how many there are unless Config says otherwise.
	Nodes int
	// Targets are the bounds that hold for a configuration.
	Targets func(Config) []Target

	warmUp time.Duration
	span   time.Duration
	memory func(Config) uint64 // bytes it takes, as measured
	play   func(*run) error
}

// All lists the scenarios.
func All() []Scenario {
	return []Scenario{
		static, serial, groups, churn, kill, repair, idle, droppers, nat, feeds, imc05,
	}
}

// Find returns the scenario of a name. The error lists those there are.
func Find(name string) (Scenario, error) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = s.Name
		}
		return Scenario{}, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// A MemoryError says that a run needs more memory than there is.
type MemoryError struct{ Needs, Has uint64 }

func (e MemoryError) Error() string {
	return fmt.Sprintf("this needs about %s of memory and the machine has %s available: take fewer nodes",
		memory(e.Needs), memory(e.Has))
}

func memory(b uint64) string {
	if b < 1<<30 {
		return fmt.Sprintf("%d MiB", (b+1<<20-1)>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
}

// check refuses what cannot be run and fills in what was left open.
func (s Scenario) check(cfg *Config) error {
	if cfg.Nodes == 0 {
		cfg.Nodes = s.Nodes
	}
	if cfg.Nodes < minNodes || cfg.Nodes > maxNodes {
		return fmt.Errorf("%d nodes: between %s and %s can be simulated", cfg.Nodes, grouped(minNodes), grouped(maxNodes))
	}
	if cfg.Latency == "" {
		cfg.Latency = "matrix"
	}
	if !slices.Contains(Latencies(), cfg.Latency) {
		return fmt.Errorf("latency %q: it is one of %s", cfg.Latency, strings.Join(Latencies(), ", "))
	}
	for _, b := range cfg.Broken {
		if b != "repair" {
			return fmt.Errorf("%q cannot be broken; repair can", b)
		}
	}
	if cfg.WarmUp == 0 {
		cfg.WarmUp = min(s.warmUp+joined(cfg.Nodes)-joined(s.Nodes), longestWarmUp)
	}
	if least := joined(cfg.Nodes); cfg.WarmUp < least || cfg.WarmUp > longestWarmUp {
		return fmt.Errorf("a warm-up of %v: it takes from %v, in which members join, to %v", cfg.WarmUp, least, longestWarmUp)
	}
	if cfg.Span == 0 {
		cfg.Span = s.span
	}
	if cfg.Session == 0 {
		cfg.Session = time.Hour
	}
	if cfg.Feeds == 0 {
		cfg.Feeds = 5000
	}
	if cfg.Feeds < 1 {
		return fmt.Errorf("%d feeds", cfg.Feeds)
	}
	if cfg.Span < 0 || cfg.Session < 0 {
		return errors.New("a negative time")
	}
	return nil
}

const (
	minNodes = 40
	maxNodes = 10_000_000
)

// Run runs the scenario. If ctx ends before the run does, the result holds what
// was measured so far, marked partial, and the error is ctx's. Other errors
// come before anything is run: a configuration that makes no sense, a latency
// file that cannot be read, a MemoryError.
func (s Scenario) Run(ctx context.Context, cfg Config, progress Progress) (Result, error) {
	if err := s.check(&cfg); err != nil {
		return Result{}, err
	}
	var heap garbage
	if has, known := available(); known && s.memory != nil {
		holds := s.memory(cfg)
		if needs := summit(holds); needs > has {
			return Result{}, MemoryError{Needs: needs, Has: has}
		}
		defer heap.collect(holds, has)()
	}
	latency, err := readLatency(cfg)
	if err != nil {
		return Result{}, err
	}
	if progress == nil {
		progress = func(string, float64) {}
	}
	r := &run{
		ctx: ctx, cfg: cfg, latency: latency, progress: progress, began: time.Now(), heap: heap,
		result: Result{
			Scenario: s.Name, About: s.About, Nodes: cfg.Nodes, Seed: cfg.Seed, Latency: latency.name,
			Broken: cfg.Broken, Measures: map[string]float64{},
		},
	}
	if s.Targets != nil {
		r.result.Targets = s.Targets(cfg)
	}
	err = s.play(r)
	r.finish()
	r.result.Partial = err != nil
	return r.result, err
}
