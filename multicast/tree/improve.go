package tree

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Kademlia's hops are random in latency, so a place found by routing is seldom
// a good one. A node that is not the top looks for a better parent now and then:
// it asks a lazy link, or one of the nearest members that it heard of (nearby.go),
// how they stand, which shows it whole paths to the top, probes the most promising
// of all nodes it then knows of, and joins the one through which events would come
// soonest. A full one makes room if that serves the tree: see displace. Each search
// that finds nothing makes the pause before the next longer by two fifths.

const (
	gainLeast    = time.Millisecond     // a move that gains less is not worth it
	gainPart     = 64                   // nor one that gains less than this part of the delay
	deepCost     = 5 * time.Millisecond // what a hop too many may cost beside a quarter of the delay
	searchEvery  = 1500 * time.Millisecond
	searchFirst  = 3                      // as if so many had been in vain, for who has just joined
	searchSoon   = 200 * time.Millisecond // after a move to a plainly worse place
	searchMany   = 16                     // nodes below one that searches twice as often
	searchSlow   = 20                     // searches in vain until it looks around every half an hour and no more rarely
	searchAstray = 6                      // the same for a node whose place is plainly bad, until it has been there for long:
	searchHurry  = 5 * time.Minute        // by then, or once a small tree's nodes were all asked, there is no room; until then, who hangs too deep does not slow down
	astrayBy     = 30 * time.Millisecond  // a place is plainly bad that is late by this beside half its way,
	astrayShare  = time.Millisecond / 2   // and so bad that it needs no budget by so much more for each other group
	probeRounds  = 3
	errTrusted   = 500 // a joiner whose coordinate has a larger error is sent where there is room
	searchWait   = time.Second
	moveWait     = 6 * time.Second
	probeChance  = 2 // candidates probed by chance, so that estimates do not blind
	probeBest    = 3 // and the best by estimate
	tryMoves     = 3
	coinSlope    = 7
	coinSteep    = 32 // from so many times fewer nodes below on it falls with the square
	coinSlow     = 12 // searches in vain up to which the coin makes up for the pause
	roomCounts   = 1  // places that one asked for counts for: all hear of a free node at once
	namedPart    = 4  // of those that a parent names to all, so many times fewer may ask
	offerPeers   = 8
	poolMost     = 96
	poolUsual    = 44 // which fill what Go hands out for so many
)

// tune is a group's search for a better parent.
type tune struct {
	at    time.Duration // the next search, or the end of waiting in this one
	slow  uint8         // searches in a row that found nothing: see pace
	vain  uint8         // searches from this place that found nothing
	star  bool          // none is planned: the tree was a star
	met   bool          // it has searched, and before that looked through the overlay's connections for the nearest
	s     *search       // the one under way
	y     *yield        // what the parent asked; nil: nothing
	asked asked         // whom the latest searches asked
	near  []nearby      // the nearest members heard of
}

// tuned plans the next search after a move, or after one that found nothing.
func (n *Node) tuned(g *group, better bool) {
	t := &g.tune
	switch {
	case g.place.since == n.step.now:
		n.search.earn(better, len(n.order))
	case t.s != nil:
		n.search.vain++
		t.vain = min(t.vain+1, math.MaxUint8-1)
	}
	hurried := n.step.now-g.place.since < searchHurry && int(t.vain)*probeBest < int(g.size())
	switch {
	case better || g.place.since == n.step.now:
		t.slow, t.vain = 0, 0
	case hurried && n.tooDeep(g):
		t.slow = 0
	case hurried && n.last(g):
		t.slow = g.slowOfLast()
	case t.s != nil && t.s.hope && n.rng.IntN(2) == 0:
	case hurried && n.astray(g): // soon again
		t.slow = min(t.slow+1, g.slowest())
	default:
		t.slow = min(t.slow+1, searchSlow)
	}
	n.step.out.searched(t.s)
	t.s, t.star = nil, false
	t.at = n.step.now + n.jitter(pace(t.slow, g.weight()), 0.5)
	n.touch(g)
}

// arrived lets who has just joined wait for longer, wherever it is sent meanwhile: where many
// join, the tree is another one by then, and until then all seek the few that it begins with.
func (n *Node) arrived(g *group) {
	t := &g.tune
	t.slow = searchFirst
	t.at = n.step.now + n.jitter(pace(t.slow, g.weight()), 0.5)
}

// pace is the pause between searches: twice as long with every second in vain, and half as
// long for who has many below it. Those are few, and what they find is found for all of
// them.
func pace(slow uint8, weight uint32) time.Duration {
	const root = 1414 // thousandths of the root of two
	every := time.Duration(searchEvery)
	if weight >= searchMany {
		every = searchEvery / 2
	}
	return every << (slow / 2) * [...]time.Duration{1000, root}[slow%2] / 1000
}

