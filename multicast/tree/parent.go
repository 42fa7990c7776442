package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// onAck makes the node that was asked the parent. Only now, on a move, the old
// parent is left: no item falls between two edges.
func (n *Node) onAck(g *group, from overlay.ID, m *Message) {
	s := &g.seek
	switch {
	case g.place.parent == from && g.place.edge == m.Edge:
		n.onPath(g, from, m)
		return
	case !s.on || s.target != from || s.edge != m.Edge:
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		return
	case n.misleads(from, m.Path):
		n.count.LoopsBroken++
		s.alive = true
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.seekNext(g)
		return
	case (s.sent || s.pressed) && n.poor(g, m), s.among && m.Flags&Detached != 0, s.better && n.tooDeepBelow(g, m):
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.seekNext(g)
		return
	}
	if n.declines(g, from) {
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.askAgain(g, from)
		return
	}
	edge, better, rtt, told := s.edge, s.better, n.rtt(from, s.asked), s.told
	moving, was := s.moving, n.delay(g)
	g.seek = seek{}
	n.leaveFor(g, bequest(m))
	if i := g.child(from); i >= 0 {
		n.cutChild(g, i)
	}
	n.dropLazy(g, from, true)
	g.place = place{parent: from, edge: edge, ver: m.Ver, path: m.Path, stands: standsOf(m), rtt: rtt, turn: m.Turn,
		attached: m.Flags&Detached == 0, since: n.step.now, said: said{sent: g.place.sent, told: told}}
	n.resign(g)
	if k := len(g.place.stands); k > 0 {
		n.learnRTT(from, g.place.stands[k-1].At, rtt)
	}
	n.tie(from, g, edgeDigest(g.id, edge, from), 1)
	if m.Flags&Confirm != 0 {
		n.tellLoad(g)
	}
	n.reckon(g)
	n.announce(g)
	n.attachedNotice(g)
	n.tuned(g, better)
	switch {
	case !g.tune.met, !moving && len(g.links.children) == 0:
		n.arrived(g)
	case n.delay(g) > was+was/4: // it was sent there or had none, and all below it with it
		g.tune.at = n.step.now + n.jitter(searchSoon, 0.5)
	}
	n.learn(g, from, m.Heads, reorderWait)
	n.tellForks(g, from)
	for _, l := range g.lines {
		l.whole = whole{} // the parent was told, and sends what is between
	}
	g.fresh = false
	n.retryGaps(g)
	n.meet(g, m.Peers)
	if l := &g.links; g.member && (l.walkAt == 0 || l.pause == walkFew) { // without a tree it wanted no links
		l.pause = walkFrom
		l.walkAt = n.step.now + n.jitter(walkFrom, 0.5) // those that the parent named have answered by then
	}
}

func (n *Node) attachedNotice(g *group) {
	if g.place.attached {
		n.found(g)
		n.notice(Notice{Kind: Attached, Group: g.id, Peers: g.place.path})
	}
}

// measure takes what the overlay knows of the way to the parent by now. What was
// measured when the two met counts the making of the connection, or a machine that was
// busy with many, and would have this node look for a better place for ever.
func (n *Node) measure(g *group) {
	d, ok := n.router.RTT(g.place.parent)
	if g.place.parent == "" || !ok || d <= 0 || d == g.place.rtt {
		return
	}
	g.place.rtt = d
	if n.worthTelling(g) {
		n.announce(g)
	}
}

// loops reports whether a way to the top leads through this node, or is so
// long that it must.
func (n *Node) loops(path []overlay.ID) bool {
	return len(path) > maxPath || slices.Contains(path, n.self)
}

// misleads reports whether a way told by a parent cannot be followed: it loops, or
// does not end with the parent.
func (n *Node) misleads(parent overlay.ID, path []overlay.ID) bool {
	return len(path) == 0 || path[len(path)-1] != parent || n.loops(path)
}

// leaveParent ends the edge to the parent, if there is one, from this side.
func (n *Node) leaveParent(g *group) { n.leaveFor(g, Message{}) }

