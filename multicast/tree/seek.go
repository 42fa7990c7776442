package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// seek is one search for a parent: candidates are asked one after the other,
// first those somebody named, then the overlay's next hop (FeedTree §4.2: the
// tree is the union of the routes), then what a lookup finds. A search ends
// with a parent, with this node as root, or with a pause and another round.
type seek struct {
	on      bool
	moving  bool // there is a parent still: keep it until another one answers
	looking bool
	routed  bool // the next hop was among the candidates
	looked  bool // so were a lookup's results
	alive   bool // somebody who should be the parent answered, but said no
	target  overlay.ID
	edge    uint64
	at      time.Duration // answer due, or next round
	todo    []overlay.ID
	tried   []overlay.ID
	round   int
}

// seekParent starts a search with the candidates given.
func (n *Node) seekParent(g *group, todo []overlay.ID, moving bool) {
	n.touch(g)
	round := g.seek.round
	g.seek = seek{on: true, moving: moving, todo: slices.Clone(todo), round: round}
	n.seekNext(g)
}

// seekWithout starts a search in which a node that is dead for this one, if
// not yet for the overlay, is not asked.
func (n *Node) seekWithout(g *group, dead overlay.ID, todo []overlay.ID) {
	n.touch(g)
	g.seek = seek{on: true, todo: todo, round: g.seek.round, tried: []overlay.ID{dead}}
	n.seekNext(g)
}

// seekNext asks the next candidate, or finds more of them.
func (n *Node) seekNext(g *group) {
	s := &g.seek
	if !s.on {
		return
	}
	s.target, s.at = "", 0
	for {
		if id, ok := n.nextCandidate(g); ok {
			n.ask(g, id)
			return
		}
		switch {
		case !s.routed:
			s.routed = true
			s.todo = n.routeTo(g)
		case !s.looked && !s.moving:
			n.lookup(g)
			return
		default:
			n.seekFailed(g)
			return
		}
	}
}

func (n *Node) nextCandidate(g *group) (overlay.ID, bool) {
	s := &g.seek
	for len(s.todo) > 0 && len(s.tried) < pullMax {
		id := s.todo[0]
		s.todo = s.todo[1:]
		if id == n.self || id == "" || id == g.place.parent || s.moving && n.avoids(g, id) || slices.Contains(s.tried, id) {
			continue
		}
		s.tried = append(s.tried, id)
		return id, true
	}
	return "", false
}

// routeTo returns the next hops toward the root. A leaf is in nobody's routing
// table: for it every node is closer.
func (n *Node) routeTo(g *group) []overlay.ID {
	if hop, ok := n.router.NextHop(g.key); ok {
		return []overlay.ID{hop}
	}
	if n.cfg.Leaf {
		return n.router.Closest(g.key, n.cfg.Replicas)
	}
	return nil
}

func (n *Node) ask(g *group, id overlay.ID) {
	n.edges++
	s := &g.seek
	s.target, s.edge, s.at = id, n.edges, n.step.now+n.jitter(n.cfg.Patience, 0.1)
	n.sendJoin(g)
}

func (n *Node) sendJoin(g *group) {
	m := &Message{Type: Join, Group: g.id, Edge: g.seek.edge, Heads: g.cursor()}
	if !g.seek.moving {
		m.Flags |= Detached
	}
	if !n.cfg.Leaf {
		m.Flags |= Reachable
	}
	n.send(g.seek.target, m)
}

func (n *Node) lookup(g *group) {
	g.seek.looking = true
	g.seek.at = n.step.now + 5*n.cfg.Patience
	n.step.out.Lookups = append(n.step.out.Lookups, g.id)
}

// seekDue is the search's alarm: an answer is overdue or a pause is over.
func (n *Node) seekDue(g *group) {
	switch s := &g.seek; {
	case s.looking:
		n.looked(g, nil, false)
	case s.target != "":
		n.seekNext(g)
	default:
		n.seekParent(g, nil, false)
	}
}

// looked takes a lookup's result: a node is root only after a lookup found
// nobody closer that can be reached.
func (n *Node) looked(g *group, nearest []overlay.ID, ok bool) {
	n.touch(g)
	s := &g.seek
	if !s.looking {
		return
	}
	s.looking, s.at = false, 0
	closer := n.closer(g, nearest)
	switch {
	case g.place.root && len(closer) == 0:
		n.keepRoot(g)
	case g.place.root:
		n.seekParent(g, closer, false)
		g.seek.routed, g.seek.looked = true, true
	case !ok && len(n.router.Closest(g.key, 1)) > 0 && s.round < 3:
		s.looked = true
		n.pause(g)
	default:
		s.looked = true
		s.todo = closer
		n.seekNext(g)
	}
}

