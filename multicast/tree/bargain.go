package tree

import (
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// bargain is what a displacement is weighed by.
type bargain struct {
	from   overlay.ID
	self   Standing
	was    time.Duration // the joiner's delay without the move
	now    time.Duration // and with it
	way    time.Duration // from here
	old    overlay.ID    // the parent it leaves; empty: it has none
	branch overlay.ID    // the child below which it hangs now; empty: none
	oldAt  Standing
	depth  int // of this node
	most   int // the depth limit
	borne  int // hops beyond it that room for many is worth
	moving bool
	credit float64 // what others would gain by the room that the joiner brings
}

func (n *Node) bargain(g *group, from overlay.ID, m *Message) bargain {
	rtt := m.RTT
	if d, ok := n.router.RTT(from); rtt == 0 && ok {
		rtt = d
	}
	if rtt == 0 {
		rtt = n.at.RTT(m.Self.At)
	}
	b := bargain{from: from, self: *m.Self, was: m.Self.Delay, way: rtt/2 + hopCost,
		depth: len(g.place.path), most: n.depthLimit(g), borne: n.tooDeepMost(g) - n.depthLimit(g), moving: m.Flags&Detached == 0}
	b.now = n.delay(g) + b.way + wait(n.turn(g, &child{id: from, stand: *m.Self, rtt: rtt}))
	if b.moving && len(m.Peers) > 0 {
		b.old, b.oldAt = m.Peers[0], peerStand(m, 0)
		b.branch = m.Peers[len(m.Peers)-1]
	}
	if !b.moving { // the next best place is below a child
		b.was = never
		for i := range g.links.children {
			b.was = min(b.was, n.below(&g.links.children[i].stand, m.Self.At, m.Self.Weight))
		}
	}
	b.credit = n.demand(g, &b)
	return b
}

// least is what a displacement must gain, in node·µs of delay.
func (b *bargain) least() float64 {
	return float64(b.self.Weight) * float64(max(gainLeast, b.was/gainPart)) / float64(time.Microsecond)
}

// hope is what a displacement may seem to change for it to be worth measuring: half of
// what the joiner gains may be an estimate's error.
func (b *bargain) hope() float64 {
	gain := float64(b.self.Weight) * float64(b.was-b.now) / float64(time.Microsecond)
	if !b.moving { // it is not measured
		gain = 0
	}
	return float64(gain/2) - b.least()
}

// change is how the sum of delays changes if a child goes where it has a delay.
func (b *bargain) change(c *child, delay time.Duration) float64 {
	weight := c.stand.Weight
	if c.id == b.branch {
		weight -= min(weight-1, b.self.Weight)
	}
	own, theirs := float64(b.self.Weight)*float64(b.now-b.was), float64(weight)*float64(delay-c.stand.Delay)
	return (float64(own)+float64(theirs))/float64(time.Microsecond) - b.credit
}

// fits reports whether a child is not too deep in one of the two places that a joiner
// makes: below itself, or where it was. For room that many want, a hop too many is borne:
// the few leaves that are too deep by it find places for themselves.
func (b *bargain) fits(c *child) (below, there bool) {
	most := b.most
	if b.credit > 0 && c.stand.Height > 0 {
		most += b.borne
	}
	below = b.depth+2+int(c.stand.Height) <= most
	there = b.old != "" && c.id != b.branch && b.oldAt.Weight != 0 && c.stand.Height <= b.self.Height
	return below, there
}

// estimate is how the sum of delays changes if a child goes to where it seems to lose least.
func (n *Node) estimate(g *group, b *bargain, c *child) (change float64, ok bool) {
	if c.id == b.from || c.stand.Weight == 0 {
		return 0, false
	}
	least := never
	below, there := b.fits(c)
	if below && b.self.Room > 0 {
		comer := b.self
		comer.Delay = b.now
		least = min(least, n.below(&comer, c.stand.At, c.stand.Weight))
	}
	if there {
		least = min(least, n.below(&b.oldAt, c.stand.At, c.stand.Weight))
	}
	for i := range g.links.children {
		if o := &g.links.children[i].stand; below && o.Room > 0 && o.Delay < least && g.links.children[i].id != c.id {
			least = min(least, n.below(o, c.stand.At, c.stand.Weight))
		}
	}
	if least == never {
		return 0, false
	}
	return b.change(c, least), true
}

// places are where a child might go, and how those will stand whom it would hang below.
type places struct {
	to    []overlay.ID
	posts []Standing
}

func openOf(p places) (ids []overlay.ID) {
	for i, id := range p.to {
		if p.posts[i].Room > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// places lists them: first who comes, even if it cannot take the child. Where a place
// becomes free only by the swap, the weight is left out.
func (n *Node) places(g *group, b *bargain, c *child) (p places) {
	add := func(id overlay.ID, s Standing) { p.to, p.posts = append(p.to, id), append(p.posts, s) }
	p.to, p.posts = make([]overlay.ID, 0, placesMost), make([]Standing, 0, placesMost)
	below, there := b.fits(c)
	s := b.self
	s.Delay, s.Weight = b.now, 0
	if !below {
		s.Room = 0
	}
	add(b.from, s)
	if there {
		s := b.oldAt
		s.Room, s.Weight = 1, 0
		add(b.old, s)
	}
	var room [childrenUsual]ranked
	for _, o := range n.nearest(g, c.id, c.stand.At, room[:0]) {
		if below && o.stand.Room > 0 && o.id != b.old && len(p.to) < placesMost {
			add(o.id, o.stand)
		}
	}
	return p
}
