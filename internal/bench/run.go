package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

const (
	joinEvery = 20 * time.Millisecond // items while nodes join, unless these are more than
	joinMost  = 5 * time.Minute       // until every node has had one: a hundred nodes shake 5,000 hands
	joinFew   = 20                    // where items come rarer, so that as many are delivered a second
	drain     = 30 * time.Second      // for what is under way, from the last delivery on
)

var group = multicast.GroupOf("https://bench.example/feed.xml")

// run is one backend's.
type run struct {
	config  *Config
	name    string
	backend backend
	line    line

	mu      sync.Mutex
	seen    map[multicast.Stamp]*item
	joined  []time.Time // when each node asked to join; zero once its first item came
	waits   []time.Duration
	last    time.Time
	deepest int
}

// item is one event: when it was published and what became of it.
type item struct {
	at       time.Time
	delays   []time.Duration
	got      []bool // by node
	reported []bool
}

// Run measures each backend. It returns what there is when ctx ends, marked
// partial.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	c.bare = inUse()
	rows := map[string][]Row{}
	for range c.Runs {
		for _, name := range c.ordered() {
			row, err := c.measure(ctx, name)
			if ctx.Err() != nil {
				if row.Expected > 0 && len(rows[name]) == 0 { // half a run among whole ones says nothing
					rows[name] = []Row{row}
				}
				result := c.result(rows)
				result.Partial = true
				return result, nil
			}
			if err != nil {
				return c.result(rows), fmt.Errorf("%s: %w", name, err)
			}
			rows[name] = append(rows[name], row)
		}
	}
	return c.result(rows), nil
}

// measure runs the phases of one backend.
func (c *Config) measure(ctx context.Context, name string) (row Row, err error) {
	row = Row{Backend: name, Nodes: c.Nodes, Messages: c.Messages, Size: c.Size, DelayMS: ms(c.Delay)}
	r := &run{config: c, name: name, seen: map[multicast.Stamp]*item{}, joined: make([]time.Time, c.Nodes), line: newLine()}
	r.backend = c.backend(name, heard{r.delivered, r.missing})
	defer r.backend.close()
	memory, goroutines := r.quiet(ctx), runtime.NumGoroutine()
	if err := r.backend.start(ctx, c.Nodes, func(n int) { r.progress("start the hosts", n, c.Nodes) }); err != nil {
		return row, err
	}
	if row.Join, err = r.join(ctx); err != nil {
		return row, err
	}
	err = r.publish(ctx, &row)
	row.RSS = float64(inUse()-memory) / (1 << 20) / float64(c.Nodes)
	row.Goroutines = float64(runtime.NumGoroutine()-goroutines) / float64(c.Nodes)
	if err == nil && c.Cut > 0 {
		row.Cut, err = r.cut(ctx)
	}
	if err == nil && c.Burst > 0 {
		row.Burst, err = r.burst(ctx)
	}
	return row, err
}

func (r *run) progress(stage string, done, of int) {
	r.config.Progress(r.name+": "+stage, float64(done)/float64(max(of, 1)))
}

// delivered is called by the backends, for each node from one goroutine.
func (r *run) delivered(node int, s multicast.Stamp, hops int) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := r.joined[node]; !at.IsZero() {
		r.waits = append(r.waits, now.Sub(at))
		r.joined[node] = time.Time{}
	}
	it := r.seen[s]
	if it == nil || it.got[node] {
		return
	}
	it.got[node] = true
	it.delays = append(it.delays, now.Sub(it.at))
	r.last, r.deepest = now, max(r.deepest, hops)
}

func (r *run) missing(node int, n multicast.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for seq := n.From; seq <= n.To; seq++ {
		if it := r.seen[multicast.Stamp{Source: n.Stamp.Source, Epoch: n.Stamp.Epoch, Seq: seq}]; it != nil {
			it.reported[node] = true
		}
	}
}

