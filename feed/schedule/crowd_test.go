package schedule_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

const interval = 30 * time.Minute

// crowd is so many nodes that follow one feed, a fetch of 300 ms away from its
// origin and up to 400 ms away from each other.
type crowd struct {
	rng    *rand.Rand
	nodes  []*schedule.Volunteer
	dead   []bool
	busy   []bool          // a poll is under way
	armed  []time.Duration // the deadline an event is queued for
	queue  events
	serial int
	polls  []poll
	told   []time.Duration // when each outcome was published
}

type poll struct {
	at   time.Duration
	node int
}

type event struct {
	at     time.Duration
	serial int
	do     func(now time.Duration)
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newCrowd(n, overload int, seed uint64) *crowd {
	c := &crowd{rng: rand.New(rand.NewPCG(seed, 1)), dead: make([]bool, n), busy: make([]bool, n), armed: make([]time.Duration, n)}
	for i := range n {
		v := schedule.New(0, schedule.Config{Interval: interval, Overload: overload}, rand.New(rand.NewPCG(seed, uint64(i)+2)))
		v.Fetched(0)
		c.nodes = append(c.nodes, v)
		c.wake(i)
	}
	return c
}

func (c *crowd) at(at time.Duration, do func(now time.Duration)) {
	c.serial++
	heap.Push(&c.queue, event{at, c.serial, do})
}

func (c *crowd) wake(i int) {
	at := c.nodes[i].Deadline()
	if c.busy[i] || c.armed[i] == at {
		return
	}
	c.armed[i] = at
	c.at(at, func(now time.Duration) {
		if c.dead[i] || c.armed[i] != at {
			return
		}
		c.armed[i] = 0
		switch c.nodes[i].Due(now) {
		case schedule.Poll:
			c.busy[i] = true
			c.polls = append(c.polls, poll{now, i})
			c.at(now+300*time.Millisecond, func(now time.Duration) {
				if c.dead[i] {
					return
				}
				c.busy[i] = false
				c.nodes[i].Polled(now, true)
				c.wake(i)
				c.tell(i, now)
			})
		case schedule.Announce:
			c.nodes[i].Announced(now)
			c.wake(i)
			c.tell(i, now)
		}
	})
}

func (c *crowd) tell(from int, now time.Duration) {
	c.told = append(c.told, now)
	for i := range c.nodes {
		if i == from || c.dead[i] {
			continue
		}
		c.at(now+time.Duration(c.rng.Int64N(int64(400*time.Millisecond))), func(now time.Duration) {
			c.nodes[i].Heard(now, 0, schedule.Source{byte(from), byte(from >> 8)})
			c.wake(i)
		})
	}
}

func (c *crowd) run(until time.Duration) {
	for len(c.queue) > 0 && c.queue[0].at <= until {
		e := heap.Pop(&c.queue).(event)
		e.do(e.at)
	}
}

func (c *crowd) active(now time.Duration) (n int) {
	for i, v := range c.nodes {
		if !c.dead[i] && v.Active(now) {
			n++
		}
	}
	return n
}

// FeedTree §5: "On average, an RSS feed with a minimum polling period of T will
// have an effective FeedTree refresh period of T/N."
func TestRefreshPeriodIsTOverN(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		c := newCrowd(60, n, 7)
		const rounds = 40
		c.run(rounds * interval)
		tail := 0
		for _, at := range c.told {
			if at > 10*interval {
				tail++
			}
		}
		got := float64(tail) / (rounds - 10) / float64(n)
		if got < 0.85 || got > 1.35 {
			t.Errorf("N=%d: %.2f outcomes per T/N, want about 1", n, got)
		}
	}
}

func TestOneIntervalIsTheLongestWait(t *testing.T) {
	c := newCrowd(200, 1, 3)
	c.run(30 * interval)
	if first := c.told[0]; first > interval/2 {
		t.Errorf("the first outcome came after %v", first)
	}
	for i := 1; i < len(c.told); i++ {
		if wait := c.told[i] - c.told[i-1]; wait > interval+time.Second {
			t.Errorf("outcome %d came %v after the one before, want at most T", i, wait)
		}
	}
	if n := c.active(30 * interval); n != 1 {
		t.Errorf("%d nodes poll the feed, want 1", n)
	}
}

// FeedTree §5: the polling schedule is jittered to help avoid synchronicity.
func TestAThousandDoNotVolunteerAtOnce(t *testing.T) {
	for seed := range uint64(3) {
		c := newCrowd(1000, 1, seed)
		c.run(5 * interval)
		for i := range c.nodes { // the volunteer dies
			if c.nodes[i].Active(5 * interval) {
				c.dead[i] = true
			}
		}
		before := len(c.polls)
		c.run(7*interval - interval/4)
		var first time.Duration
		burst := 0
		for _, p := range c.polls[before:] {
			if first == 0 {
				first = p.at
			}
			if p.at < first+interval/2 {
				burst++
			}
		}
		if burst < 1 || burst > 5 {
			t.Errorf("seed %d: %d of 1000 nodes took over at once, want one or a few", seed, burst)
		}
		if first > 5*interval+interval*8/5 {
			t.Errorf("seed %d: taken over only after %v", seed, first-5*interval)
		}
	}
}

func TestNoNodePollsFasterThanOnceInT(t *testing.T) {
	for _, n := range []int{1, 3, 60} {
		c := newCrowd(20, n, 11)
		c.run(50 * interval)
		last := map[int]time.Duration{}
		for _, p := range c.polls {
			if at, ok := last[p.node]; ok && p.at-at < interval*9/10 {
				t.Fatalf("N=%d: node %d polled at %v and again at %v", n, p.node, at, p.at)
			}
			last[p.node] = p.at
		}
		if len(c.polls) == 0 {
			t.Fatalf("N=%d: nobody polled", n)
		}
	}
}
