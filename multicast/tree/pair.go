package tree

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// pair is what this node and one neighbour have in common, over all groups:
// one keep-alive watches the link (FeedTree §4.2: only while nothing else is
// heard over it), one digest compares the edges, heads are told together.
type pair struct {
	id       overlay.ID
	ties     []tie
	first    [1]tie // where ties begin: most pairs share one group
	digest   uint64
	probe    time.Duration // ping by then if nothing is heard
	dead     time.Duration // gone by then if nothing is heard; 0: no ping is out
	pings    int
	asked    time.Duration // when the last ping left; 0: it was answered
	compared time.Duration // when digests were sent last
	tell     []*group      // groups whose heads the neighbour is to be told
	tellAt   time.Duration
	told     time.Duration // when heads were told last
	alarm    alarm
	touch    bool
}

// tie counts the edges and lazy links of one group between the two.
type tie struct {
	g      *group
	n      int
	theirs []multicast.Stamp // the heads that the neighbour told last
}

// hears keeps what the neighbour has of a group.
func (p *pair) hears(g *group, heads []multicast.Stamp) {
	for i := range p.ties {
		if p.ties[i].g == g {
			p.ties[i].theirs = heads
		}
	}
}

// knows reports whether the neighbour has told these heads, or later ones, itself.
func (p *pair) knows(g *group, heads []multicast.Stamp) bool {
	for i := range p.ties {
		if p.ties[i].g == g {
			return !slices.ContainsFunc(heads, func(h multicast.Stamp) bool { return behind(p.ties[i].theirs, h) })
		}
	}
	return false
}

// pairs are a node's, by ID.
type pairs []*pair

func (ps pairs) place(id overlay.ID) (int, bool) {
	return slices.BinarySearchFunc(ps, id, func(p *pair, id overlay.ID) int { return strings.Compare(string(p.id), string(id)) })
}

func (ps pairs) find(id overlay.ID) *pair {
	if i, ok := ps.place(id); ok {
		return ps[i]
	}
	return nil
}

func (ps *pairs) add(p *pair) {
	i, _ := ps.place(p.id)
	*ps = slices.Insert(*ps, i, p)
}

func (ps *pairs) drop(id overlay.ID) {
	if i, ok := ps.place(id); ok {
		*ps = slices.Delete(*ps, i, i+1)
	}
}

func (p *pair) when() time.Duration {
	at := min(orNever(p.tellAt), p.probe)
	if p.dead != 0 {
		at = min(orNever(p.tellAt), p.dead)
	}
	return at
}

func (n *Node) touchPair(p *pair) {
	if !p.touch {
		p.touch = true
		n.step.out.pairs = append(n.step.out.pairs, p)
	}
}

// edgeDigest stands for one edge in a pair's digest. Lazy links have edge 0
// and no parent. Digests are xored: order does not matter, and an edge taken
// out leaves no trace.
func edgeDigest(g multicast.Group, edge uint64, parent overlay.ID) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], edge)
	h.Write(g[:])
	h.Write(b[:])
	h.Write([]byte(parent))
	return h.Sum64()
}

func lazyDigest(g multicast.Group) uint64 { return edgeDigest(g, 0, "") }

// tie adds a link of a group to the pair, which begins with its first.
func (n *Node) tie(id overlay.ID, g *group, digest uint64) {
	p := n.pairs.find(id)
	if p == nil {
		p = &pair{id: id, compared: n.step.now, probe: n.step.now + n.jitter(n.cfg.KeepAlive, 0.25)}
		p.ties = p.first[:0]
		n.alarms.init(&p.alarm)
		p.alarm.pair = p
		n.pairs.add(p)
	}
	n.touchPair(p)
	p.digest ^= digest
	for i := range p.ties {
		if p.ties[i].g == g {
			p.ties[i].n++
			return
		}
	}
	p.ties = append(p.ties, tie{g: g, n: 1})
}

// silence is how long a neighbour may be silent before it is pinged. The more
// neighbours, the longer, so that what a node spends on them stays the same; and
// a lazy link is one of several and watched less.
func (n *Node) silence(p *pair) time.Duration {
	wait := max(n.cfg.KeepAlive, time.Duration(len(n.pairs)-fewPairs)*pairShare)
	for _, t := range p.ties {
		if t.g.near(p.id) {
			return wait
		}
	}
	return max(lazyPart*n.cfg.KeepAlive, wait)
}

