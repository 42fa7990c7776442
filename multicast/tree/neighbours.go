package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A node keeps Config.Neighbours peers at most, over all its groups: each costs a
// connection and keep-alives, and the more there are, the later a silent one is found. So
// they are chosen for what they share. Once there are so many, lazy links and better
// places are sought among those that are neighbours already, and a parent or a child that
// is not replaces one with whom there are lazy links alone.
//
// Where every neighbour is somebody's parent or child, a joiner is sent on to those below,
// or above. A member asks only who is in the tree, and joins whoever of these it knows
// already. If it knows none it stays apart: events come to it by what its application
// polls, as they do where nobody publishes, and it looks around again ever more seldom.
// Publishers, and those with others below, are never apart: they take one neighbour more,
// and let go of another that is only the parent of one feed, or else of one for which others
// can be found (letgo.go).

const (
	apartFrom = 20 * time.Second // a member that is apart looks around again after this; four times as late each time, up to
	apartTo   = 4 * time.Hour
	apartAsks = 8  // strangers asked who is in the tree
	namesMost = 32 // of neighbours, told to who asks that
)

// tooMany reports whether a peer would be one neighbour too many.
func (n *Node) tooMany(id overlay.ID) bool {
	return n.crowded() && !n.stays(id)
}

// stays reports whether a peer is a neighbour, and not one that is being let go of.
func (n *Node) stays(id overlay.ID) bool {
	return n.pair(id) != nil && (n.letting == nil || n.letting.id != id)
}

func (n *Node) crowded() bool { return len(n.pairs.all) >= n.cfg.Neighbours }

// loosest is the neighbour with the fewest lazy links and no edge; nil: all have one.
func (n *Node) loosest() *pair {
	var least *pair
	for _, p := range n.pairs.all {
		if !p.holds() && (least == nil || len(p.ties()) < len(least.ties())) {
			least = p
		}
	}
	return least
}

// holds reports whether the neighbour is a parent or a child in some group.
func (p *pair) holds() bool {
	return slices.ContainsFunc(p.ties(), func(t tie) bool { return t.edges > 0 })
}

// makeRoom lets go of neighbours for one with whom there will be an edge in a group: of those
// with whom there are lazy links alone, and where that is not enough of the one who has
// least in common with this node and can be done without.
func (n *Node) makeRoom(wanted *group) {
	for p := n.loosest(); p != nil && n.crowded(); p = n.loosest() {
		n.part(p)
	}
	if n.crowded() {
		if p := n.leastShared(wanted); p != nil {
			n.part(p)
		}
	}
}

// thin lets go of one that was needed until now, where there are too many. It is not who has
// just come: nobody else would have that one, and it would come again at once.
func (n *Node) thin(but overlay.ID) {
	if len(n.pairs.all) > n.cfg.Neighbours {
		if p := n.leastShared(nil); p != nil && p.id != but {
			n.part(p)
		}
	}
}

// leastShared is the neighbour that shares the fewest groups, of those that can be done
// without in each of them; nil: none can. One whose going may make two trees of one comes
// after all others.
func (n *Node) leastShared(wanted *group) *pair {
	var least *pair
	splits := false
	for _, p := range n.pairs.all {
		if least != nil && !splits && len(p.ties()) >= len(least.ties()) {
			continue
		}
		if slices.ContainsFunc(p.ties(), func(t tie) bool { return t.g == wanted || !n.dispensable(t.g, p.id) }) {
			continue
		}
		if two := n.splits(p); least == nil || splits && !two || splits == two && len(p.ties()) < len(least.ties()) {
			least, splits = p, two
		}
	}
	return least
}

// dispensable reports whether a group gets on without a neighbour: this node is there for
// itself alone, or somebody else is there for the child that it is.
func (n *Node) dispensable(g *group, id overlay.ID) bool {
	switch {
	case g.place.parent == id:
		return n.alone(g) && !g.seek.on
	case g.child(id) >= 0:
		return g.place.parent != "" || len(g.links.children) > 1
	}
	return true
}

// part ends all that there is with a neighbour. Where it was the parent another one is
// sought among those that stay, a child is told who else is in the tree.
func (n *Node) part(p *pair) {
	for len(p.ties()) > 0 {
		g := p.ties()[len(p.ties())-1].g
		n.touch(g)
		switch i := g.child(p.id); {
		case g.place.parent == p.id:
			n.leaveParent(g)
			n.detach(g)
			n.pause(g)
		case i >= 0:
			n.dismiss(g, i, Full, n.others(g, p.id)...)
			if g.place.top && g.links.children[i].stand.Weight > 1 { // if it finds nobody it is another tree's top, and joins this one again
				g.duty.check = min(orNever(g.duty.check), n.step.now+n.jitter(rootCheck<<min(g.duty.lost, 10), 0.25))
				g.duty.lost++
			}
			n.cutChild(g, i)
			n.dropIfIdle(g)
		default:
			n.dropLazy(g, p.id, true)
		}
	}
}

// others lists the parent and some children, but for one of them.
func (n *Node) others(g *group, not overlay.ID) []overlay.ID {
	ids := n.lightest(g, not)
	if g.place.parent != "" {
		ids = append(ids, g.place.parent)
	}
	return ids
}

// alone reports whether this node is in a group for itself: nobody needs it there.
func (n *Node) alone(g *group) bool {
	return g.member && len(g.links.children) == 0 && !n.publishes(g)
}

