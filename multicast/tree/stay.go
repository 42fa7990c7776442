package tree

import (
	"math"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A child that was asked to make room may find that others have come first wherever it was
// sent, and on from there it would end far away, with all below it. So it stays, and says
// so; another child is asked in its stead, at any price now: the newcomer is there, and
// the place that swaps use is taken. Where several of them stay, one after the other is told to
// take any place there is that is not plainly bad, the lightest first; if nobody finds one, it
// all begins again a while later. Nobody is cut: of a million nodes some were without a parent
// by that at any moment, and others came to hang three hops too deep. Nor does anybody go
// wherever there is room: of another million a child 13 ms from the top went to its lightest
// sibling, 135 ms away, with 1,016 nodes below it. Who lies about it keeps the place that it has.

const (
	wayMost   = 8                // that a child asks which is to make room
	stayMost  = 3                // others that are asked, one after the other, before the rest is told to go
	recessFor = 10 * time.Second // until it begins again
)

// poor reports whether a place to which a child was sent on is plainly worse than the one
// that its parent wants back, or deeper than by the hop that may be borne. The depth of the place
// that it was sent to first its parent has weighed: if that is too deep, so was the newcomer there,
// and the swap lifts the heavier of the two. In a huge tree nobody goes there for that.
func (n *Node) poor(g *group, ack *Message) bool {
	s := &g.seek
	if weighed := s.sent && len(s.tried) == 1 && !g.huge(); !weighed && n.farTooDeep(g, ack) {
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

// farTooDeep reports whether whoever is deepest here would be too deep there by more than a hop,
// and deeper than the deepest of all below the parent is now: while a tree grows, all are. In a huge
// one somebody always is, and what counts is that it is deeper than here.
func (n *Node) farTooDeep(g *group, ack *Message) bool {
	most, above, deep := n.tooDeepMost(g), g.place.stands, len(ack.Path)+int(g.height())
	if g.huge() {
		return deep > most && len(ack.Path) > len(g.place.path)
	}
	if k := len(above); k > 0 {
		most = max(most, k-1+int(above[k-1].Height))
	}
	return deep > most
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
	return s.stage >= going && len(g.links.children)+n.keptFrom(g, "") > n.cfg.Children-n.spare()
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
	s.stage = going
	s.victim, s.to, s.until = g.links.children[i].id, []overlay.ID{to}, n.step.now+2*n.cfg.Patience
	n.dismiss(g, i, Moved, to)
	n.touch(g)
	return true
}

// press tells the child with the fewest nodes below it to go wherever it can: to those the
// place is worth least. It reports whether there is one that was not asked in vain.
func (n *Node) press(g *group) bool {
	s := g.links.swap
	var lightest *child
	for i := range g.links.children {
		c := &g.links.children[i]
		if c.id != s.by && !slices.Contains(s.stayed, c.id) && (lightest == nil || c.stand.Weight < lightest.stand.Weight) {
			lightest = c
		}
	}
	if lightest == nil {
		return false
	}
	s.stage, s.victim, s.to, s.until = pressed, lightest.id, nil, n.step.now+2*n.cfg.Patience
	n.drop(g, lightest, Message{Flags: Crowded, Reason: Full, Peers: n.lightest(g, s.victim)})
	n.touch(g)
	return true
}

// recess lets some time pass before children are asked again.
func (n *Node) recess(g *group) {
	s := g.links.swap
	s.stage, s.victim, s.to, s.stayed = resting, "", nil, nil
	s.until = n.step.now + n.jitter(recessFor, 0.25)
	n.touch(g)
}

// goAnywhere is the child's part: it looks for any other place, and keeps the parent until it
// has one.
func (n *Node) goAnywhere(g *group, to []overlay.ID) {
	if g.seek.on {
		n.stay(g)
		return
	}
	n.touch(g)
	g.tune.s = nil
	g.seek = seek{on: true, aim: aim{moving: true, pressed: true}, candidates: candidates{todo: append(slices.Clone(to), above(g.place.path)...)}}
	n.seekNext(g)
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