// untie takes a link out; a pair without links is forgotten.
func (n *Node) untie(id overlay.ID, g *group, digest uint64) {
	p := n.pairs.find(id)
	if p == nil {
		panic("tree: an edge without its pair")
	}
	n.touchPair(p)
	p.digest ^= digest
	for i := range p.ties {
		if p.ties[i].g != g {
			continue
		}
		if p.ties[i].n--; p.ties[i].n == 0 {
			p.ties = append(p.ties[:i], p.ties[i+1:]...)
			p.forgetTell(g)
		}
		if len(p.ties) == 0 {
			n.pairs.drop(id)
		}
		return
	}
	panic("tree: an edge its pair does not count")
}

func (p *pair) forgetTell(g *group) {
	for i := range p.tell {
		if p.tell[i] == g {
			p.tell = append(p.tell[:i], p.tell[i+1:]...)
			return
		}
	}
}

// heard notes a sign of life.
func (n *Node) heard(id overlay.ID) {
	if p := n.pairs.find(id); p != nil {
		p.dead, p.pings = 0, 0
		p.probe = n.step.now + n.jitter(n.silence(p), 0.25)
		n.touchPair(p)
	}
}

// expect wants a sign of life from a neighbour soon: data went there, or it
// should have sent some.
func (n *Node) expect(id overlay.ID, within time.Duration) {
	if p := n.pairs.find(id); p != nil && p.dead == 0 {
		p.probe = min(p.probe, n.step.now+within)
		n.touchPair(p)
	}
}

func (n *Node) wakePair(p *pair) {
	n.touchPair(p)
	now := n.step.now
	if due(p.tellAt, now) {
		n.tellHeads(p)
	}
	switch {
	case p.dead != 0 && p.dead > now, p.dead == 0 && p.probe > now:
	case p.pings >= 2:
		n.notice(Notice{Kind: Silent, Peers: []overlay.ID{p.id}})
		n.gone(p.id)
	default:
		p.pings++
		p.dead = now + n.cfg.Patience*time.Duration(1+p.pings)/2
		p.asked = now
		n.send(p.id, n.keepAlive(Ping, p))
	}
}

func (n *Node) onPing(from overlay.ID, m *Message) {
	n.send(from, n.keepAlive(Pong, n.pairs.find(from)))
	n.compare(from, m)
}

func (n *Node) onPong(from overlay.ID, m *Message) {
	p := n.pairs.find(from)
	if p != nil && p.asked != 0 {
		if m.Self != nil {
			n.learnRTT(from, m.Self.At, n.rtt(from, p.asked))
		}
		p.asked = 0
	}
	n.compare(from, m)
}

// keepAlive is a Ping or Pong with what the other side can check its own view
// against.
func (n *Node) keepAlive(t Type, p *pair) *Message {
	own := Standing{At: n.at.Coord}
	if p == nil {
		return &Message{Type: t, Self: &own}
	}
	p.compared = n.step.now
	return &Message{Type: t, Self: &own, Digest: p.digest, Paths: n.pathDigest(p), Known: n.headDigest(p)}
}

// compare is the pair's anti-entropy: where the two sides' edges differ, one
// lists its own; where a child's way to the top is not the last one sent, it is
// sent again; where heads differ, they are told.
func (n *Node) compare(from overlay.ID, m *Message) {
	p := n.pairs.find(from)
	switch {
	case p == nil:
		if m.Digest != 0 {
			n.send(from, &Message{Type: Sync})
		}
		return
	case p.digest != m.Digest:
		n.send(from, &Message{Type: Sync, Entries: n.edgesOf(p)})
		return
	}
	if m.Paths != n.pathDigest(p) {
		n.resendPaths(p)
	}
	if m.Type != Heads && m.Known != n.headDigest(p) {
		for _, t := range p.ties {
			n.tell(from, t.g)
		}
	}
}

func (n *Node) resendPaths(p *pair) {
	for _, t := range p.ties {
		if i := t.g.child(p.id); i >= 0 {
			n.sendPath(t.g, &t.g.links.children[i], n.pathDown(t.g), n.standsDown(t.g))
		}
	}
}

