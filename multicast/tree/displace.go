package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// heavy is what a joiner without a parent has to bring along for a child to be
// sent away.
const heavy = 8

// swap is a child making room for another one. It keeps its place until the
// newcomer has said that it is there: at any time everybody has a parent.
type swap struct {
	by     overlay.ID // the newcomer
	victim overlay.ID
	to     overlay.ID // where the victim is sent
	until  time.Duration
	asked  bool // the victim was asked to go
}

// spare is how many places of a full node only swaps may use, for as long as
// they take. A node with very few children has none, and makes no swaps.
func (n *Node) spare() int {
	if n.cfg.Children < 8 {
		return 0
	}
	return 1
}

// displace decides whether a full node takes a joiner all the same. It may send
// one child away, to below the joiner or to the place that the joiner leaves,
// if the delays of all nodes concerned, each counted by the nodes below it, add
// up to less then. It prepares the swap and reports true if so.
func (n *Node) displace(g *group, from overlay.ID, m *Message) bool {
	s, ok := n.swapFor(g, from, m)
	if ok {
		s.until = n.step.now + n.cfg.Patience
		g.links.swap = s
	}
	return ok
}

// swapFor finds the swap that gains most, if one gains enough.
func (n *Node) swapFor(g *group, from overlay.ID, m *Message) (best swap, ok bool) {
	if n.spare() == 0 || m.Self == nil || m.Self.Weight == 0 || m.RTT == 0 && !m.Self.At.Known() || m.Flags&Detached != 0 && (m.Self.Weight < heavy || !m.Self.At.Known()) || g.links.swap.by != "" ||
		len(g.links.children) >= n.cfg.Children || n.held >= n.allChildren() || !g.place.attached {
		return best, false
	}
	b := n.bargain(g, from, m)
	gain := -b.least()
	for i := range g.links.children {
		c := &g.links.children[i]
		if c.id == from || c.stand.Weight == 0 {
			continue
		}
		if to, change, ok := b.sendAway(c); ok && change < gain {
			best, gain = swap{by: from, victim: c.id, to: to}, change
		}
	}
	return best, best.by != ""
}

// bargain is what a displacement is weighed by.
type bargain struct {
	from   overlay.ID
	self   Standing
	was    time.Duration // the joiner's delay without the move
	now    time.Duration // and with it
	old    overlay.ID    // the parent it leaves; empty: it has none
	branch overlay.ID    // the child below which it hangs now; empty: none
	oldAt  Standing
	depth  int // of this node
	most   int // the depth limit
	moving bool
}

func (n *Node) bargain(g *group, from overlay.ID, m *Message) bargain {
	rtt := m.RTT
	if rtt == 0 {
		rtt = n.at.RTT(m.Self.At)
	}
	b := bargain{from: from, self: *m.Self, was: m.Self.Delay, now: n.delay(g) + rtt/2 + hopCost,
		depth: len(g.place.path), most: n.depthLimit(g), moving: m.Flags&Detached == 0}
	if b.moving && len(m.Peers) > 0 {
		b.old, b.oldAt = m.Peers[0], peerStand(m, 0)
		b.branch = m.Peers[len(m.Peers)-1]
	}
	if !b.moving { // the next best place is below a child
		b.was = never
		for i := range g.links.children {
			c := &g.links.children[i]
			b.was = min(b.was, c.stand.Delay+c.stand.At.RTT(m.Self.At)/2+hopCost)
		}
	}
	return b
}

// least is what a displacement must gain, in node·µs of delay.
func (b *bargain) least() float64 {
	return float64(b.self.Weight) * float64(max(gainLeast, b.was/gainPart)) / float64(time.Microsecond)
}

// sendAway finds the better of the two places for a child that makes room, and
// how the sum of delays changes.
func (b *bargain) sendAway(c *child) (to overlay.ID, change float64, ok bool) {
	weight := c.stand.Weight
	above := c.id == b.branch
	if above {
		weight -= min(weight-1, b.self.Weight)
	}
	own := float64(b.self.Weight) * float64(b.now-b.was)
	cost := func(delay time.Duration) float64 {
		return (own + float64(weight)*float64(delay-c.stand.Delay)) / float64(time.Microsecond)
	}
	if b.self.Room > 0 && b.depth+2+int(c.stand.Height) <= b.most {
		to, change, ok = b.from, cost(b.now+c.stand.At.RTT(b.self.At)/2+hopCost), true
	}
	if b.old == "" || above || b.oldAt.Weight == 0 || c.stand.Height > b.self.Height { // there it might be too deep
		return to, change, ok
	}
	there := cost(b.oldAt.Delay + c.stand.At.RTT(b.oldAt.At)/2 + hopCost)
	if !ok || there < change {
		to, change, ok = b.old, there, true
	}
	return to, change, ok
}

// confirmed goes on with a swap whose newcomer has come: the victim is asked to
// go, and leaves when the next parent has it.
func (n *Node) confirmed(g *group, newcomer overlay.ID) {
	s := &g.links.swap
	i := g.child(s.victim)
	if s.by != newcomer || s.asked || i < 0 {
		return
	}
	s.asked, s.until = true, n.step.now+2*n.cfg.Patience
	n.dismiss(g, i, Moved, s.to)
}

// swapDue ends a swap that took too long. A victim that did not find its way is
// told to look for one without the place it had, and where to.
func (n *Node) swapDue(g *group) {
	s := g.links.swap
	g.links.swap = swap{}
	if i := g.child(s.victim); i >= 0 && s.asked && len(g.links.children) > n.cfg.Children-n.spare() {
		n.dismiss(g, i, Full, append([]overlay.ID{s.to}, n.lightest(g, s.victim)...)...)
		n.cutChild(g, i)
	}
}

func (n *Node) dismiss(g *group, i int, why Reason, to ...overlay.ID) {
	c := g.links.children[i]
	n.send(c.id, &Message{Type: Drop, Group: g.id, Edge: c.edge, Reason: why, Peers: to})
}

// makeWay is the victim's part: it moves to where it was sent, and keeps the
// parent until it has another.
func (n *Node) makeWay(g *group, to []overlay.ID) {
	if !g.seek.on {
		n.touch(g)
		g.tune.s = nil
		g.seek = seek{on: true, moving: true, routed: true, looked: true, todo: slices.Clone(to)}
		n.seekNext(g)
	}
}
