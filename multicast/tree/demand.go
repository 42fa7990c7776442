package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Near the top many nodes with much below them would stand better with a node that is
// full, and none by so much that one of its children had better go. What helps all of them
// is somebody next door: it has nothing below it and brings fifteen places, a hop away.
// By its own weight it would never get in. So a full node remembers whom it refused, and
// what they would gain by the room that a newcomer brings counts for the newcomer.
//
// That is hearsay: who lies about what is below it can make a child of a full node go to
// below a newcomer next door, a quarter longer a way at most, for as long as the lie is
// remembered.

// want is one who asked a full node in vain.
type want struct {
	id   overlay.ID
	own  Standing
	gain float64       // by a place here, in node·µs
	when time.Duration // it asked
}

const (
	wantMost = 12
	wantFor  = 40 * time.Second

	doorPart   = 5       // next door is who is so many times nearer than others are in the mean,
	doorSample = 6       // of whom one has to know so many,
	doorAsks   = 3000    // and by this chance, shared by all nodes, it asks there however little is below it,
	doorMost   = 1. / 16 // at most
)

// regret remembers one who asked in vain, if it would gain by a place here: those that
// would gain most.
func (n *Node) regret(g *group, from overlay.ID, m *Message) {
	s := m.Self
	if n.spare() == 0 || n.room(g) > 0 || s == nil || s.Weight == 0 || !s.At.Known() || m.Flags&Detached != 0 {
		return
	}
	l := g.links.filled()
	l.wants = slices.DeleteFunc(l.wants, func(o want) bool { return o.id == from || n.step.now-o.when > wantFor })
	w := want{id: from, own: *s, when: n.step.now}
	if w.gain = w.by(n.delay(g), n.at.Coord); w.gain <= 0 {
		return
	}
	if len(l.wants) < wantMost {
		l.wants = append(l.wants, w)
		return
	}
	least := 0
	for i := range l.wants {
		if l.wants[i].gain < l.wants[least].gain {
			least = i
		}
	}
	if l.wants[least].gain < w.gain {
		l.wants[least] = w
	}
}

// by is what it and those below it gain if it hangs below one there that has a delay, in
// node·µs.
func (w *want) by(delay time.Duration, there Coord) float64 {
	return float64(w.own.Weight) * float64(w.own.Delay-delay-there.RTT(w.own.At)/2-hopCost) / float64(time.Microsecond)
}

// demand is what those who asked in vain would gain by the room of a newcomer next door,
// less one place for the child that goes.
func (n *Node) demand(g *group, b *bargain) float64 {
	if !b.moving || b.self.Room < 2 || g.links.full == nil || len(g.links.full.wants) == 0 || !n.handy(g, b) {
		return 0
	}
	var room [wantMost]float64
	gains := room[:0]
	for i := range g.links.full.wants {
		w := &g.links.full.wants[i]
		if d := w.by(b.now, b.self.At); w.id != b.from && d > 0 && n.step.now-w.when <= wantFor {
			gains = append(gains, d)
		}
	}
	slices.SortFunc(gains, func(a, b float64) int { return cmp.Compare(b, a) })
	var sum float64
	for _, d := range gains[:min(len(gains), int(b.self.Room)-1)] {
		sum += d
	}
	return sum
}

// handy reports whether a joiner is next door: the way over it is longer by no more than
// a part of what the way to the children takes in the mean.
func (n *Node) handy(g *group, b *bargain) bool {
	if !b.self.At.Known() || !n.at.Known() {
		return false
	}
	var sum time.Duration
	own := n.delay(g)
	for i := range g.links.children {
		sum += max(g.links.children[i].stand.Delay-own, 0)
	}
	return doorPart*detour(n.at.Coord, b.self.At, b.way)*time.Duration(len(g.links.children)) < sum
}

// detour is how much longer a way becomes by leading from a over b, a step that takes so
// long: both ways of b's access link, once a's less.
func detour(a, b Coord, step time.Duration) time.Duration {
	return step + time.Duration(b.Height-a.Height)*time.Microsecond/2
}

// doorOdds is the chance with which this node may ask a candidate that it lives next door
// to; 0: it does not. The larger the tree, the more do.
func (n *Node) doorOdds(g *group, c *candidate) float64 {
	if !n.nextDoor(g, c) {
		return 0
	}
	return min(doorAsks/float64(max(g.size(), 1)), doorMost)
}

// nextDoor reports whether this node would be nearly as good a parent to others as a
// candidate is: most live much farther away, as its lazy links do.
func (n *Node) nextDoor(g *group, c *candidate) bool {
	if n.room(g) < 2 || !n.at.Known() || !c.stand.At.Known() {
		return false
	}
	way := detour(c.stand.At, n.at.Coord, n.wayTo(c))
	if doorPart*way > n.delay(g)-c.stand.Delay {
		return false
	}
	known, sum := 0, time.Duration(0)
	for _, p := range g.links.lazy {
		if d, ok := n.router.RTT(p.id); ok {
			known++
			sum += d / 2
		}
	}
	return known >= doorSample && doorPart*way*time.Duration(known) < sum
}
