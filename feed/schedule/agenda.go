package schedule

import (
	"container/heap"
	"math"
	"time"
)

const (
	savings  = 24   // hours of the budget that may be kept for later
	steering = 3.0  // how strongly the savings move the price at once
	settling = 0.02 // and for good, per poll and thousand feeds
	hair     = 1e-6 // of a poll: less is an error of rounding
)

// Budget is what an [Agenda] may spend. The zero Budget has no bound over all
// feeds: each is polled when its own terms make it worth it.
type Budget struct {
	Polls  int           // over all feeds; 0: unbounded
	Period time.Duration // in each such time; 0: a day
	// Terms hold what every feed has in common. Under a bound on polls the price
	// of a poll follows from it, and what others show is learned here.
	Terms Terms
}

// Agenda is which of many feeds to poll next. Feeds have small numbers, given by
// [Agenda.Add]. Every call costs O(log feeds), and a search that does not
// depend on their number. It is not safe for concurrent use.
type Agenda struct {
	budget Budget
	perHr  float64 // polls
	feeds  []entry
	free   []int
	queue  []int // feeds that wait for their time, as a heap
	pool   pool
	money  money
}

// entry is one feed.
type entry struct {
	habit    Habit
	min, max time.Duration
	after    time.Time // no poll before
	due      time.Time
	place    int // in the queue; away: not in it
}

const (
	away = -1 - iota // a poll is under way
	gone             // no such feed
)

// pool is what all feeds have in common, as sums over them.
type pool struct {
	crowd Crowd
	roots float64 // Σ √λ
}

// money is the budget's state.
type money struct {
	at    time.Time
	saved float64 // polls
	trend float64 // logarithm of the price of a poll over that of the least delay
}

// NewAgenda makes an agenda without feeds. Polls can be saved for up to a day, so
// that in any time of length d at most (d + 24 h)·Polls/Period are due.
func NewAgenda(now time.Time, b Budget) *Agenda {
	if b.Period <= 0 {
		b.Period = 24 * time.Hour
	}
	b.Polls = max(b.Polls, 0)
	b.Terms = b.Terms.filled()
	a := &Agenda{budget: b, perHr: float64(b.Polls) / b.Period.Hours()}
	a.money = money{at: now, saved: a.most() / 2}
	return a
}

// Len is the number of feeds.
func (a *Agenda) Len() int { return len(a.feeds) - len(a.free) }

// Add takes up a feed with what is known of it, and gives it a number, which may
// have been that of a feed removed. A zero least or most is the agenda's.
func (a *Agenda) Add(h Habit, least, most time.Duration) int {
	e := entry{habit: h, min: least, max: most, place: away}
	if e.min <= 0 {
		e.min = a.budget.Terms.Min
	}
	if e.max <= 0 {
		e.max = a.budget.Terms.Max
	}
	id := len(a.feeds)
	if n := len(a.free); n > 0 {
		id, a.free = a.free[n-1], a.free[:n-1]
		a.feeds[id] = e
	} else {
		a.feeds = append(a.feeds, e)
	}
	a.pool.add(&a.feeds[id].habit, 1)
	a.enqueue(id)
	return id
}

// Remove forgets a feed.
func (a *Agenda) Remove(id int) {
	e := a.entry(id)
	if e == nil {
		return
	}
	if e.place >= 0 {
		heap.Remove((*queue)(a), e.place)
	}
	a.pool.add(&e.habit, -1)
	*e = entry{place: gone}
	a.free = append(a.free, id)
}

// Habit is what is known of a feed, to be stored.
func (a *Agenda) Habit(id int) (Habit, bool) {
	e := a.entry(id)
	if e == nil {
		return Habit{}, false
	}
	return e.habit, true
}

// NotBefore forbids polls of a feed before a time: the origin asked for it.
func (a *Agenda) NotBefore(id int, at time.Time) {
	e := a.entry(id)
	if e == nil {
		return
	}
	e.after = at
	if e.place >= 0 && e.due.Before(at) {
		e.due = at
		heap.Fix((*queue)(a), e.place)
	}
}