// turnsAway reports whether a joiner would be one neighbour too many here. Where nobody is
// above or below that it could be sent to, it is taken; so is what joins the top with others
// below it, for that may be another tree.
func (n *Node) turnsAway(g *group, from overlay.ID, m *Message) bool {
	switch {
	case !n.tooMany(from):
		return false
	case m.Flags&Better != 0:
		return true
	case n.loosest() != nil, g.place.top && m.Self != nil && m.Self.Weight > 1:
		return false
	case len(g.links.children) > 0 || g.place.parent != "":
		return true
	}
	return !g.place.top && len(n.routeTo(g)) > 0
}

// inVain reports whether a joiner without a place is one neighbour too many here and came in
// vain before, here or elsewhere.
func (n *Node) inVain(g *group, from overlay.ID, m *Message) bool {
	return m.Ver > 0 && m.Flags&Detached != 0 && n.turnsAway(g, from, m)
}

// mayKeep reports whether one that has neighbours enough may hang below this node: it says
// that this is one of them, and this one is in the tree for itself.
func (n *Node) mayKeep(m *Message) bool {
	g := n.find(m.Group)
	return m.Flags&Confirm != 0 && g != nil && g.member
}

// onlyAsks qualifies a Join of one that has neighbours enough, and that to a parent which is
// asked who else there is.
func (n *Node) onlyAsks(g *group, to overlay.ID) Flags {
	s := &g.seek
	switch {
	case to == g.place.parent:
		return Crowded
	case s.among && !n.crowded(), !s.among && (s.moving || !n.apart(g)):
		return 0
	case n.stays(to):
		return Crowded | Confirm
	}
	return Crowded
}

// elsewhere is where a joiner is sent that was not adopted.
func (n *Node) elsewhere(g *group, from overlay.ID, m *Message, why Reason) []overlay.ID {
	ids := n.downhill(g, from, m, why)
	if len(ids) == 0 && why == Full && m.Flags&Better == 0 && !g.place.top {
		return n.routeTo(g)
	}
	return ids
}

// introduce tells a member that has too many neighbours who is in the tree here, or where
// to ask next. It is not adopted.
func (n *Node) introduce(from overlay.ID, m *Message) {
	var ids []overlay.ID
	g := n.find(m.Group)
	switch {
	case g != nil && (g.place.parent != "" || g.place.top):
		ids = n.neighbours(g)
	case g != nil && g.duty.aside != "":
		ids = []overlay.ID{g.duty.aside}
	default:
		if hop, ok := n.router.NextHop(m.Group.Key()); ok {
			ids = []overlay.ID{hop}
		}
	}
	n.refuse(from, m, Full, ids[:min(len(ids), namesMost)])
}

// apart reports whether there is no neighbour more to be had for a group that this node
// is in for itself alone.
func (n *Node) apart(g *group) bool {
	return n.crowded() && n.alone(g) && n.loosest() == nil
}

// standApart tells that a search ended without a place, as there are neighbours enough.
func (n *Node) standApart(g *group) {
	n.count.Apart++
	n.makeMore()
	if !g.apart {
		g.apart = true
		n.notice(Notice{Kind: Apart, Group: g.id})
	}
}

// found tells that there is one now.
func (n *Node) found(g *group) {
	if g.apart {
		g.apart = false
		n.notice(Notice{Kind: Found, Group: g.id})
	}
}

// roomAgain lets one group look around that this node stands apart from: a neighbour went.
func (n *Node) roomAgain() {
	if n.count.Apart == 0 || len(n.pairs.all) != n.cfg.Neighbours-1 {
		return
	}
	first := n.rng.IntN(len(n.order))
	for i := range n.order {
		g := n.order[(first+i)%len(n.order)]
		if n.lookAgain(g) {
			return
		}
	}
}

// lookAgain brings the next search forward of a group that this node stands apart from. It
// reports false if there is none to bring forward.
func (n *Node) lookAgain(g *group) bool {
	if !g.apart || !g.seek.on || g.seek.target != "" || g.seek.looking {
		return false
	}
	n.touch(g)
	g.seek.at = min(orNever(g.seek.at), n.step.now+n.jitter(retryFrom, 0.5))
	return true
}

// knownFirst moves those of the candidates to the front that are neighbours.
func (n *Node) knownFirst(ids []overlay.ID) []overlay.ID {
	var known, others []overlay.ID
	for _, id := range ids {
		if n.stays(id) {
			known = append(known, id)
		} else {
			others = append(others, id)
		}
	}
	return append(known, others...)
}

// passes reports whether a search does without a candidate that would be one neighbour
// too many: for a better place always, and for the first one once enough were asked.
func (n *Node) passes(g *group, id overlay.ID) bool {
	return n.declines(g, id) && (g.seek.better || len(g.seek.tried) >= apartAsks)
}

// declines reports whether a peer that would adopt this node would be one neighbour too
// many: there was room when it was asked, or there is only as much as the old parent leaves.
func (n *Node) declines(g *group, id overlay.ID) bool {
	s := &g.seek
	return n.tooMany(id) && (s.better || s.among || !s.moving && n.apart(g))
}

// askAgain asks one that was declined who is in the tree.
func (n *Node) askAgain(g *group, id overlay.ID) {
	if s := &g.seek; !s.better {
		s.putBack(id)
	}
	n.seekNext(g)
}
