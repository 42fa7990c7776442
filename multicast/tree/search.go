package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A search asks in rounds: scouts first, then the candidates that they named.
// What comes back is an offer: how a node stands, its way to the top, some of its
// children, and whether it would be the parent.

// search is one round: scouts are asked first, then candidates are probed, then
// better ones that those named.
type search struct {
	probed int
	hope   bool // somebody was better and had no room
	last   bool // this node is one of the last of all
	out    []probe
	pool   []candidate
	shorts []uint32 // of its IDs: whoever is heard of is sought there
}

type probe struct {
	id   overlay.ID
	sent time.Duration
}

// candidate is a possible parent and what is known of it.
type candidate struct {
	id    overlay.ID
	stand Standing
	rtt   time.Duration // measured; 0: only estimated
	depth uint16
	turn  uint8 // as told, or to be expected
	open  bool  // it said that it would be the parent
	lost  bool  // the coin fell against it
	named bool  // as a child by its parent: all who asked that one know it

	rumour bool // somebody who is not its parent told how many are below it, and no place
}

// forebear picks the parent or, less often, somebody above it: their children are
// this node's siblings and uncles. The higher, the fewer may ask.
func (n *Node) forebear(g *group) []overlay.ID {
	for i := len(g.place.path) - 1; i >= 0; i-- {
		at := g.place.stands[i]
		at.Weight = burden(g.place.stands, i, g.weight())
		if n.rng.Float64() >= n.coin(g, at, i) {
			return nil
		}
		if i == 0 || n.rng.IntN(2) == 0 {
			return []overlay.ID{g.place.path[i]}
		}
	}
	return nil
}

// known returns what the search knows of a node with that short, nil if it knows nothing.
func (s *search) known(id overlay.ID, key uint32) *candidate {
	for i, k := range s.shorts {
		if k == key && s.pool[i].id == id {
			return &s.pool[i]
		}
	}
	return nil
}

func (s *search) add(c candidate, key uint32) {
	if o := s.known(c.id, key); o != nil {
		if c.rtt != 0 || o.rtt == 0 {
			c.named = c.named && o.named
			*o = c
		}
		return
	}
	if s.pool == nil {
		s.pool, s.shorts = make([]candidate, 0, poolUsual), make([]uint32, 0, poolUsual)
	}
	if len(s.pool) < poolMost {
		s.pool, s.shorts = append(s.pool, c), append(s.shorts, key)
	}
}

func (n *Node) probe(g *group, ids []overlay.ID) {
	s := g.tune.s
	own := n.standing(g)
	for _, id := range ids {
		m := n.step.out.inquiry(Probe, own)
		m.Group = g.id
		n.sayWhy(g, id, m)
		n.post(id, m)
		s.out = append(s.out, probe{id, n.step.now})
		g.tune.asked.add(short(id), n.step.now)
	}
	g.tune.at = n.step.now + searchWait
	n.touch(g)
}

// onProbe tells who asks how this node stands, its way to the top, and those
// of its children that are nearest to the asker.
func (n *Node) onProbe(g *group, from overlay.ID, m *Message) {
	o := n.step.out.inquiry(Offer, n.standing(g))
	o.Group, o.Flags = g.id, n.pathFlags(g)
	o.Peers, o.Posts = slices.Grow(o.Peers, peersUsual), slices.Grow(o.Posts, postsUsual)
	if len(g.place.stands) == len(g.place.path) {
		o.Path, o.Posts = g.place.path, append(o.Posts, g.place.stands...)
	}
	if n.wouldTake(g, from, m) {
		o.Flags |= Better
	} else {
		n.regret(g, from, m)
	}
	if m.Self != nil {
		o.Turn = n.turn(g, &child{id: from, stand: *m.Self, rtt: m.RTT})
		if d, ok := n.router.RTT(from); ok {
			n.learnRTT(from, m.Self.At, d)
		}
		var room [childrenUsual]ranked
		near := n.nearest(g, from, m.Self.At, room[:0])
		for _, c := range near {
			o.Peers, o.Posts = append(o.Peers, c.id), append(o.Posts, c.stand)
		}
		n.nameNearby(g, from, m.Self, o)
	}
	n.post(from, o)
}

// wouldTake reports whether a Join of who asks would be accepted as things are.
func (n *Node) wouldTake(g *group, from overlay.ID, m *Message) bool {
	if n.cfg.Leaf || n.cfg.Sparing || n.closed || !g.place.attached {
		return false
	}
	why := n.mayAdopt(g, from, m)
	if why == Full && m.Self != nil {
		return n.mightSwap(g, from, m)
	}
	return why == 0
}

// ranked is a child and what it is ranked by.
type ranked struct {
	*child
	delay time.Duration
}

// childrenUsual is how many children are ranked without an allocation.
const childrenUsual = 16

// nearest appends children to cs by what they could offer a node, best first. Who
// offers no place is not among them: a node behind a NAT would be asked in vain, two
// seconds long.
func (n *Node) nearest(g *group, to overlay.ID, at Coord, cs []ranked) []ranked {
	known, own := at.Known(), g.child(to)
	for i := range g.links.children {
		c := &g.links.children[i]
		if c.stand.Weight == 0 || c.barren() || i == own {
			continue
		}
		var delay time.Duration
		if known {
			delay = c.stand.Delay + c.stand.At.RTT(at)/2
		}
		cs = append(cs, ranked{c, delay})
	}
	if known {
		slices.SortStableFunc(cs, func(a, b ranked) int { return cmp.Compare(a.delay, b.delay) })
	}
	return cs[:min(len(cs), offerPeers)]
}

