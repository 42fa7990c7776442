package polling

import (
	"container/heap"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// unbounded replays feeds that are each polled when their own terms make it worth
// it, as a node does.
func unbounded(w *World, wait func(*schedule.Habit) time.Duration) tally {
	r := newReplay(w)
	q := &queue{}
	habits := make([]schedule.Habit, len(w.Feeds))
	for i := range w.Feeds {
		habits[i] = watched(&w.Feeds[i], w.Train)
		heap.Push(q, turn{at: w.Train + float64(i%60)/60, feed: i})
	}
	for len(*q) > 0 {
		t := heap.Pop(q).(turn)
		if t.at >= w.End {
			break
		}
		habits[t.feed].Observe(r.poll(t.feed, t.at))
		t.at += wait(&habits[t.feed]).Hours()
		heap.Push(q, t)
	}
	r.census()
	return r.tally
}

// With a poll priced a thousandth of a lost item, and an interval between an hour
// and six, which are a node's defaults: fewer than half of the polls of once an hour,
// no more lost, and half an hour more of waiting at most.
func TestANodesDefaults(t *testing.T) {
	hourly := func(*schedule.Habit) time.Duration { return time.Hour }
	learned := func(h *schedule.Habit) time.Duration {
		return h.Next(schedule.Terms{Poll: 0.001, Delay: 0.005, Min: time.Hour, Max: 6 * time.Hour}).Sub(h.Polled)
	}
	for _, w := range Workloads() {
		const seed = 1
		world := Synthesize(w, 150, period, period, seed)
		a, b := unbounded(world, hourly), unbounded(world, learned)
		waits := func(t tally) float64 { return t.waited / float64(t.posted-t.missed) }
		lost := func(t tally) float64 { return float64(t.missed) / float64(t.posted) }
		t.Logf("%s, seed %d: %.0f %% of the polls, %.3f %% lost (hourly %.3f %%), %.2f h (hourly %.2f h)",
			w.Name, seed, 100*float64(b.polls)/float64(a.polls), 100*lost(b), 100*lost(a), waits(b), waits(a))
		if b.polls*2 > a.polls || lost(b) > lost(a)+0.0005 || waits(b) > waits(a)+0.5 {
			t.Errorf("%s: not worth it", w.Name)
		}
	}
}
