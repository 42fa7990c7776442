package sim

import (
	"cmp"
	"slices"
	"sort"
)

// An order is all nodes ever added by position, and those that came up since
// tables were last settled.
type order struct {
	sorted   []int32
	arrived  []int32 // not in sorted yet
	unfilled []int32 // up, with an empty table
	joined   []int32 // have joined once, in the order they did
}

func (o *order) arrive(i int32) { o.arrived = append(o.arrived, i) }

// settle lets the nodes that came up join. Those of one instant join
// together, in an order that does not depend on the calls.
func (n *Net[M]) settle() {
	if len(n.order.unfilled) == 0 {
		return
	}
	n.merge()
	batch := slices.DeleteFunc(n.order.unfilled, func(i int32) bool { return !n.nodes[i].alive })
	n.order.unfilled = nil
	slices.SortFunc(batch, n.byPosition)
	for _, a := range batch {
		n.trace(Started, -1, a)
	}
	if n.cfg.Tables.Joined {
		n.joinAll(n.shuffled(batch))
		return
	}
	for _, a := range batch {
		n.fill(a)
	}
	for _, a := range batch {
		n.announce(a)
	}
	for _, a := range batch {
		n.nodes[a].flags &^= newcomer
		n.changed(a)
	}
}

// shuffled returns the nodes of a batch, sorted by position, in an order drawn
// from the seed.
func (n *Net[M]) shuffled(batch []int32) []int32 {
	places := make([]near, len(batch))
	for k, a := range batch {
		places[k] = near{dist: mix(n.pos[a], n.cfg.Seed), node: int32(k)}
	}
	slices.SortFunc(places, byDistance)
	order := make([]int32, len(batch))
	for k, p := range places {
		order[k] = batch[p.node]
	}
	return order
}

// announce makes the settled nodes that a chose know it too.
func (n *Net[M]) announce(a int32) {
	for _, p := range n.nodes[a].table.peers {
		if n.reach(a, p.node()) && n.nodes[p.node()].flags&newcomer == 0 {
			n.insert(p.node(), a)
		}
	}
}

func (n *Net[M]) byPosition(a, b int32) int {
	if c := cmp.Compare(n.pos[a], n.pos[b]); c != 0 {
		return c
	}
	return cmp.Compare(n.nodes[a].id, n.nodes[b].id)
}

// merge puts the nodes that arrived in their places.
func (n *Net[M]) merge() {
	o := &n.order
	slices.SortFunc(o.arrived, n.byPosition)
	old, fresh := len(o.sorted), len(o.arrived)
	o.sorted = append(o.sorted, o.arrived...)
	for at := len(o.sorted) - 1; fresh > 0; at-- { // from the far end, where there is room
		if old > 0 && n.byPosition(o.sorted[old-1], o.arrived[fresh-1]) > 0 {
			old--
			o.sorted[at] = o.sorted[old]
		} else {
			fresh--
			o.sorted[at] = o.arrived[fresh]
		}
	}
	o.arrived = o.arrived[:0]
}

// fill puts peers into every bucket of a's table that has room.
func (n *Net[M]) fill(a int32) {
	if n.cfg.Tables.Joined {
		n.walkTo(a, n.pos[a])
		n.refill(&n.walks[0], a)
		return
	}
	lo, hi := 0, len(n.order.sorted)
	for c := 0; c < depth-1 && hi-lo > 1; c++ {
		bit := uint64(1) << (63 - c)
		mid := lo + sort.Search(hi-lo, func(k int) bool { return n.pos[n.order.sorted[lo+k]]&bit != 0 })
		if n.pos[a]&bit != 0 {
			n.sample(a, c, n.order.sorted[lo:mid])
			lo = mid
		} else {
			n.sample(a, c, n.order.sorted[mid:hi])
			hi = mid
		}
	}
	n.sample(a, depth-1, n.order.sorted[lo:hi])
}

// sample puts peers drawn from those that belong into bucket c there, until it
// is full or no more are found.
func (n *Net[M]) sample(a int32, c int, from []int32) {
	begin, end := n.nodes[a].table.bounds(c)
	want := n.cfg.Tables.Bucket - (end - begin)
	if want <= 0 || len(from) == 0 {
		return
	}
	if len(from) > 4*n.cfg.Tables.Bucket {
		for tries := 8 * want; tries > 0 && want > 0; tries-- {
			if p := from[within(n.draw(a), len(from))]; n.eligible(a, p) {
				n.insert(a, p)
				want--
			}
		}
		return
	}
	some := n.walks[0].some[:0]
	for _, p := range from {
		if n.eligible(a, p) {
			some = append(some, p)
		}
	}
	n.walks[0].some = some
	for k := 0; k < want && k < len(some); k++ {
		if want < len(some) {
			o := k + within(n.draw(a), len(some)-k)
			some[k], some[o] = some[o], some[k]
		}
		n.insert(a, some[k])
	}
}

func (n *Net[M]) eligible(a, p int32) bool {
	if a == p || !n.reach(a, p) {
		return false
	}
	at, _ := n.find(a, p)
	return at < 0
}
