package polling

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/feedtree/feedtree/feed/schedule"
)

// The policies, in the order of tables and plots.
const (
	Uniform    = "uniform"
	MinDelay   = "min-delay"
	MinMissing = "min-missing"
	FeedEx     = "feedex"
	Ours       = "ours"
)

// Policies are the names of all policies.
func Policies() []string { return []string{Uniform, MinDelay, MinMissing, FeedEx, Ours} }

// Config is what to replay. Its zero value replays every synthetic workload with
// 1,000 feeds for twelve weeks, M = 10,000 and 20,000, five seeds, every policy.
type Config struct {
	Workloads []string // by name; nil: all, or none if there is a Trace
	Trace     string   // a directory for ReadTrace
	Policies  []string // nil: all
	Budgets   []int    // M: polls per three weeks and 1,000 feeds
	Seeds     int      // 0: 5
	FirstSeed uint64   // 0: 1
	Feeds     int      // of a synthetic world; 0: 1,000
	Periods   int      // of three weeks, after the three of training; 0: 4
}

func (c Config) filled() (Config, error) {
	if c.Policies == nil {
		c.Policies = Policies()
	}
	for _, p := range c.Policies {
		if !slices.Contains(Policies(), p) {
			return c, fmt.Errorf("no policy is called %q: take some of %s", p, strings.Join(Policies(), ", "))
		}
	}
	if c.Workloads == nil && c.Trace == "" {
		for _, w := range Workloads() {
			c.Workloads = append(c.Workloads, w.Name)
		}
	}
	for _, name := range c.Workloads {
		if _, ok := workload(name); !ok {
			return c, fmt.Errorf("no workload is called %q: take smooth, hours, bursty or bursty-hours", name)
		}
	}
	if c.Budgets == nil {
		c.Budgets = []int{10000, 20000}
	}
	for _, m := range c.Budgets {
		if m < 0 {
			return c, fmt.Errorf("a budget of %d polls: it cannot be negative", m)
		}
	}
	if c.Seeds < 0 || c.Feeds < 0 || c.Periods < 0 {
		return c, fmt.Errorf("%d seeds, %d feeds, %d periods: none can be negative", c.Seeds, c.Feeds, c.Periods)
	}
	c.Seeds, c.Feeds, c.Periods = or(c.Seeds, 5), or(c.Feeds, 1000), or(c.Periods, 4)
	if c.FirstSeed == 0 {
		c.FirstSeed = 1
	}
	return c, nil
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func workload(name string) (Workload, bool) {
	for _, w := range Workloads() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// Row is one replay.
type Row struct {
	Workload string  `json:"workload"`
	Policy   string  `json:"policy"`
	Budget   int     `json:"budget"` // M: polls per three weeks and 1,000 feeds
	Seed     uint64  `json:"seed"`
	Missing  float64 `json:"missing"`     // share of the items posted, 0 to 1
	Delay    float64 `json:"delay_hours"` // mean, of the items collected
	Polls    int     `json:"-"`           // really made
}

// Result is all replays, by workload, budget, seed and policy as they were asked
// for.
type Result struct {
	Rows []Row `json:"rows"`
}

// Run replays. progress is called after every replay, if it is not nil. It ends
// early only with ctx, and returns what was done until then.
func Run(ctx context.Context, c Config, progress func(done, total int)) (Result, error) {
	var result Result
	c, err := c.filled()
	if err != nil {
		return result, err
	}
	worlds := []func(seed uint64) *World{}
	for _, name := range c.Workloads {
		w, _ := workload(name)
		worlds = append(worlds, func(seed uint64) *World {
			return Synthesize(w, c.Feeds, period, float64(c.Periods)*period, seed)
		})
	}
	if c.Trace != "" {
		t, err := ReadTrace(c.Trace)
		if err != nil {
			return result, err
		}
		worlds = append(worlds, t.World)
	}
	total := len(worlds) * c.Seeds * len(c.Budgets) * len(c.Policies)
	for _, world := range worlds {
		for i := range c.Seeds {
			seed := c.FirstSeed + uint64(i)
			w := world(seed)
			for _, m := range c.Budgets {
				for _, policy := range c.Policies {
					if err := ctx.Err(); err != nil {
						return result, err
					}
					result.Rows = append(result.Rows, row(w, policy, m, seed))
					if progress != nil {
						progress(len(result.Rows), total)
					}
				}
			}
		}
	}
	return result, nil
}

func row(w *World, policy string, m int, seed uint64) Row {
	polls := m * len(w.Feeds) / 1000
	rng := rand.New(rand.NewPCG(seed, 7))
	var t tally
	switch policy {
	case Uniform:
		t = fixed(w, polls, rng, func(polls int, feeds []schedule.Posting) []int { return schedule.Uniform(polls, len(feeds)) })
	case MinDelay:
		t = fixed(w, polls, rng, schedule.MinDelay)
	case MinMissing:
		t = fixed(w, polls, rng, schedule.MinMissing)
	case FeedEx:
		t = adaptive(w, polls)
	case Ours:
		t = learned(w, polls)
	}
	r := Row{Workload: w.Name, Policy: policy, Budget: m, Seed: seed, Polls: t.polls}
	if t.posted > 0 {
		r.Missing = float64(t.missed) / float64(t.posted)
	}
	if got := t.posted - t.missed; got > 0 {
		r.Delay = t.waited / float64(got)
	}
	return r
}

// JSON is {"rows":[…]}, a row per replay.
func (r Result) JSON() ([]byte, error) {
	if r.Rows == nil {
		r.Rows = []Row{}
	}
	return json.MarshalIndent(r, "", "  ")
}

// mean is a row per workload, policy and budget, over its seeds, in the order of
// the first.
func (r Result) mean() []Row {
	var out []Row
	var seeds []float64
	for _, row := range r.Rows {
		i := slices.IndexFunc(out, func(o Row) bool {
			return o.Workload == row.Workload && o.Policy == row.Policy && o.Budget == row.Budget
		})
		if i < 0 {
			i = len(out)
			out = append(out, Row{Workload: row.Workload, Policy: row.Policy, Budget: row.Budget})
			seeds = append(seeds, 0)
		}
		out[i].Missing += row.Missing
		out[i].Delay += row.Delay
		out[i].Polls += row.Polls
		seeds[i]++
	}
	for i := range out {
		out[i].Missing /= seeds[i]
		out[i].Delay /= seeds[i]
		out[i].Polls = int(float64(out[i].Polls) / seeds[i])
	}
	return out
}

// WriteTable writes the means over all seeds for people.
func (r Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "workload\tM\tpolicy\tpolls\tmissing\tdelay\t\n")
	for _, m := range r.mean() {
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%.3f %%\t%.2f h\t\n", m.Workload, m.Budget, m.Policy, m.Polls, 100*m.Missing, m.Delay)
	}
	return t.Flush()
}
