package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// A member has the same dozen lazy links for hours, and what they know of its own region
// may be nothing at all: where one node in five hundred lives, hardly anybody has a link
// that leads there, and whoever came to hang below somebody far away would stay. So a
// member remembers the nearest of all that it hears of while it searches, asks one of them
// in each search, and names to who asks it those it knows that are nearest to the asker.
// By that a region finds itself, as in T-Man (Jelasity and Babaoglu, 2005), and what one
// of it finds goes round in it. The first ones are the nearest of the overlay's
// connections, of which some hundred are measured: without them the first steps take
// longer than all others, for coordinates hardly tell one house of a street from another.
//
// Members of one's own rank are meant: who has two hundred nodes below it would find only
// those around itself. It looks for those who have a quarter as many, and so regions find
// each other as members do.
//
// Every second search does without a lazy link for it, and so it costs next to nothing. Who
// lies about where it is is asked in vain, in no more than those searches; it draws nobody
// below itself by it, for delays are measured.

// nearby is a member that is near this node, or seems to be.
type nearby struct {
	id     overlay.ID
	at     Coord
	way    time.Duration // the round trip
	exact  bool          // it was measured; else the coordinates tell it
	rumour bool          // others told the weight
	key    uint16        // of its ID, to find it by
	weight uint32        // as it was last told; 0: it was not
}

const (
	nearMost  = 8    // remembered in a group
	nearTold  = 6    // named in an offer,
	nearLight = 16   // if it is not known that it has so many times more nodes below than who asks: no crowd is sent there
	nearRank  = 4    // nor so many times fewer
	nextPart  = 3    // of searches, one in so many passes over the nearest, and so on
	guessFrom = 1000 // connections looked through
)

// below reports whether one with so many nodes below it is of a lower rank than one with own.
func below(weight, own uint32) bool { return weight > 0 && weight < own/nearRank }

// acquaint remembers the nearest of the overlay's connections.
func (n *Node) acquaint(g *group) {
	var room [nearMost + 1]nearby
	near := room[:0]
	for _, id := range n.router.Closest(n.self.Key(), guessFrom) {
		d, ok := n.router.RTT(id)
		if !ok || d <= 0 {
			continue
		}
		if len(near) == nearMost && d > near[nearMost-1].way { // as most are
			continue
		}
		c := nearby{id: id, way: d, exact: true}
		at, _ := slices.BinarySearchFunc(near, c, nearer)
		if at < nearMost {
			c.key = uint16(short(id))
			near = slices.Insert(near, at, c)
			near = near[:min(len(near), nearMost)]
		}
	}
	g.tune.near = append(make([]nearby, 0, nearMost), near...)
}

// nearer orders the nearest first. IDs, which are elsewhere in memory, are looked at only
// where they decide.
func nearer(a, b nearby) int {
	if a.way != b.way {
		return cmp.Compare(a.way, b.way)
	}
	return cmp.Compare(a.id, b.id)
}