func (n *Node) leaveFor(g *group, m Message) {
	if p := g.place; p.parent != "" {
		m.Type, m.Group, m.Edge = Leave, g.id, p.edge
		n.send(p.parent, &m)
		n.untie(p.parent, g, edgeDigest(g.id, p.edge, p.parent), 1)
		g.place.parent = ""
	}
}

// orphan handles a parent that is no more. The nodes above it are near and
// know the way: they are asked first, after what the parent itself proposed.
func (n *Node) orphan(g *group, hints []overlay.ID, dead bool) {
	old := g.place
	n.untie(old.parent, g, edgeDigest(g.id, old.edge, old.parent), 1)
	n.detach(g)
	todo := append(slices.Clone(hints), above(old.path)...)
	n.count.Rejoins++
	if dead {
		n.seekWithout(g, old.parent, todo)
	} else {
		n.seekParent(g, todo, false)
	}
}

// above are the two next ones above the parent, the nearer first.
func above(path []overlay.ID) (ids []overlay.ID) {
	for i := len(path) - 2; i >= 0 && i >= len(path)-3; i-- {
		ids = append(ids, path[i])
	}
	return ids
}

// detach forgets the parent and keeps the children: below this node the tree
// stays whole while it looks for another place.
func (n *Node) detach(g *group) {
	g.place = place{said: said{sent: g.place.sent}}
	g.tune.s = nil
	n.notice(Notice{Kind: DetachedNow, Group: g.id})
}

// reseat gives up the place below an ancestor that is itself looking for a
// parent here: this node is nearer to the root than the one above it.
func (n *Node) reseat(g *group) {
	n.leaveParent(g)
	n.detach(g)
	n.count.Rejoins++
	n.seekParent(g, nil, false)
}

// move looks for another parent and keeps the present one until there is one.
// The one left is not moved to again for a while; a node without any parent
// asks it all the same.
func (n *Node) move(g *group) {
	n.avoid(g, g.place.parent)
	var todo []overlay.ID
	for i := len(g.place.path) - 2; i >= 0; i-- {
		todo = append(todo, g.place.path[i])
	}
	n.seekParent(g, g.beside(todo), true)
}

func (n *Node) avoid(g *group, id overlay.ID) {
	g.avoid = &avoided{id, n.step.now + avoidFor}
}

func (n *Node) avoids(g *group, id overlay.ID) bool {
	return g.avoid != nil && g.avoid.id == id && n.step.now < g.avoid.until
}

// avoided is a parent that kept its link alive and forwarded nothing.
type avoided struct {
	id    overlay.ID
	until time.Duration
}

// onPath takes the parent's new way to the top.
func (n *Node) onPath(g *group, from overlay.ID, m *Message) {
	p := &g.place
	switch {
	case p.parent != from || p.edge != m.Edge:
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		return
	case m.Ver <= p.ver:
		return
	case n.misleads(from, m.Path):
		n.count.LoopsBroken++
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.untie(from, g, edgeDigest(g.id, p.edge, from), 1)
		n.detach(g)
		n.pause(g)
		return
	}
	p.ver = m.Ver
	attached := m.Flags&Detached == 0
	same := attached == p.attached && slices.Equal(m.Path, p.path)
	stands := standsOf(m)
	crowd := same && grown(stands, p.stands)
	p.path, p.attached, p.stands, p.turn = m.Path, attached, stands, m.Turn
	n.hurry(g)
	if !same || crowd || n.worthTelling(g) {
		n.announce(g)
	}
	if !same {
		n.attachedNotice(g)
	}
}

// onCut handles an edge ended by its other side.
func (n *Node) onCut(g *group, from overlay.ID, m *Message) {
	if i := g.child(from); i >= 0 && g.links.children[i].edge == m.Edge {
		n.keepPlace(g, m)
		n.cutChild(g, i)
		n.dropIfIdle(g)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge && m.Reason == Moved && m.Flags&Confirm != 0 {
		n.weighPlaces(g, m)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge && m.Reason == Full && m.Flags&Confirm != 0 {
		n.seekAmong(g, m.Peers)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge && m.Reason == Full && m.Flags&Crowded != 0 {
		n.goAnywhere(g, m.Peers)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge && m.Reason == Moved {
		n.makeWay(g, m.Peers)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge {
		n.orphan(g, m.Peers, m.Reason == Closing)
	}
}
