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
	looking bool
	alive   bool // somebody who should be the parent answered, but said no
	aim
	target overlay.ID
	edge   uint64
	asked  time.Duration // when the target was
	told   load          // and what it was told
	at     time.Duration // answer due, or next round
	candidates
}

// aim is why a node looks for a parent.
type aim struct {
	moving  bool // there is a parent still: keep it until another one answers
	better  bool // moving to a better parent, by what was measured
	sent    bool // the parent asked it to make room
	pressed bool // the same, wherever there is a place that is not plainly bad
	among   bool // only neighbours are asked for a place
}

// candidates are who is to be asked, and who was.
type candidates struct {
	todo   []overlay.ID
	tried  []overlay.ID
	routed bool // the next hop was among the candidates
	looked bool // so were a lookup's results
	again  bool // who was busy was asked again
	round  int32
}

// seekParent starts a search with the candidates given.
func (n *Node) seekParent(g *group, todo []overlay.ID, moving bool) {
	n.touch(g)
	round := g.seek.round
	g.seek = seek{on: true, aim: aim{moving: moving}, candidates: candidates{todo: slices.Clone(todo), round: round}}
	n.seekNext(g)
}

// seekWithout starts a search in which a node that is dead for this one, if
// not yet for the overlay, is not asked.
func (n *Node) seekWithout(g *group, dead overlay.ID, todo []overlay.ID) {
	n.touch(g)
	g.seek = seek{on: true, candidates: candidates{todo: todo, tried: []overlay.ID{dead}, round: g.seek.round}}
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
	if n.crowded() {
		s.todo = n.knownFirst(s.todo)
	}
	for len(s.todo) > 0 && len(s.tried) < s.most() {
		id := s.todo[0]
		s.todo = s.todo[1:]
		if id == n.self || id == "" || id == g.place.parent && (s.sent || !s.among) || s.moving && n.avoids(g, id) || slices.Contains(s.tried, id) || n.passes(g, id) {
			continue
		}
		s.tried = append(s.tried, id)
		return id, true
	}
	return "", false
}

// most is how many are asked in one round: few by who was told to go, since its parent may take
// nobody else until it knows.
func (s *seek) most() int {
	if s.pressed || s.sent && !s.among {
		return wayMost
	}
	return pullMax
}

// routeTo returns the next hops toward the root. A leaf is in nobody's routing
// table: for it every node is closer.
func (n *Node) routeTo(g *group) []overlay.ID {
	if hop, ok := n.router.NextHop(g.id.Key()); ok {
		return []overlay.ID{hop}
	}
	if n.cfg.Leaf {
		return slices.Clone(n.router.Closest(g.id.Key(), n.cfg.Replicas))
	}
	return nil
}

func (n *Node) ask(g *group, id overlay.ID) {
	n.edges++
	s := &g.seek
	s.target, s.edge, s.at = id, n.edges, n.step.now+n.jitter(n.cfg.Patience, 0.1)
	s.asked = n.step.now
	n.sendJoin(g)
}

func (n *Node) sendJoin(g *group) {
	own := n.standing(g)
	g.seek.told = own.load()
	m := &Message{Type: Join, Group: g.id, Edge: g.seek.edge, Ver: uint64(g.seek.round), Heads: g.cursor(), Self: &own}
	if !g.seek.moving {
		m.Flags |= Detached
	}
	m.Flags |= n.onlyAsks(g, g.seek.target)
	if g.seek.better {
		n.sayWhy(g, g.seek.target, m)
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
	case s.target != "", s.moving:
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
	case g.place.top && n.publishes(g) && !n.cfg.Leaf:
		n.nameRoot(g, closer, ok)
	case g.place.top && len(closer) == 0:
		n.keepTop(g)
	case g.place.top:
		n.seekParent(g, closer, false)
		g.seek.routed, g.seek.looked = true, true
	case !ok && len(n.router.Closest(g.id.Key(), 1)) > 0 && s.round < 3:
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
		if id != n.self && (n.cfg.Leaf || g.id.Key().Closer(id.Key(), own)) {
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
		better, sent, among := s.better, s.sent || s.pressed, s.among
		g.seek = seek{}
		switch {
		case better:
			n.tuned(g, false)
		case sent:
			n.stay(g)
		case among:
			n.sendUp(g)
		}
	case g.place.top:
		n.keepTop(g)
	case s.alive || n.cfg.Leaf:
		n.pause(g)
	default:
		n.becomeTop(g)
	}
}

// pause waits, longer each time, before the next round.
func (n *Node) pause(g *group) {
	s := &g.seek
	wait, apart := min(retryFrom<<min(s.round, 10), retryTo), n.apart(g)
	if apart {
		n.standApart(g)
		wait = min(apartFrom<<(2*min(s.round, 10)), apartTo)
	}
	g.seek = seek{on: true, candidates: candidates{round: s.round + 1}, at: n.step.now + n.jitter(wait, 0.5)}
	n.touch(g)
}

func (n *Node) onRefuse(g *group, from overlay.ID, m *Message) {
	s := &g.seek
	if !s.on || s.target != from || s.edge != m.Edge {
		return
	}
	if m.Self != nil {
		n.learnRTT(from, m.Self.At, n.rtt(from, s.asked))
	}
	if m.Reason != Closing && m.Reason != NoDirect {
		s.alive = true
	}
	if s.sent && m.Reason == Busy && !s.again {
		n.askLater(g)
		return
	}
	if !s.better && (m.Reason == Full || m.Reason == Closing || m.Reason == NoDirect) {
		s.todo = append(slices.Clone(m.Peers), s.todo...)
	}
	n.seekNext(g)
}

// busyFor is how long one that is moving mostly takes.
const busyFor = 300 * time.Millisecond

// askLater asks the target once more when it has moved, as it must not be followed meanwhile:
// it keeps the place.
func (n *Node) askLater(g *group) {
	s := &g.seek
	s.putBack(s.target)
	s.again, s.target, s.at = true, "", n.step.now+n.jitter(busyFor, 0.25)
	n.touch(g)
}

// putBack makes one that was asked the next candidate.
func (s *seek) putBack(id overlay.ID) {
	s.tried = slices.DeleteFunc(s.tried, func(t overlay.ID) bool { return t == id })
	s.todo = append([]overlay.ID{id}, s.todo...)
}