// say publishes the next event of the line.
func (r *run) say(ctx context.Context, e sealed) (*item, error) {
	it := &item{got: make([]bool, r.config.Nodes), reported: make([]bool, r.config.Nodes)}
	r.mu.Lock()
	it.at = time.Now()
	r.seen[e.stamp] = it
	r.mu.Unlock()
	return it, r.backend.publish(ctx, e.wire)
}

// join lets one node after the other join while items come, and returns the median
// time to the first.
func (r *run) join(ctx context.Context) (float64, error) {
	if err := r.backend.join(ctx, 0); err != nil {
		return 0, err
	}
	tick := time.NewTicker(joinEvery * time.Duration(max(r.config.Nodes, joinFew)) / joinFew)
	defer tick.Stop()
	limit := time.Now().Add(joinMost)
	for next := 1; ; {
		if _, err := r.say(ctx, r.line.next(64)); err != nil {
			return 0, err
		}
		if next < r.config.Nodes {
			r.mu.Lock()
			r.joined[next] = time.Now()
			r.mu.Unlock()
			if err := r.backend.join(ctx, next); err != nil {
				return 0, err
			}
			next++
		}
		r.mu.Lock()
		count := len(r.waits)
		r.mu.Unlock()
		r.progress("join", count, r.config.Nodes-1)
		if count == r.config.Nodes-1 && r.backend.settled(r.config.Nodes) {
			break
		}
		if time.Now().After(limit) {
			return 0, fmt.Errorf("only %d of %d nodes were delivered anything, or the tree was not whole, within %v of joining", count, r.config.Nodes-1, joinMost)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err := r.rest(ctx, r.config.settle); err != nil { // meshes and trees settle
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return ms(quantile(r.waits, 0.5)), nil
}

func (r *run) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish is the phase that the row is about.
func (r *run) publish(ctx context.Context, row *Row) error {
	var events []sealed
	for range r.config.Messages {
		events = append(events, r.line.next(r.config.Size))
	}
	r.mu.Lock()
	r.deepest = 0
	r.mu.Unlock()
	runtime.GC() // each backend pays for its own garbage, and not for that of the joins
	sent, cpu := r.backend.sent(), processTime()
	items, err := r.pace(ctx, "publish", events, 1/r.config.Rate)
	if err == nil {
		err = r.wait(ctx, items)
	}
	spent, bytes := processTime()-cpu, r.backend.sent()-sent
	r.mu.Lock()
	defer r.mu.Unlock()
	var delays []time.Duration
	for _, it := range items {
		delays = append(delays, it.delays...)
	}
	row.Expected, row.Delivered, row.Depth = len(items)*(r.config.Nodes-1), len(delays), r.deepest
	row.P50, row.P99, row.Max = ms(quantile(delays, 0.5)), ms(quantile(delays, 0.99)), ms(quantile(delays, 1))
	if n := float64(len(delays)); n > 0 {
		row.Bytes = float64(bytes) / (n * float64(len(events[0].wire)))
		row.CPU = ms(spent) / n
	}
	return err
}

// pace publishes events, so many seconds apart, and returns those published.
func (r *run) pace(ctx context.Context, stage string, events []sealed, apart float64) (items []*item, err error) {
	begin := time.Now()
	for i, e := range events {
		due := begin.Add(time.Duration(float64(i) * apart * float64(time.Second)))
		if err := r.rest(ctx, time.Until(due)); err != nil {
			return items, err
		}
		it, err := r.say(ctx, e)
		if err != nil {
			return items, err
		}
		items = append(items, it)
		r.progress(stage, i+1, len(events))
	}
	return items, nil
}

// wait waits until every node has every item, or nothing has come for a while.
func (r *run) wait(ctx context.Context, items []*item) error {
	begin := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		r.mu.Lock()
		have, last := 0, r.last
		for _, it := range items {
			have += len(it.delays)
		}
		r.mu.Unlock()
		all := len(items) * (r.config.Nodes - 1)
		if have == all || time.Since(last) > drain && time.Since(begin) > drain {
			return nil
		}
		r.progress("wait for the last", have, all)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
