package sim

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

const (
	alpha = 10              // queries of one walk under way at once, as kad-dht has it
	stall = 3 * time.Second // what a dead peer costs a walk, as measured
	boots = 3               // nodes a joiner knows to begin with
)

// A walker is the memory that walks share.
type walker struct {
	seen  []uint32 // by node: the walk that met it last
	stamp uint32
	near  []near // candidates, nearest first
	some  []int32
}

// walkTo goes from a toward target as an iterative Kademlia lookup does:
// it asks the nearest candidates for nearer ones until the nearest k have
// answered. Who meets enters the other's table if there is room; who does not
// answer leaves a's. It returns those who answered, nearest first, and the
// time it took.
func (n *Net[M]) walkTo(a int32, target uint64) (_ []near, took time.Duration) {
	w := &n.walk
	w.begin(len(n.nodes))
	w.seen[a] = w.stamp
	k := n.cfg.Tables.Bucket
	cand := n.closest(w.near[:0], a, target, k)
	for _, c := range cand {
		w.seen[c.node] = w.stamp
	}
	for {
		var round time.Duration
		var asked int
		cand, round, asked = n.askRound(cand, a, target)
		if asked == 0 {
			break
		}
		took += round
	}
	w.near = cand
	return cand[:min(k, len(cand))], took
}

// askRound asks up to alpha of the k nearest candidates that were not asked
// yet and returns all candidates that may still live, nearest first.
func (n *Net[M]) askRound(cand []near, a int32, target uint64) (_ []near, took time.Duration, asked int) {
	for i := range min(n.cfg.Tables.Bucket, len(cand)) {
		if asked == alpha {
			break
		}
		p := cand[i].node
		if cand[i].state != unasked {
			continue
		}
		asked++
		n.counts.Queries++
		if !n.reach(a, p) {
			cand[i].state = silent
			n.evict(a, p)
			took = max(took, stall)
			continue
		}
		cand[i].state = answered
		took = max(took, n.rtt(a, p))
		cand = n.ask(cand, p, target)
		n.meet(a, p)
	}
	cand = slices.DeleteFunc(cand, func(c near) bool { return c.state == silent })
	slices.SortFunc(cand, byDistance)
	return cand, took, asked
}

func (w *walker) begin(nodes int) {
	if len(w.seen) < nodes {
		w.seen = append(w.seen, make([]uint32, nodes-len(w.seen))...)
	}
	w.stamp++
}

// ask adds what p knows near target to the candidates.
func (n *Net[M]) ask(cand []near, p int32, target uint64) []near {
	w := &n.walk
	base := len(cand)
	cand = n.closest(cand, p, target, n.cfg.Tables.Bucket)
	kept := cand[:base]
	for _, c := range cand[base:] {
		if w.seen[c.node] != w.stamp {
			w.seen[c.node] = w.stamp
			kept = append(kept, c)
		}
	}
	return kept
}

// lookup walks toward target for a and calls done after the time it took.
func (n *Net[M]) lookup(a int32, target uint64, done func(time.Duration, []overlay.ID, bool)) {
	n.settle()
	n.counts.Lookups++
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
	e.do = func(now time.Duration) { done(now, ids, len(ids) > 0) }
	n.pushTie(n.now+took, n.draw(a), e)
}

// join fills a's table as kad-dht does after it met its first peers: a walk
// toward the own key, then one into each bucket.
func (n *Net[M]) join(a int32) {
	for k := 0; k < boots; k++ {
		if p := n.someone(a); p >= 0 {
			n.meet(a, p)
		}
	}
	_, took := n.walkTo(a, n.pos[a])
	n.refill(a)
	n.routesAt(a, n.now+took)
}

// refill walks into each bucket that has room, down to the deepest in use.
func (n *Net[M]) refill(a int32) {
	for c := 0; c < len(n.nodes[a].table.ends); c++ {
		from, to := n.nodes[a].table.bounds(c)
		if to-from >= n.cfg.Tables.Bucket {
			continue
		}
		bit := uint64(1) << (63 - c)
		n.walkTo(a, n.pos[a]&^(bit-1)^bit|n.draw(a)&(bit-1))
	}
}

// someone returns a live node on a's side other than a, or -1.
func (n *Net[M]) someone(a int32) int32 {
	all := n.order.sorted
	first := within(n.draw(a), len(all))
	for k := range all {
		p := all[(first+k)%len(all)]
		if p != a && n.reach(a, p) && n.nodes[p].flags&newcomer == 0 {
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
