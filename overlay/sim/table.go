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

// A table holds the peers of all buckets one after the other; bucket c has
// those that share exactly c leading bits with the node.
type table struct {
	peers []entry
	ends  []uint16 // of bucket c in peers
}

func (t *table) bounds(c int) (from, to int) {
	if len(t.ends) == 0 {
		return 0, 0
	}
	if c > 0 {
		from = int(t.ends[min(c, len(t.ends))-1])
	}
	return from, int(t.ends[min(c, len(t.ends)-1)])
}

func (n *Net[M]) bucketOf(a, p int32) int {
	return min(bits.LeadingZeros64(n.pos[a]^n.pos[p]), 63)
}

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
	at, c := n.find(a, p)
	t := &n.nodes[a].table
	if at >= 0 {
		if !t.peers[at].isUp() {
			t.peers[at] &^= down
			n.changed(a)
		}
		return
	}
	from, to := t.bounds(c)
	if to-from >= n.cfg.Tables.Bucket {
		return
	}
	for len(t.ends) <= c {
		t.ends = append(t.ends, uint16(len(t.peers)))
	}
	t.peers = slices.Insert(t.peers, to, entry(p))
	for k := c; k < len(t.ends); k++ {
		t.ends[k]++
	}
	n.nodes[p].holders = append(n.nodes[p].holders, a)
	n.changed(a)
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
	for k := c; k < len(t.ends); k++ {
		t.ends[k]--
	}
	n.release(p, a)
	n.changed(a)
	n.refreshLater(a)
}

func (n *Net[M]) release(p, holder int32) {
	h := n.nodes[p].holders
	at := slices.Index(h, holder)
	h[at] = h[len(h)-1]
	n.nodes[p].holders = h[:len(h)-1]
}

func (n *Net[M]) clearTable(a int32) {
	for _, p := range n.nodes[a].table.peers {
		n.release(p.node(), a)
	}
	n.nodes[a].table = table{}
}

// setDown marks p in a's table as disconnected.
func (n *Net[M]) setDown(a, p int32) {
	at, _ := n.find(a, p)
	if at < 0 || !n.nodes[a].table.peers[at].isUp() {
		return
	}
	n.nodes[a].table.peers[at] |= down
	n.changed(a)
	n.refreshLater(a)
}

// routesAfter gathers changes of a table into one Routes call.
const routesAfter = 100 * time.Millisecond

func (n *Net[M]) changed(a int32) { n.routesAt(a, n.now+routesAfter) }

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
		n.push(n.now+period/2+span(next(&nd.draws), period), n.alone(opRefresh, a))
	}
}

// givenUp is the part of disconnected peers that one refresh evicts. With it
// half of the stale entries last little more than one period and a tenth more
// than four, much as measured with kad-dht.
const givenUp = 0.4

// refresh tries the disconnected peers again, gives some up and fills what
// has room.
func (n *Net[M]) refresh(a int32) {
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
	n.fill(a)
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
	return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.node, b.node))
}

// closest appends up to k peers of a's table to dst, nearest to target first,
// disconnected ones included.
func (n *Net[M]) closest(dst []near, a int32, target uint64, k int) []near {
	t := &n.nodes[a].table
	c := min(bits.LeadingZeros64(n.pos[a]^target), len(t.ends))
	base := len(dst)
	add := func(from, to int) {
		for _, p := range t.peers[from:to] {
			dst = append(dst, near{dist: n.pos[p.node()] ^ target, node: p.node()})
		}
	}
	// Bucket c is nearer than all deeper ones, those are nearer than bucket
	// c-1, that is nearer than c-2, and so on.
	from, to := t.bounds(c)
	add(from, to)
	if len(dst)-base < k {
		add(to, len(t.peers))
	}
	for c--; c >= 0 && len(dst)-base < k; c-- {
		add(t.bounds(c))
	}
	slices.SortFunc(dst[base:], byDistance)
	return dst[:min(len(dst), base+k)]
}

// nextHop returns the connected peer in a's table that is nearest to target
// and nearer than a, or -1.
func (n *Net[M]) nextHop(a int32, target uint64) int32 {
	t := &n.nodes[a].table
	c := bits.LeadingZeros64(n.pos[a] ^ target)
	from, to := t.bounds(c)
	if c >= len(t.ends) {
		return -1
	}
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
