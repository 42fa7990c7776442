package tree

import (
	"cmp"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Standing is what a node tells about its place in one tree. It is hearsay: it
// proposes whom to ask, and what is measured decides.
type Standing struct {
	Delay  time.Duration // from the top, the sum of the edges' one-way delays, hopCost each, and turns
	Weight uint32        // nodes in the subtree, this one included; 0: nothing is known
	Height uint8         // edges down to its deepest leaf
	Room   uint8         // children it could take
	Far    uint16        // the way down to the last leaf, in tenths of a millisecond
	At     Coord
}

// hopCost is what a hop takes beside the way: verifying, and copies that leave
// in turn.
const hopCost = 2 * time.Millisecond

// strangerCost is what a forwarder that is no member adds to its delay, so that
// members rather hang below each other and it can go.
const strangerCost = 20 * time.Millisecond

// fewChildren is how many places a node offers beside two for each group it is a
// member of.
const fewChildren = 20

// standing is this node's own.
func (n *Node) standing(g *group) Standing {
	return Standing{Delay: n.delay(g), Weight: g.weight(), Height: g.height(), Room: n.room(g), Far: g.far, At: n.at.Coord}
}

// way is what the hop between this node and one at a place takes: half of the round trip
// that was measured, or if none was, of the one that coordinates say.
func (n *Node) way(rtt time.Duration, there Coord) time.Duration {
	if rtt == 0 && n.at.Known() && there.Known() {
		rtt = n.at.RTT(there)
	}
	return rtt/2 + hopCost
}

// delay is how long an event takes from the top to here.
func (n *Node) delay(g *group) time.Duration {
	if k := len(g.place.stands); k > 0 && g.place.parent != "" {
		d := g.place.stands[k-1].Delay + g.place.rtt/2 + hopCost + wait(g.place.turn)
		if !g.member {
			d += strangerCost
		}
		return d
	}
	return 0
}

// allChildren is how many children the node takes over all its groups. A tree
// needs about one place for each member, so who is in many groups offers many.
func (n *Node) allChildren() int {
	if n.cfg.AllChildren > 0 {
		return n.cfg.AllChildren
	}
	return fewChildren + 2*int(n.member)
}

// fairChildren is how many of them it takes for no more than a better delay. Whoever
// serves one feed to the full serves no other so, and what nodes send is even.
func (n *Node) fairChildren() int {
	if n.cfg.AllChildren > 0 {
		return n.cfg.AllChildren
	}
	return max(n.cfg.Children, int(n.member+n.member/2))
}

func (n *Node) room(g *group) uint8 {
	if n.cfg.Leaf || n.cfg.Sparing {
		return 0
	}
	left := n.fairChildren() - int(n.held)
	if left <= 0 && int(n.held) < n.allChildren() {
		left = 1 // for who has no place at all
	}
	free := min(n.cfg.Children-n.spare()-len(g.links.children)-n.keptFrom(g, ""), left)
	return uint8(min(max(free, 0), 255))
}

// weight counts the nodes of the subtree, as far as the children told.
func (g *group) weight() uint32 {
	w := uint64(1)
	for i := range g.links.children {
		w += uint64(max(g.links.children[i].stand.Weight, 1))
	}
	return uint32(min(w, 1<<31))
}

func (g *group) height() uint8 {
	h := uint8(0)
	for i := range g.links.children {
		h = max(h, g.links.children[i].stand.Height+1)
	}
	return min(h, maxPath)
}

// size is how many nodes the tree has, as the top says or as this node sees.
func (g *group) size() uint32 {
	if len(g.place.stands) > 0 {
		return max(g.place.stands[0].Weight, g.weight())
	}
	return g.weight()
}

// depthLimit is how deep a tree of that many nodes may become by moving:
// ⌈log of size to the base of children⌉ + 1, of a huge one by what is sure of its size.
func (n *Node) depthLimit(g *group) int {
	limit, reach := 1, 1
	for size := g.sure(); reach < size; limit++ {
		reach *= max(n.cfg.Children, 2)
	}
	if g.huge() {
		limit += hugeMore
	}
	return limit
}

// loadWait gathers changes of weight; a change less than a part in loadPart is
// not worth a message.
const (
	loadWait   = time.Second
	growthWait = loadWait / 10 // of a subtree that draws a crowd by it
	loadPart   = 8
	sizePart   = 4 // the same of the size of the tree, which all are told,
	sizeFew    = 4 // beside so few nodes
)

// reckon plans to tell the parent what changed below. The top tells all, if it is worth it.
func (n *Node) reckon(g *group) {
	p := &g.place
	g.far = n.farthest(g)
	n.takeTurns(g)
	if p.top && n.worthTelling(g) {
		n.announce(g)
	}
	w, told, wait := g.weight(), p.told, loadWait
	if outgrown(w, told.weight) || n.deepens(g) {
		wait = growthWait
	}
	if p.parent == "" || p.loadAt != 0 && (wait == loadWait || p.loadAt <= n.step.now+2*growthWait) {
		return
	}
	if diff(w, told.weight) > told.weight/loadPart || g.height() != told.height || (n.room(g) == 0) != (told.room == 0) ||
		diff(uint32(g.far), uint32(told.far)) > uint32(told.far)/farPart+farLeast {
		p.loadAt = n.step.now + n.jitter(wait, 0.25)
		n.touch(g)
	}
}

// load is what a parent is told of a node that may be worth telling again.
type load struct {
	weight       uint32
	far          uint16
	height, room uint8
}

func (s *Standing) load() load { return load{s.Weight, s.Far, s.Height, s.Room} }

func diff(a, b uint32) uint32 { return max(a, b) - min(a, b) }

// tellLoad sends the parent this node's standing.
func (n *Node) tellLoad(g *group) {
	p := &g.place
	p.loadAt = 0
	if p.parent == "" {
		return
	}
	m := n.load(g)
	p.told = m.Self.load()
	n.send(p.parent, &m)
}

// load is how this node stands, for its parent.
func (n *Node) load(g *group) Message {
	own := n.standing(g)
	return Message{Type: Load, Group: g.id, Edge: g.place.edge, Self: &own, RTT: g.place.rtt}
}

// onLoad takes a child's standing. The first one after a displacement says that
// the child has really come.
func (n *Node) onLoad(g *group, from overlay.ID, m *Message) {
	i := g.child(from)
	if i < 0 || g.links.children[i].edge != m.Edge || m.Self == nil {
		return
	}
	g.links.children[i].stand = *m.Self
	if c := &g.links.children[i]; m.RTT > 0 {
		c.rtt = min(cmp.Or(c.rtt, m.RTT), m.RTT)
	}
	n.reckon(g)
	if outgrown(g.weight(), g.place.heft) {
		n.announce(g)
	}
	if m.Flags&Confirm != 0 {
		n.measured(g, from, m)
		return
	}
	n.confirmed(g, from)
}

// stands checks what came with a path: one standing for each step, or none.
func standsOf(m *Message) []Standing {
	if len(m.Posts) < len(m.Path) {
		return nil
	}
	return m.Posts[:len(m.Path):len(m.Path)]
}

// peerStand is the standing told of the i-th peer.
func peerStand(m *Message, i int) Standing {
	if len(m.Posts) != len(m.Path)+len(m.Peers) {
		return Standing{}
	}
	return m.Posts[len(m.Path)+i]
}

// standsDown is pathDown's: the standings of the way to the top and this node's.
func (n *Node) standsDown(g *group) []Standing {
	if len(g.place.stands) != len(g.place.path) {
		return nil
	}
	stands := make([]Standing, 0, len(g.place.stands)+1)
	return append(append(stands, g.place.stands...), n.standing(g))
}