// hurry brings the next search forward when what the parent tells makes this
// node's place a plainly bad one.
func (n *Node) hurry(g *group) {
	t := &g.tune
	switch {
	case t.s != nil || g.seek.on || g.place.parent == "":
		return
	case t.star:
		t.star = n.isStar(g)
		if t.star {
			return
		}
		t.slow = 0
	case !t.met: // its first search is planned
		return
	case n.tooDeep(g):
		t.slow = 0
	case n.last(g):
		t.slow = g.slowOfLast()
	case n.astray(g):
		t.slow = min(t.slow, g.slowest())
	default:
		return
	}
	t.at = min(orNever(t.at), n.step.now+n.jitter(pace(t.slow, g.weight()), 0.5))
	n.touch(g)
}

// isStar reports whether no place is better than this one: right below the top of a
// tree that is no larger than the top's children.
func (n *Node) isStar(g *group) bool {
	return len(g.place.path) == 1 && int(g.size()) <= n.cfg.Children
}

// tuneDue begins a search or ends its waiting.
func (n *Node) tuneDue(g *group) {
	t := &g.tune
	n.measure(g)
	switch {
	case t.s != nil:
		n.searchOn(g)
	case g.place.parent == "" || g.place.top:
		t.at = 0
	case n.inTheWay(g):
		n.standBack(g)
	case n.isStar(g):
		t.at, t.star = 0, true
	case !g.place.attached || g.seek.on || len(g.place.stands) == 0:
		t.at = n.step.now + n.jitter(2*searchEvery, 0.5)
	case !n.urgent(g) && !n.search.take(n.step.now):
		t.at = n.step.now + n.jitter(max(2*searchEvery, n.search.wait()), 0.5)
	default:
		n.startSearch(g)
	}
}

// inTheWay reports whether this node hangs in a small tree only because a route to
// the root led through it: its children do without.
func (n *Node) inTheWay(g *group) bool {
	return !g.member && !g.seek.on && g.place.attached && len(g.links.children) > 0 && int(g.size()) <= 2*n.cfg.Children
}

// standBack sends the children to the top, which names those below it if it is
// full. They keep their place here until they have another, and this node leaves
// when none is left.
func (n *Node) standBack(g *group) {
	for i := range g.links.children {
		n.dismiss(g, i, Moved, g.place.path[0], g.place.parent)
	}
	n.tuned(g, false)
}

func (n *Node) startSearch(g *group) {
	s := n.step.out.search()
	g.tune.s = s
	s.last = n.last(g)
	g.tune.asked.expire(n.step.now)
	if !g.tune.met {
		g.tune.met = true
		n.acquaint(g)
	}
	for i := range g.place.path[:len(g.place.path)-1] {
		at := g.place.stands[i]
		at.Weight = burden(g.place.stands, i, g.weight())
		s.add(candidate{id: g.place.path[i], stand: at, depth: uint16(i), turn: n.likelyTurn(&at, g.weight())}, short(g.place.path[i]))
	}
	var room [4]overlay.ID
	n.probe(g, append(n.scouts(g, room[:0]), n.forebear(g)...))
	if len(s.out) == 0 {
		n.searchOn(g)
	}
}

// searchOn goes on with what has come: from scouting to probing, from probing to
// moving.
func (n *Node) searchOn(g *group) {
	s := g.tune.s
	if g.seek.on || !g.place.attached || g.place.parent == "" {
		n.tuned(g, false)
		return
	}
	for _, p := range s.out {
		g.tune.forget(p.id)
	}
	s.out = s.out[:0]
	if s.probed < probeRounds {
		s.probed++
		n.probe(g, n.promising(g))
		if len(s.out) > 0 {
			return
		}
	}
	n.moveUp(g)
}

// through is what the delay to here would be with a candidate as parent.
func (n *Node) through(c *candidate) time.Duration { return c.stand.Delay + n.wayTo(c) + wait(c.turn) }

// wayTo is what the way to a candidate takes.
func (n *Node) wayTo(c *candidate) time.Duration { return n.way(c.rtt, c.stand.At) }

// bar is what a place has to offer to be worth a move.
type bar struct {
	delay  time.Duration // below it,
	less   time.Duration // or below this where who is deepest comes to be less deep
	depth  int           // than it is now,
	most   int           // and no deeper than this
	height int           // of this node
	unsure int           // levels that it may have more, if it goes deeper
}

