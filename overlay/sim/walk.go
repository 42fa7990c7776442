package sim

import (
	"math"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

const (
	alpha = 10              // queries of one lookup under way at once, as kad-dht has it
	beta  = 3               // a lookup is over when so many nearest have answered
	stall = 3 * time.Second // what a dead peer costs a walk, as measured
	boots = 3               // nodes a joiner knows to begin with
)

// A walker is what a walk knows: the nearest candidates, nearest first, and who
// did not answer. Walks share its memory.
type walker struct {
	target uint64
	self   int32
	most   int
	timed  bool
	best   []near
	silent []int32
	some   []int32
	asked  uint64
	joins  bool        // others join at the same time: who is met gets to know it later
	met    [][]meeting // by the lane of who was asked
	took   []int32     // into tables of those who join
}

// A meeting is of a node that joins and one that it asked.
type meeting struct{ joiner, other int32 }

// walkTo goes from a toward target as kad-dht's lookups do: it asks the
// nearest candidates, up to alpha at once, for nearer ones until the nearest
// beta have answered, then contacts those of the nearest k that it has not
// asked. Who meets enters the other's table if there is room; who does not
// answer leaves a's. It returns those who answered, nearest first, valid until
// the next walk, and the time it took.
func (n *Net[M]) walkTo(a int32, target uint64) (_ []near, took time.Duration) {
	return n.walkBy(&n.walks[0], a, target, beta, alpha)
}

// strollTo is a walk that only fills a table: nobody waits for it, and it may
// miss some of the nearest k. It asks one node at a time until the nearest has
// answered, which is a third of the work.
func (n *Net[M]) strollTo(w *walker, a int32, target uint64) { n.walkBy(w, a, target, 1, 1) }

func (n *Net[M]) walkBy(w *walker, a int32, target uint64, first, wide int) (_ []near, took time.Duration) {
	w.target, w.self, w.most = target, a, n.cfg.Tables.Bucket
	w.best, w.silent, w.timed = w.best[:0], w.silent[:0], wide > 1
	seeds := w.most
	if wide == 1 {
		seeds = 1 // who is in the target's own bucket leads there
	}
	n.ask(w, a, seeds)
	for {
		round, asked := n.askRound(w, a, min(first, w.most), wide, true)
		if asked == 0 {
			break
		}
		took += round
	}
	last, _ := n.askRound(w, a, w.most, w.most, false)
	return w.best, took + last
}

// askRound contacts up to wide of those among the first candidates who were not
// asked yet, nearest first, and, if it wants their answers, learns from them. As
// long as one of the first few is not asked, those behind are asked along.
func (n *Net[M]) askRound(w *walker, a int32, first, wide int, answers bool) (took time.Duration, asked int) {
	open := func(c near) bool { return c.state == unasked }
	if !slices.ContainsFunc(w.best[:min(first, len(w.best))], open) {
		return 0, 0
	}
	w.some = w.some[:0]
	for i := 0; i < len(w.best) && len(w.some) < wide; i++ {
		if open(w.best[i]) {
			w.some = append(w.some, w.best[i].node)
			w.best[i].state = answered
		}
	}
	for _, p := range w.some {
		w.asked++
		if !n.reach(a, p) {
			w.drop(p)
			n.evict(a, p)
			took = max(took, stall)
			continue
		}
		if w.timed {
			took = max(took, n.rtt(a, p))
		}
		if answers {
			n.ask(w, p, w.most)
		}
		n.meets(w, a, p)
	}
	return took, len(w.some)
}

// ask adds the k peers that p knows nearest to the target to the candidates, or
// more.
func (n *Net[M]) ask(w *walker, p int32, k int) {
	n.around(p, w.target, k, func(peers []entry) {
		far := w.reach()
		for _, e := range peers {
			if dist := n.pos[e.node()] ^ w.target; dist < far {
				w.offer(dist, e.node())
				far = w.reach()
			}
		}
	})
}

// reach is what a candidate must be nearer than to be taken in.
func (w *walker) reach() uint64 {
	if len(w.best) < w.most {
		return math.MaxUint64
	}
	return w.best[w.most-1].dist
}

// offer takes in a candidate that is within reach.
func (w *walker) offer(dist uint64, p int32) {
	i := len(w.best)
	for i > 0 && w.best[i-1].dist > dist {
		i--
	}
	if p == w.self || i > 0 && w.best[i-1].node == p || slices.Contains(w.silent, p) {
		return
	}
	if len(w.best) < w.most {
		w.best = append(w.best, near{})
	}
	copy(w.best[i+1:], w.best[i:])
	w.best[i] = near{dist: dist, node: p}
}

// drop strikes out who did not answer.
func (w *walker) drop(p int32) {
	w.silent = append(w.silent, p)
	w.best = slices.DeleteFunc(w.best, func(c near) bool { return c.node == p })
}

// walkAfter is how long after it was asked for the walk of a lookup looks at
// tables: all lanes have come as far by then.
const walkAfter = 8 * time.Millisecond

// lookup walks toward target for a and calls done after the time it took.
func (n *Net[M]) lookup(a int32, target uint64, done func(time.Duration, []overlay.ID, bool)) {
	asked, tie := n.at(a), n.draw(a)
	n.whole(a, func() {
		e := n.alone(opWalk, a)
		e.from = n.own.calls.put(func(time.Duration) { n.walkFor(a, target, asked, done) })
		n.post(&n.own, asked+walkAfter, tie|drawn, &e)
	})
}

func (n *Net[M]) walkFor(a int32, target uint64, asked time.Duration, done func(time.Duration, []overlay.ID, bool)) {
	n.own.counts.Lookups++
	failed := n.cfg.LookupFailure > 0 && unit(n.draw(a)) < n.cfg.LookupFailure
	near, took := n.walkTo(a, target)
	var ids []overlay.ID
	for _, c := range near {
		ids = append(ids, n.nodes[c.node].id)
	}
	if failed {
		ids, took = nil, max(took, n.cfg.Dial)
	}
	e := n.alone(opLooked, a)
	e.from = n.own.calls.put(func(now time.Duration) { done(now, ids, len(ids) > 0) })
	n.post(&n.own, asked+took, n.draw(a)|drawn, &e)
}

// lost reports whether a found nobody and nobody will find it: it has to go on
// looking itself.
func (n *Net[M]) lost(a int32) bool { return n.nodes[a].hidden && len(n.nodes[a].table.peers) == 0 }

// refill walks into each bucket that has room, after a walk toward the own key.
// What that found to be the whole of a bucket needs no walk.
func (n *Net[M]) refill(w *walker, a int32) {
	near := w.best
	if len(near) == 0 {
		return
	}
	last := shared(n.pos[a], n.pos[near[len(near)-1].node])
	if len(near) < w.most {
		return // they are all there is
	}
	for c := 0; c <= last; c++ {
		from, to := n.nodes[a].table.bounds(c)
		if to-from >= n.cfg.Tables.Bucket {
			continue
		}
		bit := uint64(1) << (63 - c)
		n.strollTo(w, a, n.pos[a]&^(bit-1)^bit|n.draw(a)&(bit-1))
	}
}

// someone returns a live node on a's side other than a, or -1.
func (n *Net[M]) someone(a int32) int32 {
	all := n.order.joined
	if len(all) == 0 {
		return -1
	}
	first := within(n.draw(a), len(all))
	for k := range all {
		p := all[(first+k)%len(all)]
		if p != a && n.reach(a, p) {
			return p
		}
	}
	return -1
}

// rejoin finds the others again after a partition.
func (n *Net[M]) rejoin(a int32) {
	for _, p := range slices.Clone(n.nodes[a].table.peers) {
		if !p.isUp() && n.reach(a, p.node()) {
			n.meet(a, p.node())
		}
	}
	if n.cfg.Tables.Joined {
		n.join(a)
		return
	}
	n.fill(a)
	n.announce(a)
}