// Deadline is when Next will have something, at the earliest, and false if it
// waits for a call.
func (a *Agenda) Deadline() (time.Time, bool) {
	if len(a.queue) == 0 {
		return time.Time{}, false
	}
	due := a.feeds[a.queue[0]].due
	if a.budget.Polls == 0 {
		return due, true
	}
	earn := func(polls float64) time.Time {
		return a.money.at.Add(time.Duration(max(polls-a.money.saved, 0)/a.perHr*float64(time.Hour)) + 1)
	}
	if full := earn(a.most()); full.Before(due) && !a.early(full) {
		due = full // what cannot be saved is spent
	}
	if one := earn(1); one.After(due) {
		return one, true
	}
	return due, true
}

// Next is a feed whose poll is due, and false if none is. The feed stays away
// until Observe or Failed tells what came of it.
func (a *Agenda) Next(now time.Time) (id int, ok bool) {
	a.earn(now)
	for len(a.queue) > 0 {
		id = a.queue[0]
		e := &a.feeds[id]
		full := a.budget.Polls > 0 && a.money.saved >= a.most()-hair && !a.early(now)
		if a.budget.Polls > 0 && a.money.saved < 1-hair || e.due.After(now) && !full {
			return 0, false
		}
		if !full && a.budget.Polls > 0 {
			// The price was another when the feed got its time.
			if due := a.time(e); due.After(now.Add(now.Sub(e.habit.Polled) / 16)) {
				e.due = due
				heap.Fix((*queue)(a), 0)
				continue
			}
		}
		heap.Pop((*queue)(a))
		e.place = away
		a.spend()
		return id, true
	}
	return 0, false
}

// early reports whether the first feed in the queue may not be polled yet,
// whatever it costs.
func (a *Agenda) early(now time.Time) bool {
	e := &a.feeds[a.queue[0]]
	return e.after.After(now) || !e.habit.Polled.IsZero() && e.habit.Polled.Add(e.min).After(now)
}

// Observe tells what a poll found.
func (a *Agenda) Observe(id int, v Visit) {
	e := a.entry(id)
	if e == nil {
		return
	}
	a.pool.add(&e.habit, -1)
	e.habit.Observe(v)
	a.pool.add(&e.habit, 1)
	a.enqueue(id)
}

// Failed tells that a poll got no answer, and when to try again.
func (a *Agenda) Failed(id int, again time.Time) {
	if e := a.entry(id); e != nil {
		if e.after.Before(again) {
			e.after = again
		}
		a.enqueue(id)
	}
}

func (a *Agenda) entry(id int) *entry {
	if id < 0 || id >= len(a.feeds) || a.feeds[id].place == gone {
		return nil
	}
	return &a.feeds[id]
}

// time is when the feed is due at today's prices.
func (a *Agenda) time(e *entry) time.Time {
	t := a.terms()
	t.Min, t.Max = e.min, e.max
	due := e.habit.Next(t)
	if due.Before(e.after) {
		due = e.after
	}
	return due
}

func (a *Agenda) enqueue(id int) {
	e := &a.feeds[id]
	e.due = a.time(e)
	if e.place >= 0 {
		heap.Fix((*queue)(a), e.place)
	} else {
		heap.Push((*queue)(a), id)
	}
}

func (p *pool) add(h *Habit, sign float64) {
	p.crowd.Bursts.Square += sign * h.Bursts.Square
	p.crowd.Bursts.Expected += sign * h.Bursts.Expected
	p.crowd.Gaps.add(&h.Gaps, h.Rate(), sign)
	p.roots += sign * math.Sqrt(h.Rate())
}

type queue Agenda

func (q *queue) Len() int { return len(q.queue) }
func (q *queue) Less(i, j int) bool {
	x, y := q.queue[i], q.queue[j]
	if c := q.feeds[x].due.Compare(q.feeds[y].due); c != 0 {
		return c < 0
	}
	return x < y
}
func (q *queue) Swap(i, j int) {
	q.queue[i], q.queue[j] = q.queue[j], q.queue[i]
	q.feeds[q.queue[i]].place, q.feeds[q.queue[j]].place = i, j
}
func (q *queue) Push(x any) {
	q.feeds[x.(int)].place = len(q.queue)
	q.queue = append(q.queue, x.(int))
}
func (q *queue) Pop() any {
	last := q.queue[len(q.queue)-1]
	q.queue = q.queue[:len(q.queue)-1]
	q.feeds[last].place = away
	return last
}
