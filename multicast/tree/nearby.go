package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A member has the same dozen lazy links for hours, and what they know of its own region
// may be nothing at all: where one node in five hundred lives, hardly anybody has a link
// that leads there, and whoever came to hang below somebody far away would stay. So a
// member remembers the nearest of all that it hears of while it searches, asks one of them
// in each search, and names to who asks it those it knows that are nearest to the asker.
// By that a region finds itself within a few searches, as in T-Man (Jelasity and Babaoglu,
// 2005), and what one of it finds goes round in it. It costs no message: every second time
// the near one is asked instead of a lazy link. Who lies about where it is is asked in vain,
// in no more than those searches; it draws nobody below itself by it, for delays are measured.

// nearby is a member that is near this node, or seems to be.
type nearby struct {
	id     overlay.ID
	at     Coord
	way    time.Duration // the round trip, measured if it was ever asked
	asked  bool
	weight uint32 // as it was last told; 0: it was not
}

const (
	nearMost  = 4  // remembered in a group
	nearTold  = 2  // named in an offer,
	nearLight = 16 // if it is not known that so many nodes are below: no crowd is sent there
)

// befriend remembers a member if it is nearer than one of those remembered. rtt was
// measured; 0: it was not.
func (n *Node) befriend(g *group, id overlay.ID, s *Standing, rtt time.Duration) {
	if id == n.self || !n.at.Known() || !s.At.Known() || s.At.Err > errTrusted {
		return
	}
	c := nearby{id: id, at: s.At, way: rtt, asked: rtt > 0, weight: s.Weight}
	if !c.asked {
		c.way = n.at.RTT(s.At)
	}
	near := g.tune.near
	worst, far := -1, c.way
	for i := range near {
		o := &near[i]
		if o.id == id {
			o.renew(&c)
			return
		}
		if o.way > far {
			worst, far = i, o.way
		}
	}
	switch {
	case len(near) < nearMost:
		g.tune.near = append(near, c)
	case worst >= 0:
		near[worst] = c
	}
}

// renew takes what is told of one that is known. What was measured stands.
func (o *nearby) renew(c *nearby) {
	o.at = c.at
	if c.asked || !o.asked {
		o.way, o.asked = c.way, c.asked
	}
	if c.weight > 0 {
		o.weight = c.weight
	}
}

// forget drops one that does not answer.
func (t *tune) forget(id overlay.ID) {
	t.near = slices.DeleteFunc(t.near, func(c nearby) bool { return c.id == id })
}

// friend picks one of them to ask. Of those with many nodes below, whom all their region
// remembers, the coin lets only few ask.
func (n *Node) friend(g *group) (overlay.ID, bool) {
	near := g.tune.near
	if len(near) == 0 {
		return "", false
	}
	first := n.rng.IntN(len(near))
	for i := range near {
		c := &near[(first+i)%len(near)]
		if n.rng.Float64() < coinSlope*float64(g.weight())/float64(max(c.weight, 1)) {
			return c.id, c.id != g.place.parent && g.child(c.id) < 0
		}
	}
	return "", false
}

// scouts are whom a search asks first: a lazy link, one of the nearest, or both.
func (n *Node) scouts(g *group, ids []overlay.ID) []overlay.ID {
	if l := g.links.lazy; len(l) > 0 && (len(g.tune.near) == 0 || n.rng.IntN(2) == 0) {
		ids = append(ids, l[n.rng.IntN(len(l))])
	}
	if id, ok := n.friend(g); ok && !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	return ids
}

// nameNearby adds to an offer those members that are nearest to who asks, with no standing
// but where they are: of this node's lazy links, as far as keep-alives and searches told,
// and of those that it remembers.
func (n *Node) nameNearby(g *group, to overlay.ID, at Coord, o *Message) {
	if !at.Known() {
		return
	}
	for range nearTold {
		var best overlay.ID
		var where Coord
		least := never
		consider := func(id overlay.ID, there Coord) {
			if way := there.RTT(at); id != to && there.Known() && way < least && !slices.Contains(o.Peers, id) {
				best, where, least = id, there, way
			}
		}
		for _, id := range g.links.lazy {
			consider(id, n.pairs.find(id).at)
		}
		for i := range g.tune.near {
			if c := &g.tune.near[i]; c.weight <= nearLight {
				consider(c.id, c.at)
			}
		}
		if best == "" {
			return
		}
		o.Peers, o.Posts = append(o.Peers, best), append(o.Posts, Standing{At: where})
	}
}
