package live

import (
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// When the neighbours are counted: soon after something that may have changed
// them, together with what else changes then, and now and again in any case.
const (
	auditSoon = 500 * time.Millisecond
	auditIdle = 15 * time.Second
)

// neighbours are the peers whose connections the overlay was asked to keep.
// The set is compared with the node's own status rather than followed message
// by message, so it cannot drift from it. Only the loop touches it.
type neighbours struct {
	kept map[overlay.ID]bool
	due  time.Duration // of the next comparison
	soon bool          // something may have changed
}

// note looks for signs in a step that neighbours changed.
func (n *neighbours) note(now time.Duration, in tree.Input, out *tree.Outbox) {
	if n.soon {
		return
	}
	n.soon = in.Kind == tree.Gone || in.Kind == tree.LeaveGroup || in.Kind == tree.Receive && moves(in.Msg) || len(out.Notices) > 0
	for i := 0; i < len(out.Sends) && !n.soon; i++ {
		n.soon = moves(out.Sends[i].Msg)
	}
	if n.soon {
		n.due = min(n.due, now+auditSoon)
	}
}

// moves reports whether a message may make or end an edge or a link.
func moves(m *tree.Message) bool {
	switch m.Type {
	case tree.Join, tree.Ack, tree.Refuse, tree.Leave, tree.Drop, tree.Link, tree.Linked, tree.Unlink, tree.Sync:
		return true
	}
	return false
}

// audit tells the overlay which neighbours came and went, if it is time to.
func (l *Loop) audit() {
	n, now := &l.kept, l.now()
	if now < n.due {
		return
	}
	is := make(map[overlay.ID]bool)
	for _, s := range l.Status() {
		if s.Parent != "" {
			is[s.Parent] = true
		}
		for _, ids := range [][]overlay.ID{s.Children, s.Lazy} {
			for _, id := range ids {
				is[id] = true
			}
		}
	}
	for id := range is {
		if !n.kept[id] {
			l.overlay.Keep(id, true)
		}
	}
	for id := range n.kept {
		if !is[id] {
			l.overlay.Keep(id, false)
		}
	}
	n.kept, n.due, n.soon = is, now+auditIdle, false
	l.gate.expire(time.Now())
}

// releaseAll lets go of every connection.
func (l *Loop) releaseAll() {
	for id := range l.kept.kept {
		l.overlay.Keep(id, false)
	}
	l.kept.kept = nil
}