// bar: a hop too many may cost some delay. Whoever hangs too deep has to come up, unless many
// are below it: of those some leaf is too deep for as long as a tree is young, and finds a place
// for itself, while none of them would get a better one.
func (n *Node) bar(g *group) bar {
	d, height := n.delay(g), int(g.height())
	b := bar{depth: len(g.place.path) + height, most: n.depthLimit(g), height: height, unsure: g.unsure()}
	b.delay = d - max(gainLeast, d/gainPart)
	b.less = b.delay
	if over := b.depth - b.most; over > 0 {
		b.less = d + time.Duration(over)*(d/4+deepCost)
		b.most = b.depth - 1
		if g.weight() >= searchMany {
			b.most = b.depth
		}
	}
	return b
}

// passes reports whether that is so below a node at a depth, with a delay here.
func (b *bar) passes(depth int, delay time.Duration) bool {
	deep := depth + 1 + b.height
	if deep > b.depth {
		deep += b.unsure
	}
	return deep <= b.most && (delay < b.delay || deep < b.depth && delay < b.less)
}

// tooDeep reports whether this node or who is below it is.
func (n *Node) tooDeep(g *group) bool { return len(g.place.path)+int(g.height()) > n.depthLimit(g) }

// astray reports whether the way here is much longer than it need be.
func (n *Node) astray(g *group) bool { return n.late(g, astrayBy) }

// urgent reports whether a search needs no budget. In many groups nobody can look at once
// wherever a place is plainly bad: the more groups, the worse it has to be, and in thousands
// each search is one of the budget's.
func (n *Node) urgent(g *group) bool {
	return n.tooDeep(g) || n.late(g, astrayBy+time.Duration(len(n.order)-1)*astrayShare)
}

func (n *Node) late(g *group, by time.Duration) bool {
	return len(g.place.stands) > 0 && late(n.delay(g), g.place.stands[0].At, n.at.Coord, by)
}

// astray reports whether a delay is much longer than the way from the top need be.
func astray(delay time.Duration, top, at Coord) bool { return late(delay, top, at, astrayBy) }

// late reports whether a delay is longer than half as long again as the way from the top,
// by more than so much.
func late(delay time.Duration, top, at Coord, by time.Duration) bool {
	direct := top.RTT(at) / 2
	return top.Known() && at.Known() && delay > direct+direct/2+by
}

// tooDeepBelow reports whether a move that this node chose would take it, or who is below
// it, deeper than it reckoned with: who answers may have been sent down meanwhile.
func (n *Node) tooDeepBelow(g *group, ack *Message) bool {
	bar := n.bar(g)
	return len(ack.Path)+bar.height > bar.most
}

// moveUp asks the best of those measured to be the parent.
func (n *Node) moveUp(g *group) {
	s := g.tune.s
	bar := n.bar(g)
	var room [poolUsual]*candidate
	cs := room[:0]
	for i := range s.pool {
		c := &s.pool[i]
		if c.open && c.id != g.place.parent && bar.passes(int(c.depth), n.through(c)) {
			cs = append(cs, c)
		}
	}
	if len(cs) == 0 {
		s.hope = slices.ContainsFunc(s.pool, func(c candidate) bool { return c.rtt > 0 && n.through(&c) < bar.less })
		n.tuned(g, false)
		return
	}
	slices.SortStableFunc(cs, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(n.through(a), n.through(b)), cmp.Compare(a.id, b.id))
	})
	var ids []overlay.ID
	for _, c := range cs[:min(len(cs), tryMoves)] {
		ids = append(ids, c.id)
	}
	g.tune.at = n.step.now + moveWait // longer than all of them take to answer
	n.touch(g)
	g.seek = seek{on: true, aim: aim{moving: true, better: true}, candidates: candidates{todo: ids, routed: true, looked: true}}
	n.seekNext(g)
}

// sayWhy adds to a Join what the parent needs to weigh it against its children:
// the distance measured and the place that becomes free.
func (n *Node) sayWhy(g *group, to overlay.ID, m *Message) {
	m.Flags |= Better
	if s := g.tune.s; s != nil {
		if c := s.known(to, short(to)); c != nil {
			m.RTT = c.rtt
		}
	}
	if k := len(g.place.stands); k > 0 && g.place.parent != "" {
		m.Peers, m.Posts = append(m.Peers, g.place.path[k-1]), append(m.Posts, g.place.stands[k-1]) // the parent
		if at := slices.Index(g.place.path, to); at >= 0 && at < k-2 {
			m.Peers = append(m.Peers, g.place.path[at+1])
			m.Posts = append(m.Posts, g.place.stands[at+1])
		}
	}
}