// befriend remembers a member if it is nearer than one of those remembered.
func (n *Node) befriend(g *group, m *candidate, key uint32) {
	id, s := m.id, &m.stand
	if id == n.self || !n.at.Known() || !s.At.Known() || s.At.Err > errTrusted && !(g.huge() && m.rtt > 0) {
		return
	}
	if below(s.Weight, g.weight()) {
		g.tune.forget(id)
		return
	}
	c := nearby{id: id, key: uint16(key), at: s.At, way: m.rtt, exact: m.rtt > 0, rumour: m.rumour, weight: s.Weight}
	if !c.exact {
		c.way = n.at.RTT(s.At)
	}
	near := g.tune.near
	worst, far := -1, c.way
	for i := range near {
		o := &near[i]
		if o.key == c.key && o.id == id {
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

// renew takes what is told of one that is known. What was measured stands, and what it told
// itself.
func (o *nearby) renew(c *nearby) {
	o.at = c.at
	if c.exact || !o.exact {
		o.way, o.exact = c.way, c.exact
	}
	if c.weight > 0 && (o.weight == 0 || o.rumour || !c.rumour) {
		o.weight, o.rumour = c.weight, c.rumour
	}
}

// forget drops one that does not answer, or is no member.
func (t *tune) forget(id overlay.ID) {
	t.near = slices.DeleteFunc(t.near, func(c nearby) bool { return c.id == id })
}

// friend picks one of them to ask, in two searches of three the nearest. What parent and
// children know comes without asking: they are passed over. Of those with many nodes below,
// whom all their region remembers, the coin lets only few ask, and those of a large tree are
// not asked again at once.
func (n *Node) friend(g *group) (overlay.ID, bool) {
	own, large := g.weight(), g.large()
	g.tune.near = slices.DeleteFunc(g.tune.near, func(c nearby) bool { return below(c.weight, own) })
	slices.SortStableFunc(g.tune.near, nearer)
	var room [nearMost]*nearby
	near := room[:0]
	for i := range g.tune.near {
		if c := &g.tune.near[i]; !g.near(c.id) && !n.tooMany(c.id) && !(large && c.weight >= searchMany && g.tune.asked.has(short(c.id))) {
			near = append(near, c)
		}
	}
	first, share := 0, n.share(g)
	for first < len(near)-1 && n.rng.IntN(nextPart) == 0 {
		first++
	}
	for i := range near {
		c := near[(first+i)%len(near)]
		if n.rng.Float64() < min(n.chance(g, float64(c.weight)), 1)*share {
			return c.id, true
		}
	}
	return "", false
}

// scouts are whom a search asks first: a lazy link, one of the nearest, or both.
func (n *Node) scouts(g *group, ids []overlay.ID) []overlay.ID {
	if l := g.links.lazy; len(l) > 0 && (len(g.tune.near) == 0 || n.rng.IntN(2) == 0) {
		ids = append(ids, l[n.rng.IntN(len(l))].id)
	}
	if id, ok := n.friend(g); ok && !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	return ids
}

// nameNearby adds to an offer those members that are nearest to who asks, with no standing
// but where they are: of this node's lazy links, as far as keep-alives and searches told,
// and of those that it remembers, if they said themselves that they are of the asker's rank:
// by the others a whole region would be led to its best node. In a large tree that is not
// enough for the coin to hold them back: there it says how many they have below them.
func (n *Node) nameNearby(g *group, to overlay.ID, asker *Standing, o *Message) {
	if !asker.At.Known() {
		return
	}
	var room [neighboursUsual]placed
	known := room[:0]
	add := func(id overlay.ID, there *Coord, weight uint32) {
		if there.Known() {
			known = append(known, placed{id, there, there.RTT(asker.At), weight})
		}
	}
	for _, p := range g.links.lazy {
		add(p.id, &p.at, 0)
	}
	light := nearLight * uint64(max(asker.Weight, 1)) // a liar may say anything
	large := g.large()
	for i := range g.tune.near {
		c := &g.tune.near[i]
		if c.weight == 0 || c.rumour || uint64(c.weight) > light || below(c.weight, asker.Weight) {
			continue
		}
		told := c.weight
		if !large {
			told = 0
		}
		add(c.id, &c.at, told)
	}
	for most := len(o.Peers) + nearTold; len(known) > 0 && len(o.Peers) < most; {
		nearest := 0
		for i := range known {
			if known[i].way < known[nearest].way {
				nearest = i
			}
		}
		if c := known[nearest]; c.id != to && !slices.Contains(o.Peers, c.id) {
			o.Peers, o.Posts = append(o.Peers, c.id), append(o.Posts, Standing{At: *c.at, Weight: c.weight})
		}
		known = slices.Delete(known, nearest, nearest+1)
	}
}

// rumour reports whether s says no more than how many are below: nobody names a child that
// has neither children nor a place for one.
func (s *Standing) rumour() bool { return s.Delay == 0 && s.Height == 0 && s.Room == 0 }

// placed is somebody who might be named, and how far it is from who asks.
type placed struct {
	id     overlay.ID
	at     *Coord
	way    time.Duration
	weight uint32 // 0: it is not told
}