func (n *Node) closer(g *group, nearest []overlay.ID) []overlay.ID {
	var closer []overlay.ID
	own := n.self.Key()
	for _, id := range nearest {
		if id != n.self && (n.cfg.Leaf || g.key.Closer(id.Key(), own)) {
			closer = append(closer, id)
		}
	}
	return closer
}

// seekFailed ends a round without a parent.
func (n *Node) seekFailed(g *group) {
	s := &g.seek
	switch {
	case s.moving:
		g.seek = seek{}
	case g.place.root:
		n.keepRoot(g)
	case s.alive || n.cfg.Leaf:
		n.pause(g)
	default:
		n.becomeRoot(g)
	}
}

// pause waits, longer each time, before the next round.
func (n *Node) pause(g *group) {
	s := &g.seek
	wait := min(retryFrom<<min(s.round, 10), retryTo)
	g.seek = seek{on: true, round: s.round + 1, at: n.step.now + n.jitter(wait, 0.5)}
	n.touch(g)
}

func (n *Node) becomeRoot(g *group) {
	g.seek = seek{}
	g.fresh = false
	g.place = place{root: true, attached: true, sent: g.place.sent, pause: rootCheck}
	n.keepRoot(g)
	n.announce(g)
	n.notice(Notice{Kind: Attached, Group: g.id, Root: true})
	n.askHeads(g, n.router.Closest(g.key, n.cfg.Replicas))
}

// keepRoot plans when to look for somebody closer again.
func (n *Node) keepRoot(g *group) {
	g.seek = seek{}
	g.place.check = n.step.now + n.jitter(g.place.pause, 0.25)
	g.place.pause = min(2*g.place.pause, rootCheckTo)
}

// checkRoot looks whether somebody closer than this root can be reached now;
// it then joins that node, and two trees become one.
func (n *Node) checkRoot(g *group) {
	g.place.check = n.step.now + rootCheck
	if g.seek.on || g.seek.looking {
		return
	}
	if hops := n.routeTo(g); len(hops) > 0 {
		n.seekParent(g, hops, false)
		return
	}
	n.lookup(g)
}

// routes reacts to a changed routing table where it matters: roots may have
// somebody closer now, searches may get further.
func (n *Node) routes() {
	for _, g := range n.order {
		switch {
		case g.place.root:
			if _, ok := n.router.NextHop(g.key); ok {
				n.touch(g)
				g.place.check = min(orNever(g.place.check), n.step.now+n.jitter(tellAfter, 0.5))
			}
		case g.seek.on && g.seek.target == "" && !g.seek.looking:
			n.touch(g)
			g.seek.at = min(g.seek.at, n.step.now+n.jitter(tellAfter, 0.5))
		}
	}
}

func (n *Node) onRefuse(g *group, from overlay.ID, m *Message) {
	s := &g.seek
	if !s.on || s.target != from || s.edge != m.Edge {
		return
	}
	if m.Reason != Closing && m.Reason != NoDirect {
		s.alive = true
	}
	if m.Reason == Full || m.Reason == Closing || m.Reason == NoDirect {
		s.todo = append(slices.Clone(m.Peers), s.todo...)
	}
	n.seekNext(g)
}

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
	case n.loops(m.Path):
		n.count.LoopsBroken++
		s.alive = true
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.seekNext(g)
		return
	}
	edge := s.edge
	g.seek = seek{}
	n.leaveParent(g)
	if i := g.child(from); i >= 0 {
		n.cutChild(g, i)
	}
	n.dropLazy(g, from, true)
	g.place = place{parent: from, edge: edge, ver: m.Ver, sent: g.place.sent, path: m.Path,
		attached: m.Flags&Detached == 0, since: n.step.now}
	n.tie(from, g, edgeDigest(g.id, edge, from))
	n.announce(g)
	n.attachedNotice(g)
	n.learn(g, from, m.Heads, reorderWait)
	g.fresh = false
	n.retryGaps(g)
	n.meet(g, m.Peers)
	if g.member && g.links.walkAt == 0 {
		g.links.walkAt = n.step.now + n.jitter(tellAfter, 0.5)
	}
}

func (n *Node) attachedNotice(g *group) {
	if g.place.attached {
		n.notice(Notice{Kind: Attached, Group: g.id, Peers: slices.Clone(g.place.path)})
	}
}

// loops reports whether a way to the top leads through this node, or is so
// long that it must.
func (n *Node) loops(path []overlay.ID) bool {
	return len(path) > maxPath || slices.Contains(path, n.self)
}

// leaveParent ends the edge to the parent, if there is one, from this side.
func (n *Node) leaveParent(g *group) {
	if p := g.place; p.parent != "" {
		n.send(p.parent, &Message{Type: Leave, Group: g.id, Edge: p.edge})
		n.untie(p.parent, g, edgeDigest(g.id, p.edge, p.parent))
		g.place.parent = ""
	}
}

