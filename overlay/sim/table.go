package sim

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// An entry is a peer in a routing table: its index, and whether it is known
// to have disconnected.
type entry uint32

const down entry = 1 << 31

func (e entry) node() int32 { return int32(e &^ down) }
func (e entry) isUp() bool  { return e&down == 0 }

// depth is how many buckets a table has. The last holds all that share as many
// bits or more: with fewer than some ten million nodes those are a handful.
const depth = 24

// A table holds the peers of all buckets one after the other; bucket c has
// those that share exactly c leading bits with the node.
type table struct {
	peers []entry
	ends  [depth]uint16 // of bucket c in peers
}

func (t *table) bounds(c int) (from, to int) {
	if c > 0 {
		from = int(t.ends[c-1])
	}
	return from, int(t.ends[c])
}

func shared(a, b uint64) int { return min(bits.LeadingZeros64(a^b), depth-1) }

func (n *Net[M]) bucketOf(a, p int32) int { return shared(n.pos[a], n.pos[p]) }

// find returns where p is in a's table, or -1, and its bucket.
func (n *Net[M]) find(a, p int32) (at, bucket int) {
	t := &n.nodes[a].table
	c := n.bucketOf(a, p)
	from, to := t.bounds(c)
	for k := from; k < to; k++ {
		if t.peers[k].node() == p {
			return k, c
		}
	}
	return -1, c
}

// holds reports whether p is in a's table and not known to be disconnected.
func (n *Net[M]) holds(a, p int32) bool {
	at, _ := n.find(a, p)
	return at >= 0 && n.nodes[a].table.peers[at].isUp()
}

// insert puts p into a's table if its bucket has room; a peer that is there is
// connected again. A full bucket keeps what it has, live or not.
func (n *Net[M]) insert(a, p int32) {
	if n.full[a]&(1<<n.bucketOf(a, p)) != 0 {
		return
	}
	at, c := n.find(a, p)
	t := &n.nodes[a].table
	if at >= 0 {
		if !t.peers[at].isUp() {
			t.peers[at] &^= down
			n.refull(a, c)
			n.changed(a)
		}
		return
	}
	from, to := t.bounds(c)
	if to-from >= n.cfg.Tables.Bucket || n.cfg.Undialable != nil && n.nodes[p].hidden {
		return
	}
	if len(t.peers) == cap(t.peers) {
		more := make([]entry, len(t.peers), max(n.tableSize(), len(t.peers)+16))
		copy(more, t.peers)
		t.peers = more
	}
	t.peers = slices.Insert(t.peers, to, entry(p))
	for k := c; k < depth; k++ {
		t.ends[k]++
	}
	n.hold(p, a)
	n.refull(a, c)
	n.changed(a)
}

// tableSize is how many peers a table will have about: full buckets down to
// where there are no more nodes than one holds.
func (n *Net[M]) tableSize() int {
	k := n.cfg.Tables.Bucket
	return min(k*(bits.Len(uint(len(n.order.sorted)/k))+1), len(n.order.sorted))
}

// refull notes whether a bucket is full with no peer down: insert has nothing
// to do there, and with a million nodes even looking takes its time.
func (n *Net[M]) refull(a int32, c int) {
	t := &n.nodes[a].table
	from, to := t.bounds(c)
	if to-from < n.cfg.Tables.Bucket || slices.ContainsFunc(t.peers[from:to], func(e entry) bool { return !e.isUp() }) {
		n.full[a] &^= 1 << c
	} else {
		n.full[a] |= 1 << c
	}
}

// meet is what contact between two live nodes does to their tables.
func (n *Net[M]) meet(a, b int32) {
	n.insert(a, b)
	n.insert(b, a)
}

// evict takes p out of a's table; a refresh will look for another.
func (n *Net[M]) evict(a, p int32) {
	at, c := n.find(a, p)
	if at < 0 {
		return
	}
	t := &n.nodes[a].table
	t.peers = slices.Delete(t.peers, at, at+1)
	for k := c; k < depth; k++ {
		t.ends[k]--
	}
	n.full[a] &^= 1 << c
	n.release(p, a)
	n.changed(a)
	n.refreshLater(a)
}

// hold, release and heldBy keep who has a node in its table. Only the death of
// a node asks for that, so a network without one does not keep it.
func (n *Net[M]) hold(p, holder int32) {
	if n.holders != nil {
		n.holders[p] = append(n.holders[p], holder)
	}
}

func (n *Net[M]) release(p, holder int32) {
	if n.holders == nil {
		return
	}
	h := n.holders[p]
	at := slices.Index(h, holder)
	h[at] = h[len(h)-1]
	n.holders[p] = h[:len(h)-1]
}

func (n *Net[M]) heldBy(p int32) []int32 {
	if n.holders == nil {
		n.holders = make([][]int32, len(n.nodes))
		for a := range n.nodes {
			for _, p := range n.nodes[a].table.peers {
				n.holders[p.node()] = append(n.holders[p.node()], int32(a))
			}
		}
	}
	return n.holders[p]
}

