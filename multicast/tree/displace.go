package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// heavy is what a joiner without a parent has to bring along for a child to be
// sent away.
const heavy = 8

// swap is a child making room for another one. It is asked first where else it could
// be, and keeps its place until the newcomer has said that it is there: at any time
// everybody has a parent.
type swap struct {
	by     overlay.ID // the newcomer
	join   Message    // and what it asked
	deal   bargain
	asked  []overlay.ID // children that are measuring where else they could be
	best   float64      // how the sum of delays changes by sending the victim away
	victim overlay.ID
	to     []overlay.ID // where the victim is sent, best first
	stage  stage
	until  time.Duration
	stayed []overlay.ID // victims that found no place
}

// stage is how far a swap has come.
type stage uint8

const (
	asking  stage = iota // children measure
	coming               // the newcomer was adopted
	going                // it has come, and the victim was asked to go
	pressed              // nobody went, and one after the other is told to go to any place that is not plainly bad
	resting              // nobody could
)

// spare is how many places of a full node only swaps may use, for as long as
// they take. A node with very few children has none, and makes no swaps.
func (n *Node) spare() int {
	if n.cfg.Children < 8 {
		return 0
	}
	return 1
}

// displace decides whether a full node takes a joiner all the same. It may send
// one child away, to below the joiner or to the place that the joiner leaves or to
// another child, if the delays of all nodes concerned, each counted by the nodes below
// it, add up to less then. Estimates only propose children for that: those that seem to
// lose least are asked to measure it, and the joiner waits for its answer. One without a
// parent is not kept waiting.
func (n *Node) displace(g *group, from overlay.ID, m *Message) (takes, waits bool) {
	if !n.mayDisplace(g, from, m) {
		return false, false
	}
	b := n.bargain(g, from, m)
	var room [childrenUsual]victim
	vs := n.victims(g, &b, room[:0])
	if len(vs) == 0 {
		return false, false
	}
	if g.links.swap != nil {
		return false, b.moving && n.await(g, from, m, vs[0].change)
	}
	s := &swap{by: from, join: *m, deal: b, best: -b.least()}
	g.links.swap = s
	if !b.moving {
		s.victim, s.to = vs[0].id, openOf(n.places(g, &b, vs[0].child))
		s.stage, s.until = coming, n.step.now+n.cfg.Patience
		return true, false
	}
	s.until = n.step.now + askWait
	vs = vs[:min(len(vs), askMost)]
	s.asked = make([]overlay.ID, 0, len(vs))
	for _, v := range vs {
		s.asked = append(s.asked, v.id)
		p := n.places(g, &b, v.child)
		n.drop(g, v.child, Message{Flags: Confirm, Reason: Moved, Peers: p.to, Posts: p.posts})
	}
	return false, true
}

// mayDisplace reports whether this node can weigh a joiner against its children, and
// has time to.
func (n *Node) mayDisplace(g *group, from overlay.ID, m *Message) bool {
	own := m.Self
	switch {
	case n.spare() == 0 || !g.place.attached || n.tooMany(from):
		return false
	case g.links.swap != nil && g.links.swap.stage == resting:
		return false
	case g.links.swap == nil && (len(g.links.children)+n.keptFrom(g, from) >= n.cfg.Children || int(n.held) >= n.allChildren()):
		return false
	case own == nil || own.Weight == 0 || m.RTT == 0 && !own.At.Known():
		return false
	}
	return m.Flags&Detached == 0 || own.Weight >= heavy && own.At.Known()
}

// victim is a child whose going seems to serve the tree.
type victim struct {
	*child
	change float64 // of the sum of delays, by estimate
}

// victims appends to vs the children that might make room, those that seem to lose least first.
func (n *Node) victims(g *group, b *bargain, vs []victim) []victim {
	for i := range g.links.children {
		c := &g.links.children[i]
		if change, ok := n.estimate(g, b, c); ok && change < b.hope() {
			vs = append(vs, victim{c, change})
		}
	}
	slices.SortStableFunc(vs, func(a, b victim) int { return cmp.Compare(a.change, b.change) })
	return vs
}

// mightSwap reports whether a joiner has a chance although this node is full.
func (n *Node) mightSwap(g *group, from overlay.ID, m *Message) bool {
	if !n.mayDisplace(g, from, m) {
		return false
	}
	b := n.bargain(g, from, m)
	for i := range g.links.children {
		if change, ok := n.estimate(g, &b, &g.links.children[i]); ok && change < b.hope() {
			if g.links.swap == nil || b.moving && g.links.mayWait(change) {
				return true
			}
		}
	}
	return false
}

