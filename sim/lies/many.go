package lies

import (
	"container/heap"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/witness"
)

const (
	crowdSize = 22
	farthest  = 2 * time.Second // a word on its way, and the longest answer of the origin
	settled   = 12 * interval   // after so long who polls has found together
	liesEach  = 12              // told in a world, one after the other
	patience  = 40              // polls that a lie is watched for
)

// How liars take their turns.
const (
	inTurn      = iota // as everybody does
	alwaysFirst        // they claim every turn before anybody else, and ask whatever others claim
	early              // as those, but ask before the turn is due
	manners
)

// crowd is nodes that share the polls of a feed, some of them liars, and one that only
// listens.
type crowd struct {
	rng    *rand.Rand
	origin *origin
	nodes  []*schedule.Volunteer
	busy   []bool
	armed  []time.Duration
	liars  int // the first ones
	manner int
	turn   int // of the liar that is next, if they claim all
	panel  *witness.Panel
	queue  queue
	serial int
	watch  watch
}

// watch is the lie that is told at the moment.
type watch struct {
	lie      witness.Item
	number   uint32
	told     bool
	believed bool // it was corroborated
	others   int  // polls by others since, and
	all      int  // by anybody
	found    []found
}

// found is how a lie ended.
type found struct {
	believed    bool
	others, all int
}

type event struct {
	at     time.Duration
	serial int
	do     func(now time.Duration)
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].serial < q[j].serial
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newCrowd(seed uint64, k int) *crowd {
	rng := rand.New(rand.NewPCG(seed, 5))
	c := &crowd{
		rng: rng, origin: newOrigin(rng, false), liars: k + rng.IntN(3), manner: rng.IntN(manners),
		busy: make([]bool, crowdSize), armed: make([]time.Duration, crowdSize),
		panel: witness.New(witness.Config{K: k}),
	}
	own := c.origin.answer(0, 0)
	own.Own = true
	c.panel.Hear(epochZero, own)
	for i := range crowdSize {
		c.nodes = append(c.nodes, schedule.New(0, schedule.Config{Interval: interval, Self: name(1, i)}, rand.New(rand.NewPCG(seed, uint64(i)+100))))
		c.nodes[i].Fetched(0)
		c.wake(i)
	}
	return c
}

func (c *crowd) upTo(d time.Duration) time.Duration { return time.Duration(c.rng.Int64N(int64(d))) }

func (c *crowd) at(at time.Duration, do func(now time.Duration)) {
	c.serial++
	heap.Push(&c.queue, event{at, c.serial, do})
}

// steers reports whether a node does not follow the schedule.
func (c *crowd) steers(i int, now time.Duration) bool {
	return i < c.liars && c.manner != inTurn && now > settled
}

func (c *crowd) wake(i int) {
	at := c.nodes[i].Deadline()
	if c.busy[i] || c.armed[i] == at {
		return
	}
	c.armed[i] = at
	c.at(at, func(now time.Duration) {
		if c.armed[i] != at {
			return
		}
		c.armed[i] = 0
		if c.steers(i, now) {
			return
		}
		switch c.nodes[i].Due(now) {
		case schedule.Poll:
			c.poll(i, now)
		case schedule.Announce:
			c.nodes[i].Announced(now)
			c.tell(i, (*schedule.Volunteer).Heard, now)
		case schedule.Claim:
			c.nodes[i].Claimed(now)
			c.tell(i, (*schedule.Volunteer).Asking, now)
		}
		c.wake(i)
	})
}

func (c *crowd) poll(i int, now time.Duration) {
	c.busy[i] = true
	c.at(now+c.upTo(farthest), func(now time.Duration) {
		c.busy[i] = false
		c.nodes[i].Polled(now, true)
		c.outcome(i, now)
		c.wake(i)
	})
}

// outcome is told to everybody, and weighed by the one that listens.
func (c *crowd) outcome(i int, now time.Duration) {
	c.origin.live()
	s := c.origin.answer(now, 0)
	s.By, s.Network, s.Parent = name(1, i), strconv.Itoa(i), name(3, i)
	if i < c.liars && now > settled {
		s.Items = inOrder(append(s.Items, c.watch.lie))
		s.Validators[9], s.Body[9] = byte(1+c.rng.IntN(255)), byte(1+c.rng.IntN(255))
		c.watch.told = true
	}
	c.tell(i, (*schedule.Volunteer).Heard, now)
	c.hear(i, s, now)
	c.steal(now)
}

// steal has the next liar claim the turn after an outcome, and poll.
func (c *crowd) steal(now time.Duration) {
	if c.manner == inTurn || now <= settled {
		return
	}
	c.turn++
	i, turn := c.turn%c.liars, c.turn
	claim, poll := now+interval-5*time.Minute, now+interval
	if c.manner == early {
		claim, poll = now+interval-20*time.Minute, now+interval-10*time.Minute
	}
	c.at(claim, func(now time.Duration) { c.tell(i, (*schedule.Volunteer).Asking, now) })
	c.at(poll, func(now time.Duration) {
		if turn == c.turn { // nobody else has asked
			c.nodes[i].Polled(now, true)
			c.outcome(i, now)
		}
	})
}

func (c *crowd) tell(from int, what func(*schedule.Volunteer, time.Duration, time.Duration, schedule.Source), now time.Duration) {
	for i := range c.nodes {
		if i == from {
			continue
		}
		c.at(now+c.upTo(farthest), func(now time.Duration) {
			what(c.nodes[i], now, 0, name(1, from))
			c.wake(i)
		})
	}
}

// hear weighs an outcome, and tells whether the lie is found now.
func (c *crowd) hear(i int, s witness.Statement, now time.Duration) {
	w := &c.watch
	if now <= settled || !w.told {
		c.panel.Hear(epochZero.Add(now), s)
		return
	}
	if w.believed {
		w.all++
		if i >= c.liars {
			w.others++
		}
	}
	c.panel.Hear(epochZero.Add(now), s)
	switch state := c.panel.State(w.lie); {
	case state == witness.Corroborated:
		w.believed = true
	case state == witness.Disputed, state == witness.Contradicted, w.all >= patience:
		w.found = append(w.found, found{w.believed, w.others, w.all})
		c.nextLie()
	}
}

func (c *crowd) nextLie() {
	w := &c.watch
	w.number++
	w.lie, w.told, w.believed, w.others, w.all = itemOf(w.number, 1), false, false, 0, 0
}

// playMany plays a world of the many.
func playMany(seed uint64, k int) (lies []found, manner int) {
	c := newCrowd(seed, k)
	c.nextLie()
	for len(c.watch.found) < liesEach && len(c.queue) > 0 && c.queue[0].at < 10_000*interval {
		e := heap.Pop(&c.queue).(event)
		e.do(e.at)
	}
	return c.watch.found, c.manner
}
