package polling

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

const (
	period     = 3 * 7 * 24.0 // hours: Han's budget M is for three weeks
	watchEvery = 2.0          // hours: Han §3, "we aggregated every 2 hours"
)

var epoch = time.Date(2006, 1, 2, 0, 0, 0, 0, time.UTC)

func wall(h float64) time.Time { return epoch.Add(time.Duration(h * float64(time.Hour))) }

// tally is what became of the items.
type tally struct {
	polls, posted, missed int
	waited                float64 // hours
}

// replay is one world under way.
type replay struct {
	world *World
	last  []float64
	tally
}

func newReplay(w *World) *replay {
	r := &replay{world: w, last: make([]float64, len(w.Feeds))}
	for i := range r.last {
		r.last[i] = w.Train
	}
	return r
}

// poll asks a feed and tells what it shows.
func (r *replay) poll(i int, at float64) schedule.Visit {
	r.polls++
	return r.count(i, at)
}

func (r *replay) count(i int, at float64) schedule.Visit {
	f := &r.world.Feeds[i]
	first, n := f.between(r.last[i], at)
	r.posted += n
	if lost := n - f.Store; lost > 0 {
		r.missed += lost
		first, n = first+lost, f.Store
	}
	for _, p := range f.Posts[first : first+n] {
		r.waited += at - p
	}
	r.last[i] = at
	return visit(f, first, n, at)
}

// census polls every feed at the end, for every policy alike, so that what nobody
// asked for counts.
func (r *replay) census() {
	for i := range r.world.Feeds {
		r.count(i, r.world.End)
	}
}

func visit(f *Feed, first, n int, at float64) schedule.Visit {
	v := schedule.Visit{At: wall(at), Items: min(f.Store, first+n), New: n}
	for j := first; j < first+n; j++ {
		d := wall(f.Posts[j])
		if f.Coarse != nil && f.Coarse[j] {
			d = d.Truncate(24 * time.Hour)
		}
		v.Dates = append(v.Dates, d)
	}
	return v
}

// fixed replays polls planned a period ahead, evenly spaced, each feed from a
// random phase.
func fixed(w *World, polls int, rng *rand.Rand, plan func(polls int, feeds []schedule.Posting) []int) tally {
	r := newReplay(w)
	known := make([]schedule.Posting, len(w.Feeds))
	for i := range w.Feeds {
		_, n := w.Feeds[i].between(-1, w.Train)
		known[i] = schedule.Posting{Rate: (float64(n) + 0.5) * period / w.Train, Store: w.Feeds[i].Store}
	}
	m := plan(polls, known)
	for i, n := range m {
		if n == 0 {
			continue
		}
		step := period / float64(n)
		for at := w.Train + rng.Float64()*step; at < w.End; at += step {
			r.poll(i, at)
		}
	}
	r.census()
	return r.tally
}

// learned replays our own policy.
func learned(w *World, polls int) tally {
	r := newReplay(w)
	if polls <= 0 { // to an Agenda it means no bound
		r.census()
		return r.tally
	}
	a := schedule.NewAgenda(wall(w.Train), schedule.Budget{Polls: polls, Period: time.Duration(period * float64(time.Hour))})
	for i := range w.Feeds {
		a.Add(watched(&w.Feeds[i], w.Train), 0, 0)
	}
	for {
		at, ok := a.Deadline()
		t := at.Sub(epoch).Hours()
		if !ok || t >= w.End {
			break
		}
		if id, ok := a.Next(at); ok {
			a.Observe(id, r.poll(id, t))
		}
	}
	r.census()
	return r.tally
}

// adaptive replays FeedEx's rule, from the interval that the budget would give
// every feed alike. Feeds whose time has come wait until there is a poll for them.
func adaptive(w *World, polls int) tally {
	r := newReplay(w)
	rule := schedule.Adaptive{Fresh: 0.5, Min: time.Hour, Max: 3 * 7 * 24 * time.Hour}
	first := time.Duration(period * float64(time.Hour) * float64(len(w.Feeds)) / float64(max(polls, 1)))
	q := &queue{}
	for i := range w.Feeds {
		part := float64(i+1) / float64(len(w.Feeds))
		heap.Push(q, turn{at: w.Train + part*first.Hours(), feed: i, interval: first})
	}
	step, free := period/float64(max(polls, 1)), w.Train
	for len(*q) > 0 {
		t := heap.Pop(q).(turn)
		at := max(t.at, free)
		if at >= w.End || polls <= 0 {
			break
		}
		free = at + step
		v := r.poll(t.feed, at)
		t.interval = rule.Next(t.interval, v.New, v.Items)
		t.at = at + t.interval.Hours()
		heap.Push(q, t)
	}
	r.census()
	return r.tally
}

// turn is when a feed is to be polled, after which interval.
type turn struct {
	at       float64
	feed     int
	interval time.Duration
}

type queue []turn

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].feed < q[j].feed
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(turn)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// watched is what two-hourly polls teach.
func watched(f *Feed, until float64) schedule.Habit {
	h := schedule.Habit{Polled: epoch, Store: f.Store}
	last := 0.0
	for at := watchEvery; at <= until+1e-9; at += watchEvery {
		first, n := f.between(last, at)
		if n > 0 || at+watchEvery > until {
			h.Observe(visit(f, first, n, at))
			last = at
		}
	}
	return h
}