// measured takes a child's answer: how it would stand where it could go.
func (n *Node) measured(g *group, from overlay.ID, m *Message) {
	s := g.links.swap
	if s != nil && s.stage >= going && s.victim == from && len(m.Peers) == 0 {
		n.swapDue(g) // it stays
		return
	}
	if s == nil || s.stage != asking {
		return
	}
	at := slices.Index(s.asked, from)
	if at < 0 {
		return
	}
	s.asked = slices.Delete(s.asked, at, at+1)
	if len(m.Peers) > 0 && len(m.Posts) == len(m.Peers) {
		c, delay := &g.links.children[g.child(from)], m.Posts[0].Delay
		if change := s.deal.change(c, delay); change < s.best && !n.strays(g, c, delay) {
			s.best, s.victim, s.to = change, from, m.Peers
		}
	}
	if len(s.asked) == 0 {
		n.conclude(g)
	}
}

// strays reports whether a child would come to hang plainly badly: those below it must not
// pay for all that heavier ones gain, however few they are. Nor for what others may gain by
// a newcomer's room.
func (n *Node) strays(g *group, c *child, delay time.Duration) bool {
	if g.links.swap.deal.credit > 0 {
		return delay > c.stand.Delay+c.stand.Delay/4
	}
	return delay > c.stand.Delay && astray(delay, n.topAt(g), c.stand.At)
}

// topAt is where the top is, as far as this node knows.
func (n *Node) topAt(g *group) Coord {
	switch {
	case g.place.top:
		return n.at.Coord
	case len(g.place.stands) > 0:
		return g.place.stands[0].At
	}
	return Coord{}
}

// conclude answers a joiner that waited for children to measure.
func (n *Node) conclude(g *group) {
	s := g.links.swap
	from, m := s.by, &s.join
	why := n.mayAdopt(g, from, m)
	switch {
	case n.closed || !g.place.attached:
		why = Busy
	case why == Full && s.victim != "" && !n.cfg.Sparing && len(g.links.children)+n.keptFrom(g, from) < n.cfg.Children && int(n.held) < n.allChildren():
		s.stage, s.until = coming, n.step.now+n.cfg.Patience
		n.adopt(g, from, m)
		return
	}
	g.links.swap = nil
	n.touch(g)
	if why != 0 {
		n.refuse(from, m, why, n.downhill(g, from, m, why))
		return
	}
	n.adopt(g, from, m)
}

// confirmed goes on with a swap whose newcomer has come: the victim is asked to
// go, and leaves when the next parent has it.
func (n *Node) confirmed(g *group, newcomer overlay.ID) {
	s := g.links.swap
	if s == nil || s.by != newcomer || s.stage != coming {
		return
	}
	i := g.child(s.victim)
	if i < 0 {
		return
	}
	s.stage, s.until = going, n.step.now+2*n.cfg.Patience
	n.dismiss(g, i, Moved, s.to...)
}

// swapDue goes on with a swap that took too long, or ends it.
func (n *Node) swapDue(g *group) {
	s := g.links.swap
	switch {
	case s.stage == asking:
		n.conclude(g)
	case n.crowds(g):
		if !n.another(g) && !n.press(g) {
			n.recess(g)
		}
	default:
		g.links.swap = nil
		n.touch(g)
	}
}

// outOfSwap goes on without a child that is no more.
func (n *Node) outOfSwap(g *group, id overlay.ID) {
	s := g.links.swap
	switch {
	case s == nil:
	case s.stage == asking:
		s.asked = slices.DeleteFunc(s.asked, func(a overlay.ID) bool { return a == id })
		if s.victim == id {
			s.victim, s.best = "", -s.deal.least()
		}
		if n.keptFrom(g, "") == 0 {
			s.until = n.step.now // there may be room now
		}
		n.touch(g)
	case n.crowds(g): // who has left has an heir
		if s.victim == id {
			n.swapDue(g)
		}
	case s.by == id || s.victim == id || s.stage >= pressed:
		g.links.swap = nil
		n.touch(g)
	}
}

func (n *Node) dismiss(g *group, i int, why Reason, to ...overlay.ID) {
	n.drop(g, &g.links.children[i], Message{Reason: why, Peers: to})
}

// drop tells a child why it is to go, where, and how: all that m says.
func (n *Node) drop(g *group, c *child, m Message) {
	m.Type, m.Group, m.Edge = Drop, g.id, c.edge
	n.send(c.id, &m)
}

// makeWay is the victim's part: it moves to where it was sent, and keeps the
// parent until it has another. One that is moving anyway says that it stays: it may not get
// there, and another one is sooner asked than waited for.
func (n *Node) makeWay(g *group, to []overlay.ID) {
	if g.seek.on {
		n.stay(g)
		return
	}
	n.touch(g)
	g.tune.s = nil
	g.seek = seek{on: true, aim: aim{moving: true, sent: true}, candidates: candidates{todo: slices.Clone(to), routed: true, looked: true}}
	n.seekNext(g)
}