// orphan handles a parent that is no more. The nodes above it are near and
// know the way: they are asked first, after what the parent itself proposed.
func (n *Node) orphan(g *group, hints []overlay.ID, dead bool) {
	old := g.place
	n.untie(old.parent, g, edgeDigest(g.id, old.edge, old.parent))
	n.detach(g)
	todo := slices.Clone(hints)
	for i := len(old.path) - 2; i >= 0 && i >= len(old.path)-3; i-- {
		todo = append(todo, old.path[i])
	}
	n.count.Rejoins++
	if dead {
		n.seekWithout(g, old.parent, todo)
	} else {
		n.seekParent(g, todo, false)
	}
}

// detach forgets the parent and keeps the children: below this node the tree
// stays whole while it looks for another place.
func (n *Node) detach(g *group) {
	g.place = place{sent: g.place.sent}
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
	n.seekParent(g, append(todo, g.links.lazy...), true)
}

func (n *Node) avoid(g *group, id overlay.ID) {
	g.avoid.id, g.avoid.until = id, n.step.now+avoidFor
}

func (n *Node) avoids(g *group, id overlay.ID) bool {
	return g.avoid.id == id && n.step.now < g.avoid.until
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
	case n.loops(m.Path):
		n.count.LoopsBroken++
		n.send(from, &Message{Type: Leave, Group: g.id, Edge: m.Edge})
		n.untie(from, g, edgeDigest(g.id, p.edge, from))
		n.detach(g)
		n.pause(g)
		return
	}
	p.ver = m.Ver
	attached := m.Flags&Detached == 0
	if attached == p.attached && slices.Equal(m.Path, p.path) {
		return
	}
	p.path, p.attached = m.Path, attached
	n.announce(g)
	n.attachedNotice(g)
}

// onCut handles an edge ended by its other side.
func (n *Node) onCut(g *group, from overlay.ID, m *Message) {
	if i := g.child(from); i >= 0 && g.links.children[i].edge == m.Edge {
		n.cutChild(g, i)
		n.dropIfIdle(g)
		return
	}
	if g.place.parent == from && g.place.edge == m.Edge {
		n.orphan(g, m.Peers, m.Reason == Closing)
	}
}

// join is the application's: from now on events are delivered here.
func (n *Node) join(in Input) {
	g := n.group(in.Group)
	g.fresh = !g.member && in.Cursor == nil
	g.member = true
	n.restore(g, in.Recent)
	n.resume(g, in.Cursor)
	if g.links.walkAt == 0 {
		g.links.walkAt = n.step.now + n.jitter(walkFrom, 0.5)
	}
	n.needPlace(g)
}

func (n *Node) needPlace(g *group) {
	if g.place.parent == "" && !g.place.root && !g.seek.on {
		n.seekParent(g, nil, false)
	}
}

// leave is the application's: the node stays only if others hang below it.
func (n *Node) leave(g *group) {
	n.touch(g)
	g.member = false
	g.own = own{}
	g.links.walkAt = 0
	for len(g.links.lazy) > 0 {
		n.dropLazy(g, g.links.lazy[0], true)
	}
	n.dropIfIdle(g)
}

// dropIfIdle leaves the tree if this node serves nobody in it.
func (n *Node) dropIfIdle(g *group) {
	n.touch(g)
	switch {
	case n.groups[g.id] != g || g.member || len(g.links.children) > 0:
		return
	case !g.idle(n.step.now):
		n.rest(g)
		return
	}
	n.leaveParent(g)
	for len(g.links.lazy) > 0 {
		n.dropLazy(g, g.links.lazy[0], true)
	}
	g.seek = seek{}
	delete(n.groups, g.id)
	n.order = slices.DeleteFunc(n.order, func(o *group) bool { return o == g })
	n.notice(Notice{Kind: GroupDropped, Group: g.id})
}

// rest leaves the tree and keeps the events, for as long as the lease goes. A
// join wakes the group up.
func (n *Node) rest(g *group) {
	n.leaveParent(g)
	g.seek, g.place = seek{}, place{sent: g.place.sent}
}

// close tells every neighbour, so that nobody has to find out.
func (n *Node) close() {
	for _, g := range n.order {
		n.touch(g)
		var hints []overlay.ID
		if g.place.parent != "" {
			hints = []overlay.ID{g.place.parent}
		}
		for len(g.links.children) > 0 {
			c := g.links.children[0]
			n.send(c.id, &Message{Type: Drop, Group: g.id, Edge: c.edge, Reason: Closing, Peers: hints})
			n.cutChild(g, 0)
		}
		for len(g.links.lazy) > 0 {
			n.dropLazy(g, g.links.lazy[0], true)
		}
		n.leaveParent(g)
		g.seek, g.place, g.own, g.lines, g.lease = seek{}, place{sent: g.place.sent}, own{}, nil, 0
		g.links.walkAt = 0
	}
	n.closed = true
}
