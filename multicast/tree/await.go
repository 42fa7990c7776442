package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A node makes one swap at a time, and near the top it is busy with one nearly always:
// most who would serve the tree by coming would be sent away by chance. The best of those
// that come meanwhile wait for a moment. More swaps at a time were tried: twice as many
// came about, the tree was no better by it, and cost more. What counts is that the best
// come, not that many do.
//
// Who is best is an estimate from what they say is below them. Who lies about that takes
// the place of another for a second; whether it comes in is measured as ever.

const (
	awaitMost = 3
	awaitFor  = time.Second // of the patience of who waits, which is two
)

// awaiting is a joiner that waits until the swap under way is over.
type awaiting struct {
	from   overlay.ID
	join   Message
	change float64 // of the sum of delays if it comes, by estimate
	until  time.Duration
}

// mayWait reports whether a joiner whose coming changes the sum of delays by so much may
// wait: fewer do, or it serves the tree better than one of them.
func (l *links) mayWait(change float64) bool {
	waiting := l.awaiting()
	return len(waiting) < awaitMost || change < waiting[len(waiting)-1].change
}

// await lets a joiner wait, in the place of the worst if need be.
func (n *Node) await(g *group, from overlay.ID, m *Message, change float64) bool {
	l := g.links.filled()
	l.awaiting = slices.DeleteFunc(l.awaiting, func(a awaiting) bool { return a.from == from })
	if !g.links.mayWait(change) {
		return false
	}
	at := slices.IndexFunc(l.awaiting, func(a awaiting) bool { return change < a.change })
	if at < 0 {
		at = len(l.awaiting)
	}
	l.awaiting = slices.Insert(l.awaiting, at, awaiting{from, *m, change, n.step.now + awaitFor})
	if len(l.awaiting) > awaitMost {
		n.refuse(l.awaiting[awaitMost].from, &l.awaiting[awaitMost].join, Busy, nil)
		l.awaiting = slices.Delete(l.awaiting, awaitMost, awaitMost+1)
	}
	return true
}

// admit lets those that wait come, the best first, until another swap is under way.
// Whose time is over goes.
func (n *Node) admit(g *group) {
	l := g.links.filled()
	l.awaiting = slices.DeleteFunc(l.awaiting, func(a awaiting) bool {
		over := a.until <= n.step.now
		if over {
			n.refuse(a.from, &a.join, Busy, nil)
		}
		return over
	})
	for g.links.swap == nil && len(l.awaiting) > 0 {
		a := l.awaiting[0]
		l.awaiting = slices.Delete(l.awaiting, 0, 1)
		n.onJoin(a.from, &a.join)
	}
	if len(l.awaiting) == 0 {
		l.awaiting = nil // long ones, and nobody waits for hours
	}
}
