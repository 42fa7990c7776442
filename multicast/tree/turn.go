package tree

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Copies leave a node in turn, so the child that is sent to last waits until all others are
// served, and all below it wait with it. A child's way counts that: its parent tells it its
// turn, and who looks for a parent counts the turn that it would have there. So subtrees
// that are served first become the larger ones, and a place below a node with few children
// is worth more than one below a node with many (Scribe §5 leaves out what sending costs).

const (
	// turnCost is what a copy takes that leaves before: one of 4 KB at 200 Mbit/s. What a
	// node's uplink really can do is not known to others, nor to itself. Three times as much
	// makes a tree better where sending costs much (serial RAD 1.78 for 1.84 at 100,000
	// nodes), and worse where it costs nothing (static RMD 1.13 for 1.09).
	turnCost = 150 * time.Microsecond
	// turnWay is how much farther away a child's last leaf has to be for it to have the
	// turn of one with e times as many nodes below.
	turnWay = 50 * time.Millisecond
)

// wait is how long so many copies take.
func wait(turn uint8) time.Duration { return time.Duration(turn) * turnCost }

// turnOf is the turn of who is sent to after so many.
func turnOf(before int) uint8 { return uint8(min(before, math.MaxUint8)) }

// served is a child and what its turn follows from.
type served struct {
	*child
	urge float64
}

// urge is by what a child has its turn, the greatest first. Were it only for the sum of all
// delays, the heaviest would go first; were it only for the last of all to hold an event,
// the one whose last leaf is farthest away.
func (n *Node) urge(c *child) float64 {
	return math.Log(float64(max(c.stand.Weight, 1))) + float64(n.down(c))/float64(turnWay)
}

// firstServed appends the children to cs in the order in which they are sent to.
func (n *Node) firstServed(g *group, cs []served) []served {
	for i := range g.links.children {
		c := &g.links.children[i]
		cs = append(cs, served{c, n.urge(c)})
	}
	slices.SortStableFunc(cs, func(a, b served) int { return cmp.Compare(b.urge, a.urge) })
	return cs
}

// turn is how many copies would leave before one's own if it were a child here.
func (n *Node) turn(g *group, comer *child) (before uint8) {
	own := n.urge(comer)
	for i := range g.links.children {
		if c := &g.links.children[i]; c.id != comer.id && n.urge(c) >= own && before < math.MaxUint8 {
			before++
		}
	}
	return before
}

// likelyTurn is the turn that one with so many nodes below it may expect where nothing is said
// of it: among so many children with as much below each.
func (n *Node) likelyTurn(s *Standing, weight uint32) uint8 {
	children := n.cfg.Children - n.spare() - int(s.Room)
	if s.Weight < 2 || children <= 0 {
		return 0
	}
	each := float64(s.Weight-1) / float64(children)
	return uint8(min(float64(children)*each/(each+float64(weight)), math.MaxUint8))
}

// below is the delay that one with so many nodes below it seems to have as a child of one
// that stands so.
func (n *Node) below(s *Standing, at Coord, weight uint32) time.Duration {
	return s.Delay + s.At.RTT(at)/2 + hopCost + wait(n.likelyTurn(s, weight))
}

// takeTurns settles the children's turns anew. It tells those whose turn has become another
// one by more than a move is worth.
func (n *Node) takeTurns(g *group) {
	if int(g.size()) <= n.cfg.Children { // nobody has a choice
		return
	}
	var room [childrenUsual]served
	var path []overlay.ID
	var stands []Standing
	for i, c := range n.firstServed(g, room[:0]) {
		turn := turnOf(i)
		if (wait(turn) - wait(c.turn)).Abs() > gainLeast {
			if path == nil {
				path, stands = n.pathDown(g), n.standsDown(g)
			}
			c.turn = turn
			g.place.sent++
			n.sendPath(g, c.child, path, stands)
		}
	}
}
