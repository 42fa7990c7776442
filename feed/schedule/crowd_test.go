package schedule_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

const (
	interval = 30 * time.Minute
	farthest = 2 * time.Second // a word on its way to another node
)

// crowd is so many nodes that follow one feed, a fetch of up to two seconds away
// from its origin and up to two from each other.
type crowd struct {
	rng    *rand.Rand
	nodes  []*schedule.Volunteer
	dead   []bool
	broken []bool          // who never gets an answer
	busy   []bool          // something is under way
	armed  []time.Duration // the deadline an event is queued for
	queue  events
	serial int
	polls  []poll
	told   []time.Duration // when each outcome was published
	claims int
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

func source(i int) schedule.Source { return schedule.Source{byte(i), byte(i >> 8), 1} }

// newCrowd is n nodes of an overload factor each, that have just subscribed.
func newCrowd(n int, overload func(i int) int, seed uint64) *crowd {
	c := &crowd{rng: rand.New(rand.NewPCG(seed, 1)), dead: make([]bool, n), broken: make([]bool, n), busy: make([]bool, n), armed: make([]time.Duration, n)}
	for i := range n {
		c.nodes = append(c.nodes, nil)
		c.join(i, 0, schedule.Config{Interval: interval, Overload: overload(i), Self: source(i)}, seed)
	}
	return c
}

func (c *crowd) join(i int, now time.Duration, cfg schedule.Config, seed uint64) {
	c.nodes[i] = schedule.New(now, cfg, rand.New(rand.NewPCG(seed, uint64(i)+2)))
	c.nodes[i].Fetched(now)
	c.wake(i)
}

func all(n int) func(int) int { return func(int) int { return n } }

func (c *crowd) upTo(d time.Duration) time.Duration { return time.Duration(c.rng.Int64N(int64(d))) }

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
			c.at(now+c.upTo(2*time.Second), func(now time.Duration) { c.answered(i, now) })
		case schedule.Announce:
			c.nodes[i].Announced(now)
			c.tell(i, now, (*schedule.Volunteer).Heard)
			c.told = append(c.told, now)
		case schedule.Claim:
			c.claims++
			c.nodes[i].Claimed(now)
			c.tell(i, now, (*schedule.Volunteer).Asking)
		}
		c.wake(i)
	})
}

func (c *crowd) answered(i int, now time.Duration) {
	if c.dead[i] {
		return
	}
	c.busy[i] = false
	c.nodes[i].Polled(now, !c.broken[i])
	if c.broken[i] {
		c.nodes[i].Asked(now)
		c.tell(i, now, (*schedule.Volunteer).Asking)
	} else {
		c.told = append(c.told, now)
		c.tell(i, now, (*schedule.Volunteer).Heard)
	}
	c.wake(i)
}

