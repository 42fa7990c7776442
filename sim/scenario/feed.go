package scenario

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// A feed is a group with its members and what became of its items.
type feed struct {
	group     multicast.Group
	publisher int32
	members   []int32 // ascending
	exempt    bits    // nodes that nothing is due at; nil: none
	sizes     []int   // of bodies, by seq from 1, where they differ
	open      []*item // published less than a minute ago
	tally     tally
}

// An item is an event of a feed until it is judged. Members are named by their
// place among the feed's.
type item struct {
	seq     uint64
	at      time.Duration
	up      bits      // members that were up when it was published
	stayed  bits      // of those, who never went since
	arrival []float32 // seconds after publishing, by member; negative: not yet
}

// A tally is what became of a feed's items.
type tally struct {
	judged    int
	published int
	cover     cover
	worst     float64 // coverage of the item that did worst
	rad, rmd  spread  // by item
	delays    spread  // in seconds, of a sample of the deliveries
	hops      int32   // asked and set by several lanes at once
	history   []moment
}

// A moment is how an item did, for what is drawn over time.
type moment struct {
	at       time.Duration
	cover    cover
	p50, p99 float64 // seconds until that part of the due held it; NaN if never
}

// place returns a member's place among the feed's, -1 if it is none.
func (f *feed) place(node int32) int {
	if int(node) < len(f.members) && f.members[node] == node {
		return int(node) // everybody is a member
	}
	at, found := slices.BinarySearch(f.members, node)
	if !found {
		return -1
	}
	return at
}

// size is what an event's body is taken to have. The simulator itself gives all
// events of a world the same.
func (f *feed) size(e *multicast.Event) int {
	if f.sizes == nil {
		return len(e.Body)
	}
	return f.sizes[e.Stamp.Seq-1]
}

// publish lets the feed's publisher publish an item, to be judged in a minute.
func (w *world) publish(f *feed) {
	f.tally.published++
	w.announce(f, true)
}

// announce publishes an item. What is not judged is only there to be published.
func (w *world) announce(f *feed, judge bool) {
	if !w.Alive(w.ids[f.publisher]) {
		return
	}
	it := &item{at: w.Now()}
	if judge {
		it.up, it.arrival = newBits(len(f.members)), make([]float32, len(f.members))
		for i, m := range f.members {
			it.arrival[i] = -1
			if m != f.publisher && w.up.has(int(m)) {
				it.up.set(i)
			}
		}
		it.stayed = slices.Clone(it.up)
		f.open = append(f.open, it)
		w.At(it.at+judged, func() {
			if slices.Contains(f.open, it) {
				w.judge(f, it)
			}
		})
	}
	if w.bodies != nil {
		f.sizes = append(f.sizes, w.bodies())
	}
	it.seq = w.Publish(f.group, w.ids[f.publisher], 0).Seq
}

// delivered is called for every delivery of the world.
func (w *world) delivered(now time.Duration, node int32, d *multicast.Delivery) {
	if d.Event.Stamp.Heartbeat() {
		return
	}
	f := w.of[d.Event.Group]
	own := &w.load.lanes[w.lane[node]].amount
	own.deliveries++
	own.delivered += uint64(f.size(&d.Event))
	for _, it := range f.open {
		if it.seq != d.Event.Stamp.Seq {
			continue
		}
		if i := f.place(node); i >= 0 && it.arrival[i] < 0 {
			it.arrival[i] = float32((now - it.at).Seconds())
			f.tally.far(int32(d.Hops))
		}
	}
}

// far notes how many hops a delivery took.
func (t *tally) far(hops int32) {
	for {
		most := atomic.LoadInt32(&t.hops)
		if hops <= most || atomic.CompareAndSwapInt32(&t.hops, most, hops) {
			return
		}
	}
}

// judge closes an item: who was up when it was published and is up now was due
// to have it.
func (w *world) judge(f *feed, it *item) {
	f.open = slices.DeleteFunc(f.open, func(o *item) bool { return o == it })
	var c cover
	var p penalty
	lags := make(spread, 0, len(f.members))
	for i, m := range f.members {
		due := it.up.has(i) && w.up.has(int(m)) && (f.exempt == nil || !f.exempt.has(int(m)))
		took := time.Duration(float64(it.arrival[i]) * float64(time.Second))
		if due && took < 0 {
			c.miss()
		} else if due {
			c.hold(took)
			lags.add(took.Seconds())
		}
		if it.stayed.has(i) && took >= 0 && took <= judged {
			p.add(took, w.run.latency.direct(w.spot[f.publisher], w.spot[m]))
		}
	}
	t := &f.tally
	if t.judged++; t.judged == 1 {
		t.worst = 1
	}
	t.cover.plus(c)
	if c.due > 0 {
		t.worst = min(t.worst, c.part(len(horizons)-1))
	}
	t.rad.add(p.rad())
	t.rmd.add(p.rmd())
	t.history = append(t.history, moment{at: it.at, cover: c, p50: partHeld(lags, c.due, 0.5), p99: partHeld(lags, c.due, 0.99)})
	w.sample(t, lags)
	for _, see := range w.onJudged {
		see(f, it)
	}
}

// awaited reports whether the item is still on its way to where it is due.
func (it *item) awaited() bool {
	for i, took := range it.arrival {
		if took < 0 && it.up.has(i) {
			return true
		}
	}
	return false
}

// partHeld returns how long it took until the part q of the due held an item.
func partHeld(lags spread, due int, q float64) float64 {
	if q*float64(due) > float64(len(lags)) {
		return math.NaN()
	}
	return lags.quantile(q * float64(due) / float64(len(lags)))
}

const sampled = 20_000 // delays kept of one item

// sample keeps some of an item's delays, sorted by now, at equal distances.
func (w *world) sample(t *tally, lags spread) {
	step := max(1, len(lags)/sampled)
	for i := len(lags) - 1; i >= 0; i -= step {
		t.delays = append(t.delays, lags[i])
	}
}