// onOffer takes an answer, which is a measurement too.
func (n *Node) onOffer(g *group, from overlay.ID, m *Message) {
	s := g.tune.s
	if n.weighed(g, from, m) || s == nil {
		return
	}
	i := slices.IndexFunc(s.out, func(p probe) bool { return p.id == from })
	if i < 0 {
		return
	}
	rtt := n.rtt(from, s.out[i].sent)
	s.out = slices.Delete(s.out, i, i+1)
	if m.Self != nil {
		n.learnRTT(from, m.Self.At, rtt)
		n.recount(g, from, m)
		n.consider(g, from, m, rtt)
	} else {
		g.tune.forget(from)
	}
	if len(s.out) == 0 {
		n.searchOn(g)
	}
}

// consider adds who an offer speaks of, unless this node is above them.
func (n *Node) consider(g *group, from overlay.ID, m *Message, rtt time.Duration) {
	stands := standsOf(m)
	if m.Flags&Detached != 0 || len(stands) != len(m.Path) || n.loops(m.Path) || g.child(from) >= 0 {
		return
	}
	n.hear(g, candidate{id: from, stand: *m.Self, depth: uint16(len(m.Path)), rtt: rtt, turn: m.Turn, open: m.Flags&Better != 0})
	for i, id := range m.Path {
		at := stands[i]
		at.Weight = burden(stands, i, m.Self.Weight)
		n.hear(g, candidate{id: id, stand: at, depth: uint16(i)})
	}
	for i, id := range m.Peers {
		if id != n.self {
			at := peerStand(m, i)
			n.hear(g, candidate{id: id, stand: at, depth: uint16(len(m.Path) + 1), named: true, rumour: at.rumour()})
		}
	}
}

// hear adds somebody to those known: to the candidates, unless nothing is said of a place
// in the tree, and to the nearest, if it is one of them.
func (n *Node) hear(g *group, c candidate) {
	key := short(c.id)
	n.befriend(g, &c, key)
	if c.stand.Weight > 0 && !c.rumour {
		if c.rtt == 0 {
			c.turn = n.likelyTurn(&c.stand, g.weight())
		}
		g.tune.s.add(c, key)
	}
}

// promising picks whom to probe: a few of the best by estimate, a few by chance.
// A coin keeps light nodes from all asking the heavy ones at the top.
func (n *Node) promising(g *group) []overlay.ID {
	s := g.tune.s
	bar := n.bar(g)
	chance, best := probeChance, probeBest
	if s.probed > 1 { // only what beats the best so far
		chance, best = 0, 2
		for i := range s.pool {
			if s.pool[i].open {
				best := n.through(&s.pool[i])
				bar.delay, bar.less = min(bar.delay, best), min(bar.less, best)
			}
		}
	}
	var room [poolUsual]*candidate
	cs := room[:0]
	for i := range s.pool {
		c := &s.pool[i]
		pays := !c.lost && c.rtt == 0 && bar.passes(int(c.depth), n.through(c)) && !g.tune.asked.has(s.shorts[i]) &&
			c.id != g.place.parent && !n.avoids(g, c.id) && g.child(c.id) < 0 && !n.tooMany(c.id)
		if pays {
			if c.lost = n.rng.Float64() >= n.odds(g, c); !c.lost {
				cs = append(cs, c)
			}
		}
	}
	n.rng.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
	few := min(len(cs), chance)
	rest := cs[few:]
	slices.SortStableFunc(rest, func(a, b *candidate) int { return cmp.Compare(n.through(a), n.through(b)) })
	cs = cs[:few+min(len(rest), best)]
	ids := make([]overlay.ID, len(cs))
	for i := range cs {
		ids[i] = cs[i].id
	}
	return ids
}

// odds is the chance with which a search may ask a candidate. A parent names its best
// children to all who ask it, many times as many as are below any of them: fewer of those
// may ask.
func (n *Node) odds(g *group, c *candidate) float64 {
	chance := n.coin(g, c.stand, int(c.depth))
	if chance < doorMost {
		chance = max(chance, n.doorOdds(g, c))
	}
	if c.named {
		chance /= namedPart
	}
	return min(chance, n.share(g))
}

// coin is the chance with which this node may ask one at a depth. What that one
// told of its weight may be old: at least it has what the depth lets expect.
func (n *Node) coin(g *group, c Standing, depth int) float64 {
	weight := float64(g.size())
	for range depth {
		weight /= float64(max(n.cfg.Children, 2))
	}
	weight = max(weight, float64(c.Weight), 1)
	return n.chance(g, weight) * float64(1+min(c.Room, roomCounts))
}

// chance is the coin's for one without room that has so many nodes below it. Who searches
// half as often may ask twice as many: so the heavy are asked as often later on, and in the
// end everybody has asked all that seem better.
func (n *Node) chance(g *group, weight float64) float64 {
	part := float64(g.weight()) / max(weight, 1)
	return coinSlope * part * min(coinSteep*part, 1) * n.often(g)
}

// often is how much more each search may ask than one that is not the first in vain.
func (n *Node) often(g *group) float64 {
	slow, more := g.tune.slow, 1.0
	if s := g.tune.s; s != nil && s.last { // it does not slow down
		slow, more = max(slow, g.tune.vain), lastOften
	}
	return eager(slow) * more
}

// eager is how much more a search may ask after so many that found nothing: twice as much
// with every second.
func eager(searches uint8) float64 { return float64(int(1) << (min(searches, coinSlow) / 2)) }