func (c *crowd) tell(from int, now time.Duration, what func(*schedule.Volunteer, time.Duration, time.Duration, schedule.Source)) {
	for i := range c.nodes {
		if i == from || c.dead[i] {
			continue
		}
		c.at(now+c.upTo(farthest), func(now time.Duration) {
			what(c.nodes[i], now, 0, source(from))
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

// active is who polled since a time.
func (c *crowd) active(since time.Duration) (list []int) {
	for _, p := range c.polls {
		if p.at >= since && !slices.Contains(list, p.node) {
			list = append(list, p.node)
		}
	}
	return list
}

// figures are of the requests to the origin between two times.
type figures struct{ mean, worst, least time.Duration }

func (c *crowd) figures(from, to time.Duration) figures {
	f := figures{least: schedule.Never}
	var before poll
	n := 0
	for _, p := range c.polls {
		if p.at < from || p.at >= to {
			continue
		}
		if n++; n > 1 {
			gap := p.at - before.at
			f.mean += gap
			f.worst, f.least = max(f.worst, gap), min(f.least, gap)
		}
		before = p
	}
	if n > 1 {
		f.mean /= time.Duration(n - 1)
	}
	return f
}

// FeedTree §5: "On average, an RSS feed with a minimum polling period of T will
// have an effective FeedTree refresh period of T/N." And no two requests of all
// the volunteers are closer than that, from the first poll on, whoever dies.
func TestRefreshPeriodIsTOverN(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8} {
		for seed := range uint64(3) {
			want := interval / time.Duration(n)
			c := newCrowd(400, all(n), seed)
			const die, end = 20 * interval, 40 * interval
			c.run(die)
			f := c.figures(3*interval, die)
			crew := c.active(die - 2*interval)
			for i, k := range c.rng.Perm(len(crew)) {
				c.dead[crew[k]] = i < (len(crew)+1)/2
			}
			c.run(end)
			after := c.figures(die-2*interval, die+2*interval)
			again := c.figures(die+interval, end)
			t.Logf("N=%d seed %d: T/N %v, mean %v, shortest %v, longest %v; %d of %d volunteers die: longest %v, then mean %v, longest %v; %d claims for %d polls",
				n, seed, want, f.mean, f.least, f.worst, (len(crew)+1)/2, len(crew), after.worst, again.mean, again.worst, c.claims, len(c.polls))
			for _, f := range []figures{f, again} {
				if f.mean < want*95/100 || f.mean > want*105/100 {
					t.Errorf("N=%d seed %d: polled every %v, want %v to 5 %%", n, seed, f.mean, want)
				}
				if f.worst > want*3/2 {
					t.Errorf("N=%d seed %d: not polled for %v, want at most %v", n, seed, f.worst, want*3/2)
				}
			}
			if after.worst > want+interval || n == 1 && after.worst > want*3/2 {
				t.Errorf("N=%d seed %d: after the deaths not polled for %v", n, seed, after.worst)
			}
			if whole := c.figures(0, end); whole.least < want {
				t.Errorf("N=%d seed %d: two requests %v apart, want at least %v", n, seed, whole.least, want)
			}
		}
	}
}

// Any half of all nodes dies, and the other half subscribes again an hour later.
func TestHalfOfAllDie(t *testing.T) {
	for seed := range uint64(5) {
		c := newCrowd(1000, all(3), seed)
		want := interval / 3
		c.run(10 * interval)
		for _, i := range c.rng.Perm(1000)[:500] {
			c.dead[i] = true
		}
		c.run(12 * interval)
		f := c.figures(9*interval, 12*interval)
		if f.least < want || f.worst > want*3/2 {
			t.Errorf("seed %d: polled after %v to %v, want %v", seed, f.least, f.worst, want)
		}
	}
}

// The next poller is another one, so that it confirms or contradicts the last.
func TestPollsAreDealtAmongTheWilling(t *testing.T) {
	for _, n := range []int{1, 3} {
		c := newCrowd(50, all(n), 5)
		c.run(20 * interval)
		same, total := 0, 0
		for i := 1; i < len(c.polls); i++ {
			if c.polls[i].at > 3*interval {
				total++
				if c.polls[i].node == c.polls[i-1].node {
					same++
				}
			}
		}
		if polled := len(c.active(3 * interval)); polled < 15*n {
			t.Errorf("N=%d: %d of 50 nodes shared the polls of %d intervals", n, polled, 17)
		}
		if same > 0 || total == 0 {
			t.Errorf("N=%d: %d of %d polls were by who made the one before", n, same, total)
		}
	}
}

// Some want it fresher than others: theirs is the pace, and nobody else polls.
func TestWhoWantsItFresherPollsMore(t *testing.T) {
	c := newCrowd(200, func(i int) int { return 1 + 3*(i%2) }, 9)
	c.run(30 * interval)
	want := interval / 4
	if f := c.figures(5*interval, 30*interval); f.least < want || f.mean > want*105/100 {
		t.Errorf("polled after %v or more, %v on average, want %v", f.least, f.mean, want)
	}
	slow, total := 0, 0
	for _, p := range c.polls {
		if p.at > 5*interval {
			if total++; p.node%2 == 0 {
				slow++
			}
		}
	}
	// One in four turns of theirs, which are sixteen of the others, is for those who
	// want it less fresh.
	if slow*12 > total {
		t.Errorf("%d of %d polls were by nodes for which once in T is enough", slow, total)
	}
}

// FeedTree §5: the polling schedule is jittered to help avoid synchronicity.
func TestAThousandDoNotVolunteerAtOnce(t *testing.T) {
	for seed := range uint64(3) {
		c := newCrowd(1000, all(1), seed)
		c.run(5 * interval)
		for _, i := range c.active(2 * interval) { // all who ever polled die
			c.dead[i] = true
		}
		polls, claims := len(c.polls), c.claims
		c.run(6*interval + interval/2)
		if n := len(c.polls) - polls; n < 1 || n > 2 {
			t.Errorf("seed %d: %d polls, want one or two", seed, n)
		}
		if n := c.claims - claims; n > 20 {
			t.Errorf("seed %d: %d of 1000 nodes claimed to poll, want a few", seed, n)
		}
	}
}

// For an origin all who poll it are as one client: failures double the wait.
func TestAnOriginThatFailsIsLeftAloneByAll(t *testing.T) {
	c := newCrowd(300, all(2), 4)
	c.run(5 * interval)
	for i := range c.broken {
		c.broken[i] = true
	}
	before := len(c.polls)
	c.run(5*interval + 24*time.Hour)
	if n := len(c.polls) - before; n < 3 || n > 8 {
		t.Errorf("%d requests in a day of failures, want about log2(24 h / T/N)", n)
	}
	for i := before + 1; i < len(c.polls); i++ {
		if gap := c.polls[i].at - c.polls[i-1].at; gap < interval/2 {
			t.Errorf("two requests %v apart", gap)
		}
	}
}

// The limits for one client hold for all, whatever N is.
func TestTheLimitOfOneClientHoldsForAll(t *testing.T) {
	c := newCrowd(0, all(0), 3)
	const least = 20 * time.Minute
	for i := range 100 {
		c.nodes, c.dead, c.broken, c.busy, c.armed = append(c.nodes, nil), append(c.dead, false), append(c.broken, false), append(c.busy, false), append(c.armed, 0)
		c.join(i, 0, schedule.Config{Interval: interval, Least: least, Overload: 5, Self: source(i)}, 3)
	}
	c.run(30 * interval)
	if f := c.figures(0, 30*interval); f.least < least || f.mean > least*105/100 {
		t.Errorf("polled after %v or more, %v on average, want %v", f.least, f.mean, least)
	}
}
