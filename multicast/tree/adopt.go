package tree

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// maxGroups bounds the trees a node serves, its own and others'.
const maxGroups = 50_000

// onJoin decides about a node that wants to hang below this one (FeedTree
// §4.2; Scribe's JOIN, which stops at the first node already in the tree: any
// node adopts, and one that is not in the tree yet joins it in turn).
func (n *Node) onJoin(from overlay.ID, m *Message) {
	g := n.find(m.Group)
	switch {
	case n.closed:
		n.refuse(from, m, Closing, nil)
		return
	case m.Flags&Crowded != 0 && !n.mayKeep(m):
		n.introduce(from, m)
		return
	case g == nil && len(n.order) >= maxGroups:
		n.refuse(from, m, Full, nil)
		return
	case g == nil:
		g = n.group(m.Group)
	}
	n.touch(g)
	if top, aside := n.wayIn(g, from, m); aside {
		n.refuse(from, m, Full, []overlay.ID{top})
		return
	}
	reason, makesRoom := n.mayAdopt(g, from, m), false
	switch {
	case reason != Full:
	case n.cfg.Sparing:
		n.count.Spared++
	default:
		var waits bool
		if makesRoom, waits = n.displace(g, from, m); waits {
			return
		}
	}
	if reason != 0 && !makesRoom {
		n.refuse(from, m, reason, n.elsewhere(g, from, m, reason))
		if reason == Full && n.inVain(g, from, m) {
			n.makeMore()
		}
		n.dropIfIdle(g)
		return
	}
	n.adopt(g, from, m)
}

// mayAdopt returns why a joiner cannot be adopted, or 0.
func (n *Node) mayAdopt(g *group, from overlay.ID, m *Message) Reason {
	detached := m.Flags&Detached != 0
	switch {
	case g.place.parent == from || slices.Contains(g.place.path, from):
		switch {
		case !detached:
			return Loop
		case n.crowns(g):
			return 0
		}
		n.reseat(g)
		return Busy
	case g.seek.target == from && g.id.Key().Closer(from.Key(), n.self.Key()):
		return Busy // both ask each other: the one nearer to the root becomes the parent
	case g.seek.moving && !detached:
		return Busy
	case n.cfg.Sparing:
		return Full
	case g.child(from) >= 0:
		return 0
	case n.sinksHere(g, m):
		return Busy
	case n.turnsAway(g, from, m):
		return Full
	case n.fullFor(g, from, detached) || int(n.held) >= n.allChildren():
		return Full
	case m.Flags&Better != 0 && int(n.held) >= n.fairChildren():
		return Full // it has a place; this node has work enough
	}
	return 0
}

func (n *Node) refuse(to overlay.ID, m *Message, why Reason, try []overlay.ID) {
	n.count.Refused++
	own := Standing{At: n.at.Coord}
	n.send(to, &Message{Type: Refuse, Group: m.Group, Edge: m.Edge, Reason: why, Peers: try, Self: &own})
}

// downhill proposes where a joiner that was refused for lack of room finds
// some: the lightest children, so that the tree below fills evenly.
func (n *Node) downhill(g *group, from overlay.ID, m *Message, why Reason) []overlay.ID {
	if why != Full || m.Flags&Better != 0 {
		return nil
	}
	var ids []overlay.ID
	if s := m.Self; s != nil && s.At.Known() && s.At.Err <= errTrusted {
		var room [childrenUsual]ranked
		near := n.nearest(g, from, s.At, room[:0])
		slices.SortStableFunc(near, func(a, b ranked) int { // the one that is busiest comes last, or all go there
			return cmp.Compare(n.below(&a.stand, s.At, s.Weight), n.below(&b.stand, s.At, s.Weight))
		})
		for _, c := range near {
			ids = append(ids, c.id)
		}
	} else {
		ids = n.lightest(g, from)
	}
	if g.place.parent != "" {
		ids = append(ids, g.place.parent)
	}
	return ids
}

// lightest lists some children, those with the fewest nodes below first.
// Who is sent there is counted at once, so that the next one goes elsewhere.
func (n *Node) lightest(g *group, not overlay.ID) []overlay.ID {
	cs := make([]*child, 0, len(g.links.children))
	for i := range g.links.children {
		if c := &g.links.children[i]; c.id != not && !c.barren() {
			cs = append(cs, c)
		}
	}
	n.rng.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
	slices.SortStableFunc(cs, func(a, b *child) int { return cmp.Compare(bits.Len32(a.stand.Weight), bits.Len32(b.stand.Weight)) })
	cs = cs[:min(len(cs), offerPeers)]
	ids := make([]overlay.ID, len(cs))
	for i, c := range cs {
		ids[i] = c.id
	}
	if len(cs) > 0 {
		cs[0].stand.Weight++
	}
	return ids
}

