package tree

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// What two neighbours believe of the links between them is compared by digests
// that travel with keep-alives and, on a busy link, with heads.

func (n *Node) onPing(from overlay.ID, m *Message) {
	n.post(from, n.keepAlive(Pong, n.pair(from)))
	n.compare(from, m)
}

func (n *Node) onPong(from overlay.ID, m *Message) {
	p := n.pair(from)
	if p != nil && p.asked != 0 {
		if m.Self != nil {
			n.learnRTT(from, m.Self.At, n.rtt(from, p.asked))
		}
		p.asked = 0
		for _, t := range p.ties() {
			if t.g.place.parent == from {
				n.measure(t.g)
			}
		}
	}
	n.compare(from, m)
}

// keepAlive is a Ping or Pong with what the other side can check its own view
// against.
func (n *Node) keepAlive(t Type, p *pair) *Message {
	m := n.step.out.inquiry(t, Standing{At: n.at.Coord})
	if p != nil {
		p.compared = n.step.now
		m.Digest, m.Paths, m.Known = p.digest, n.pathDigest(p), n.headDigest(p)
	}
	return m
}

// compare is the pair's anti-entropy: where the two sides' edges differ, one
// lists its own; where a child's way to the top is not the last one sent, it is
// sent again; where heads differ, they are told.
func (n *Node) compare(from overlay.ID, m *Message) {
	p := n.pair(from)
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
		for i := range p.ties() {
			p.ties()[i].told = 0 // what was told may be lost
			n.tell(from, p.ties()[i].g)
		}
	}
}

func (n *Node) resendPaths(p *pair) {
	for _, t := range p.ties() {
		if i := t.g.child(p.id); i >= 0 {
			n.sendPath(t.g, &t.g.links.children[i], n.pathDown(t.g), n.standsDown(t.g))
		}
	}
}

// pathDigest stands for the versions of all paths told between the two.
func (n *Node) pathDigest(p *pair) uint64 {
	var sum uint64
	for _, t := range p.ties() {
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
	for _, t := range p.ties() {
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
			h.Write(l.tag[:])
			sum ^= h.Sum64()
		}
	}
	return sum
}

func (n *Node) edgesOf(p *pair) []Entry {
	var es []Entry
	for _, t := range p.ties() {
		g := t.g
		if i := g.child(p.id); i >= 0 {
			es = append(es, Entry{Group: g.id, Edge: g.links.children[i].edge, Flags: AsParent})
		}
		if g.place.parent == p.id {
			es = append(es, Entry{Group: g.id, Edge: g.place.edge})
		}
		if n.isLazy(g, p.id) {
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
	p := n.pair(from)
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
	g := n.find(e.Group)
	switch {
	case e.Edge == 0:
		if g == nil || !n.isLazy(g, from) {
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
	g := n.find(e.Group)
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
