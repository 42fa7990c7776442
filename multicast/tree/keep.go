package tree

import (
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A child that makes room for a newcomer mostly goes to where that one hung before. In a
// third of these cases somebody had come there first, and it ended anywhere, with all
// below it. So a newcomer tells the parent it leaves who is to have its place, and that
// one keeps it for a moment: it counts as if the child were there already. That holds in the
// middle of another swap too, in which a child is to go from there: were the place counted as
// free, that swap would be content with it. In a tree of 62,500 a quarter of the children of heavy
// nodes that were sent to such a place stayed, mostly because it was full by then, and each of
// them left a node with a child too many. Who lies about it leaves a place, and it stays free
// for a second.

const keepFor = time.Second

// reserved is a place that somebody was sent to.
type reserved struct {
	who   overlay.ID
	until time.Duration
}

// heir is the child that is to have the place where the newcomer hung; empty: it goes elsewhere.
func (s *swap) heir() overlay.ID {
	if s.deal.old != "" && len(s.to) > 0 && s.to[0] == s.deal.old {
		return s.victim
	}
	return ""
}

// bequest is what a node that was adopted tells the parent that it leaves.
func bequest(ack *Message) Message {
	if ack.Flags&Confirm != 0 && ack.Reason == Moved && len(ack.Peers) > 0 {
		return Message{Flags: Confirm, Peers: ack.Peers[:1:1]}
	}
	return Message{}
}

// keepPlace keeps the place of a child that leaves, if it says for whom.
func (n *Node) keepPlace(g *group, m *Message) {
	if m.Type == Leave && m.Flags&Confirm != 0 && len(m.Peers) > 0 {
		g.links.filled().kept = reserved{m.Peers[0], n.step.now + keepFor}
	}
}

// keptFrom is how many places are kept from a node: one, or none.
func (n *Node) keptFrom(g *group, id overlay.ID) int {
	if who := n.keptFor(g); who != "" && who != id {
		return 1
	}
	return 0
}

// keptFor is for whom a place is kept; empty: for nobody.
func (n *Node) keptFor(g *group) overlay.ID {
	if f := g.links.full; f != nil && n.step.now < f.kept.until {
		return f.kept.who
	}
	return ""
}

// fullFor reports whether there is no place for a joiner but the one that swaps use. Who was
// sent gets that one too while a child is to make room here. Who has no parent takes what is
// kept for others.
func (n *Node) fullFor(g *group, joiner overlay.ID, detached bool) bool {
	have, most := len(g.links.children), n.cfg.Children-n.spare()
	switch s := g.links.swap; {
	case detached:
	case n.keptFor(g) != joiner:
		have += n.keptFrom(g, joiner)
	case s != nil && s.stage >= coming:
		most = n.cfg.Children
	}
	return have >= most
}

// taken ends that once the child has come.
func (l *links) taken(id overlay.ID) {
	if l.full != nil && l.full.kept.who == id {
		l.full.kept = reserved{}
	}
}
