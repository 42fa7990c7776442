package tree

import "time"

// A child that makes room for a newcomer often goes to where that one hung before. In a
// third of these cases somebody had come there first, and it ended anywhere, with all
// below it. So a newcomer tells the parent it leaves that its place is wanted, and that
// one keeps it for a moment from those that only look for a better one. Who lies about
// that leaves a place, and it stays free for a second.

const keepFor = time.Second

// vacates reports whether the swap under way sends its victim to where the newcomer hung.
func (s *swap) vacates() bool { return s.deal.old != "" && len(s.to) > 0 && s.to[0] == s.deal.old }

// wanted is what a node that was adopted tells the parent that it leaves.
func wanted(ack *Message) Flags {
	if ack.Flags&Confirm != 0 && ack.Reason == Moved {
		return Confirm
	}
	return 0
}

// keepPlace keeps the place of a child that has left, if it says that it is wanted.
func (n *Node) keepPlace(g *group, m *Message) {
	if m.Type == Leave && m.Flags&Confirm != 0 {
		g.links.filled().kept = n.step.now + keepFor
	}
}

// keeps reports whether the last place is kept from a joiner.
func (n *Node) keeps(g *group, m *Message) bool {
	return m.Flags&Better != 0 && g.links.full != nil && n.step.now < g.links.full.kept && n.room(g) <= 1
}

// taken ends that once somebody has come who was sent.
func (l *links) taken(m *Message) {
	if m.Flags&(Better|Detached) == 0 && l.full != nil {
		l.full.kept = 0
	}
}