// pathDigest stands for the versions of all paths told between the two.
func (n *Node) pathDigest(p *pair) uint64 {
	var sum uint64
	for _, t := range p.ties {
		if i := t.g.child(p.id); i >= 0 {
			c := t.g.links.children[i]
			sum ^= edgeDigest(t.g.id, c.edge^c.ver<<32, n.self)
		}
		if pl := t.g.place; pl.parent == p.id {
			sum ^= edgeDigest(t.g.id, pl.edge^pl.ver<<32, p.id)
		}
	}
	return sum
}

// headDigest stands for all heads of the groups the pair shares.
func (n *Node) headDigest(p *pair) uint64 {
	var sum uint64
	var b [24]byte
	for _, t := range p.ties {
		for _, l := range t.g.lines {
			if l.epoch == 0 {
				continue
			}
			h := fnv.New64a()
			h.Write(t.g.id[:])
			h.Write(l.source[:])
			binary.BigEndian.PutUint64(b[:], l.epoch)
			binary.BigEndian.PutUint64(b[8:], l.high)
			binary.BigEndian.PutUint64(b[16:], l.lastBeat())
			h.Write(b[:])
			sum ^= h.Sum64()
		}
	}
	return sum
}

func (n *Node) edgesOf(p *pair) []Entry {
	var es []Entry
	for _, t := range p.ties {
		g := t.g
		if i := g.child(p.id); i >= 0 {
			es = append(es, Entry{Group: g.id, Edge: g.links.children[i].edge, Flags: AsParent})
		}
		if g.place.parent == p.id {
			es = append(es, Entry{Group: g.id, Edge: g.place.edge})
		}
		if g.isLazy(p.id) {
			es = append(es, Entry{Group: g.id})
		}
	}
	return es
}

// onSync mends what the two sides see differently: edges only the other has
// are refused, edges only this side has are ended, unless they are so young
// that the other's news of them may still be on the way.
func (n *Node) onSync(from overlay.ID, m *Message) {
	claimed := map[edgeKey]bool{}
	for _, e := range m.Entries {
		claimed[keyOf(e)] = true
		n.syncTheirs(from, e)
	}
	p := n.pairs.find(from)
	if p == nil {
		return
	}
	for _, e := range n.edgesOf(p) {
		mirrored := e
		if e.Edge != 0 {
			mirrored.Flags ^= AsParent
		}
		if !claimed[keyOf(mirrored)] {
			n.syncOurs(from, e)
		}
	}
}

// syncTheirs looks at one edge the other side has.
func (n *Node) syncTheirs(from overlay.ID, e Entry) {
	g := n.groups[e.Group]
	switch {
	case e.Edge == 0:
		if g == nil || !g.isLazy(from) {
			n.send(from, &Message{Type: Unlink, Group: e.Group})
		}
	case e.Flags&AsParent != 0:
		switch {
		case g != nil && g.place.parent == from && g.place.edge == e.Edge:
		case g != nil && g.seek.target == from && g.seek.edge == e.Edge:
			n.sendJoin(g) // its answer was lost
		default:
			n.send(from, &Message{Type: Leave, Group: e.Group, Edge: e.Edge})
		}
	default:
		if i := -1; g != nil {
			if i = g.child(from); i >= 0 && g.links.children[i].edge == e.Edge {
				return
			}
		}
		n.send(from, &Message{Type: Drop, Group: e.Group, Edge: e.Edge, Reason: Unknown})
	}
}

// syncOurs ends one edge the other side does not have.
func (n *Node) syncOurs(from overlay.ID, e Entry) {
	g := n.groups[e.Group]
	if g == nil {
		return
	}
	old := n.step.now - 2*n.cfg.Patience
	n.touch(g)
	switch i := g.child(from); {
	case e.Edge == 0:
		n.dropLazy(g, from, false)
	case e.Flags&AsParent != 0:
		if i >= 0 && g.links.children[i].since <= old {
			n.cutChild(g, i)
			n.dropIfIdle(g)
		}
	case g.place.parent == from && g.place.since <= old:
		n.orphan(g, []overlay.ID{from}, false)
	}
}

// edgeKey tells an entry's edge from the others of a pair.
type edgeKey struct {
	group    multicast.Group
	edge     uint64
	asParent bool
}

func keyOf(e Entry) edgeKey { return edgeKey{e.Group, e.Edge, e.Flags&AsParent != 0} }