// adopt takes a child, tells it the way to the top and sends what it missed.
func (n *Node) adopt(g *group, from overlay.ID, m *Message) {
	if i := g.child(from); i >= 0 {
		n.cutChild(g, i)
	}
	n.dropLazy(g, from, true)
	g.links.taken(from)
	g.place.sent++
	c := child{id: from, edge: m.Edge, ver: g.place.sent, since: n.step.now, rtt: m.RTT}
	if d, ok := n.router.RTT(from); ok && c.rtt == 0 {
		c.rtt = d
	}
	if m.Self != nil {
		c.stand = *m.Self
	}
	c.turn = n.turn(g, &c)
	g.links.children = append(g.links.children, c)
	g.links.shorts = append(g.links.shorts, short(from))
	n.held++
	n.tie(from, g, edgeDigest(g.id, m.Edge, n.self), 1)
	ack := &Message{Type: Ack, Group: g.id, Edge: m.Edge, Ver: g.place.sent, Flags: n.pathFlags(g),
		Turn: c.turn, Path: n.pathDown(g), Posts: n.standsDown(g), Heads: g.heads(), Peers: n.sample(g)}
	if s := g.links.swap; s != nil && s.by == from {
		ack.Flags |= Confirm
		if heir := s.heir(); heir != "" {
			ack.Reason, ack.Peers = Moved, append([]overlay.ID{heir}, ack.Peers...)
		}
	}
	n.send(from, ack)
	n.reckon(g)
	n.catchUp(g, from, m)
	n.tellForks(g, from)
	n.learn(g, from, m.Heads, reorderWait)
	if g.seek.target == from {
		n.seekNext(g)
	}
	n.needPlace(g)
	n.lookAgain(g)
	n.thin(from)
}

func (n *Node) pathDown(g *group) []overlay.ID {
	path := make([]overlay.ID, 0, len(g.place.path)+1)
	return append(append(path, g.place.path...), n.self)
}

func (n *Node) pathFlags(g *group) Flags {
	if g.place.attached {
		return 0
	}
	return Detached
}

// announce tells the children a changed way to the top.
func (n *Node) announce(g *group) {
	if len(g.links.children) == 0 {
		return
	}
	g.place.sent++
	g.place.passed, g.place.sized, g.place.heft = n.delay(g), g.size(), g.weight()
	g.place.lasted, g.place.lastAt = g.longest(), n.step.now
	path, stands := n.pathDown(g), n.standsDown(g)
	var room [childrenUsual]served
	for i, c := range n.firstServed(g, room[:0]) {
		c.turn = turnOf(i)
		n.sendPath(g, c.child, path, stands)
	}
}

func (n *Node) sendPath(g *group, c *child, path []overlay.ID, stands []Standing) {
	c.ver = g.place.sent
	n.send(c.id, &Message{Type: Path, Group: g.id, Edge: c.edge, Ver: c.ver, Turn: c.turn, Flags: n.pathFlags(g), Path: path, Posts: stands})
}

// worthTelling reports whether the delay to here, or the size of the tree,
// changed so much that the nodes below should hear of it.
func (n *Node) worthTelling(g *group) bool {
	if size := g.size(); diff(size, g.place.sized) > sizeFew+g.place.sized/sizePart {
		return true
	}
	if n.lastMoved(g) {
		return true
	}
	d := (n.delay(g) - g.place.passed).Abs()
	return d > gainLeast && d > g.place.passed/gainPart
}

// cutChild ends the edge to a child on this side.
func (n *Node) cutChild(g *group, i int) {
	c := g.links.children[i]
	g.links.children = slices.Delete(g.links.children, i, i+1)
	g.links.shorts = slices.Delete(g.links.shorts, i, i+1)
	if len(g.links.children) == 0 {
		g.links.children, g.links.shorts = nil, nil // most have none for the rest of their lives
	}
	n.held--
	n.untie(c.id, g, edgeDigest(g.id, c.edge, n.self), 1)
	n.outOfSwap(g, c.id)
	n.reckon(g)
}