func (n *Net[M]) clearTable(a int32) {
	for _, p := range n.nodes[a].table.peers {
		n.release(p.node(), a)
	}
	n.nodes[a].table = table{}
	n.full[a] = 0
}

// setDown marks p in a's table as disconnected.
func (n *Net[M]) setDown(a, p int32) {
	at, c := n.find(a, p)
	if at < 0 || !n.nodes[a].table.peers[at].isUp() {
		return
	}
	n.nodes[a].table.peers[at] |= down
	n.full[a] &^= 1 << c
	n.changed(a)
	n.refreshLater(a)
}

// routesAfter gathers changes of a table into one Routes call.
const routesAfter = 100 * time.Millisecond

func (n *Net[M]) changed(a int32) { n.routesAt(a, n.at(a)+routesAfter) }

func (n *Net[M]) routesAt(a int32, at time.Duration) {
	nd := &n.nodes[a]
	if nd.alive && nd.flags&(routesDue|newcomer) == 0 {
		nd.flags |= routesDue
		n.push(at, n.alone(opRoutes, a))
	}
}

func (n *Net[M]) refreshLater(a int32) {
	nd := &n.nodes[a]
	if nd.alive && nd.flags&refreshDue == 0 {
		nd.flags |= refreshDue
		period := n.cfg.Tables.Refresh
		n.push(n.at(a)+period/2+span(next(&nd.draws), period), n.alone(opRefresh, a))
	}
}

// givenUp is the part of disconnected peers that one refresh evicts. With it
// half of the stale entries last little more than one period and a tenth more
// than four, much as measured with kad-dht.
const givenUp = 0.4

// refillOdds is how many refreshes walk to fill a table up: kad-dht looks after
// its peers every minute, and for new ones every ten. A node short of peers
// always looks.
const (
	refillOdds = 0.1
	shortOf    = 10
)

// refresh tries the disconnected peers again, gives some up and fills what
// has room.
func (n *Net[M]) refresh(a int32) {
	if n.lost(a) {
		n.nodes[a].flags &^= refreshDue
		n.join(a)
		return
	}
	left := 0
	for _, p := range slices.Clone(n.nodes[a].table.peers) {
		switch {
		case p.isUp():
		case n.reach(a, p.node()):
			n.meet(a, p.node())
		case unit(n.draw(a)) < givenUp:
			n.evict(a, p.node())
		default:
			left++
		}
	}
	if !n.cfg.Tables.Joined || len(n.nodes[a].table.peers)-left < shortOf || unit(n.draw(a)) < refillOdds {
		n.fill(a)
	}
	n.nodes[a].flags &^= refreshDue // evictions asked for one more; only what is left needs it
	if left > 0 {
		n.refreshLater(a)
	}
}

// A near is a peer with its distance to what is sought, and in a walk what
// became of asking it.
type near struct {
	dist  uint64
	node  int32
	state uint8
}

const (
	unasked uint8 = iota
	answered
	silent
)

func byDistance(a, b near) int {
	if a.dist != b.dist {
		return cmp.Compare(a.dist, b.dist)
	}
	return cmp.Compare(a.node, b.node)
}

// around calls add for parts of a's table that hold at least k peers if it has
// as many, among them the k nearest to target, nearer parts first. Bucket c is nearer than all
// deeper ones, those are nearer than bucket c-1, that is nearer than c-2, and
// so on.
func (n *Net[M]) around(a int32, target uint64, k int, add func([]entry)) {
	t := &n.nodes[a].table
	c := shared(n.pos[a], target)
	from, to := t.bounds(c)
	add(t.peers[from:to])
	got := to - from
	if got < k {
		add(t.peers[to:])
		got += len(t.peers) - to
	}
	for c--; c >= 0 && got < k; c-- {
		from, to := t.bounds(c)
		add(t.peers[from:to])
		got += to - from
	}
}

// closest appends up to k peers of a's table to dst, nearest to target first,
// disconnected ones included.
func (n *Net[M]) closest(dst []near, a int32, target uint64, k int) []near {
	base := len(dst)
	n.around(a, target, k, func(peers []entry) {
		from := len(dst)
		for _, p := range peers {
			dst = append(dst, near{dist: n.pos[p.node()] ^ target, node: p.node()})
		}
		slices.SortFunc(dst[from:], byDistance) // each part is nearer than the next
	})
	return dst[:min(len(dst), base+k)]
}

// nextHop returns the connected peer in a's table that is nearest to target
// and nearer than a, or -1.
func (n *Net[M]) nextHop(a int32, target uint64) int32 {
	t := &n.nodes[a].table
	from, to := t.bounds(shared(n.pos[a], target))
	if best := n.nearest(t.peers[from:to], a, target); best >= 0 {
		return best
	}
	return n.nearest(t.peers[to:], a, target)
}

func (n *Net[M]) nearest(peers []entry, a int32, target uint64) int32 {
	best, dist := int32(-1), n.pos[a]^target
	for _, p := range peers {
		if d := n.pos[p.node()] ^ target; d < dist && p.isUp() {
			best, dist = p.node(), d
		}
	}
	return best
}
