package tree

import (
	"math"
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// A child that was asked to make room may find that others have come first wherever it was
// sent, and on from there it would end far away, with all below it. So it stays, and says
// so; another child is asked in its stead, at any price now: the newcomer is there, and
// the place that swaps use is taken. Only where several of them stay one is told to take any
// place there is, and is cut once it has had the time to find one. Cut at once it would have
// no parent until then: of a million nodes there were some such at any moment, and what is
// published at that moment comes late to them. Who lies about that keeps the place that it has.

const stayMost = 3 // others that are asked, one after the other

// poor reports whether a place to which a child was sent on is plainly worse than the one
// that its parent wants back, or deeper than by the hop that may be borne.
func (n *Node) poor(g *group, ack *Message) bool {
	if len(ack.Path)+int(g.height()) > n.depthLimit(g)+1 {
		return true
	}
	stands := standsOf(ack)
	if len(stands) == 0 {
		return false
	}
	own := n.delay(g)
	delay := stands[len(stands)-1].Delay + n.rtt(g.seek.target, g.seek.asked)/2 + hopCost
	return delay > own+own/4 && astray(delay, stands[0].At, n.at.Coord)
}

// stay tells the parent that there is no place to go to.
func (n *Node) stay(g *group) {
	m := n.load(g)
	m.Flags = Confirm
	n.send(g.place.parent, &m)
}

// crowds reports whether a child still has to make room for one that has come.
func (n *Node) crowds(g *group) bool {
	s := g.links.swap
	return s.stage >= going && g.child(s.victim) >= 0 && len(g.links.children) > n.cfg.Children-n.spare()
}

// another asks another child to make room. It reports whether there is one to ask.
func (n *Node) another(g *group) bool {
	s := g.links.swap
	s.stayed = append(s.stayed, s.victim)
	if len(s.stayed) > stayMost {
		return false
	}
	i, to := n.losesLeast(g, s)
	if i < 0 {
		return false
	}
	s.victim, s.to, s.until = g.links.children[i].id, []overlay.ID{to}, n.step.now+2*n.cfg.Patience
	n.dismiss(g, i, Moved, to)
	n.touch(g)
	return true
}

// press tells the child that was asked last to go wherever it can.
func (n *Node) press(g *group) {
	s := g.links.swap
	s.stage, s.until = pressed, n.step.now+2*n.cfg.Patience
	c := &g.links.children[g.child(s.victim)]
	n.send(c.id, &Message{Type: Drop, Flags: Crowded, Group: g.id, Edge: c.edge, Reason: Full,
		Peers: append(slices.Clone(s.to), n.lightest(g, s.victim)...)})
	n.touch(g)
}

// goAnywhere is the child's part: it looks for any other place, and keeps the parent until it
// has one.
func (n *Node) goAnywhere(g *group, to []overlay.ID) {
	if !g.seek.on {
		g.tune.s = nil
		n.seekParent(g, append(slices.Clone(to), above(g.place.path)...), true)
	}
}

// losesLeast is the child that seems to lose least below a sibling with room, and which one
// that is; -1: there is none.
func (n *Node) losesLeast(g *group, s *swap) (victim int, to overlay.ID) {
	victim, least := -1, math.Inf(1)
	for i := range g.links.children {
		c := &g.links.children[i]
		if c.id == s.by || slices.Contains(s.stayed, c.id) || len(g.place.path)+2+int(c.stand.Height) > n.depthLimit(g) {
			continue
		}
		for j := range g.links.children {
			o := &g.links.children[j]
			if j == i || o.stand.Room == 0 {
				continue
			}
			delay := n.below(&o.stand, c.stand.At, c.stand.Weight)
			if loss := float64(max(c.stand.Weight, 1)) * float64(delay-c.stand.Delay); loss < least {
				victim, least, to = i, loss, o.id
			}
		}
	}
	return victim, to
}
