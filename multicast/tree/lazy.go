package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Lazy links are a member's second opinion: random members, told what this
// node has and telling what they have. They carry no payload until asked.
// A walk of random steps through the tree finds them, so that a link seldom
// shares this node's way to the top.

// sample picks up to four of them at random.
func (n *Node) sample(g *group) []overlay.ID {
	var room [neighboursUsual]overlay.ID
	ids := g.beside(room[:0])
	n.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return slices.Clone(ids[:min(len(ids), 4)])
}

// meet asks the members that a new parent named to be lazy links: a newcomer
// has some at once, before its own walks end somewhere.
func (n *Node) meet(g *group, ids []overlay.ID) {
	for _, id := range ids {
		if id != n.self && g.member && !g.near(id) && !n.isLazy(g, id) && len(g.links.lazy) < n.lazySoon() && !n.tooMany(id) {
			n.send(id, n.linkTo(g))
		}
	}
}

// walk sends as many walks as the member is short of links.
func (n *Node) walk(g *group) {
	l := &g.links
	if !g.member {
		l.walkAt = 0
		return
	}
	if l.pause == 0 {
		l.pause = walkFrom
	}
	l.walkAt = n.step.now + n.jitter(l.pause, 0.25)
	wanted := n.lazyWanted(g)
	switch {
	case len(l.lazy) >= n.cfg.Lazy:
		l.pause = walkTo
		return
	case len(l.lazy) >= wanted: // so small a tree has no more of them; it may grow
		l.pause = walkFew
		return
	case n.crowded():
		l.pause = n.walkSeldom()
		l.walkAt = n.step.now + n.jitter(l.pause, 0.25)
	case len(l.lazy) < n.lazySoon():
		l.pause = min(2*l.pause, walkFew)
	default:
		l.pause = min(2*l.pause, walkTo)
	}
	var room [neighboursUsual]overlay.ID
	starts := g.neighbours(room[:0])
	if len(g.place.path) > 1 {
		starts = append(starts, g.place.path[0])
	}
	for range min(wanted-len(l.lazy), len(starts), walksAtOnce) {
		n.send(starts[n.rng.IntN(len(starts))], &Message{Type: Walk, Group: g.id, Hops: walkHops, Peers: []overlay.ID{n.self}})
	}
}

// lazyWanted is how many lazy links the member seeks: no more than there can be.
func (n *Node) lazyWanted(g *group) int {
	others := int(g.size()) - 1 - len(g.links.children)
	if g.place.parent != "" {
		others--
	}
	return min(n.cfg.Lazy, others)
}

// neighboursUsual is how many neighbours are listed without an allocation.
const neighboursUsual = 32

// neighbours lists parent, children and lazy links.
func (n *Node) neighbours(g *group) []overlay.ID { return g.neighbours(nil) }

// neighbours appends them to ids.
func (g *group) neighbours(ids []overlay.ID) []overlay.ID {
	if g.place.parent != "" {
		ids = append(ids, g.place.parent)
	}
	for _, c := range g.links.children {
		ids = append(ids, c.id)
	}
	return g.beside(ids)
}

// beside appends whom there are lazy links to.
func (g *group) beside(ids []overlay.ID) []overlay.ID {
	ids = slices.Grow(ids, len(g.links.lazy))
	for _, p := range g.links.lazy {
		ids = append(ids, p.id)
	}
	return ids
}

func (n *Node) onWalk(g *group, from overlay.ID, m *Message) {
	if len(m.Peers) != 1 || m.Peers[0] == n.self || m.Hops > walkHops {
		return
	}
	origin := m.Peers[0]
	mayEnd := n.couldLink(g, origin)
	if mayEnd && m.Hops <= walkAccept {
		n.send(origin, n.linkTo(g))
		return
	}
	var room [neighboursUsual]overlay.ID
	next := slices.DeleteFunc(g.neighbours(room[:0]), func(id overlay.ID) bool { return id == from || id == origin })
	switch {
	case len(next) > 0 && m.Hops > 0:
		n.send(next[n.rng.IntN(len(next))], &Message{Type: Walk, Group: g.id, Hops: m.Hops - 1, Peers: m.Peers})
	case mayEnd:
		n.send(origin, n.linkTo(g))
	}
}

func (n *Node) couldLink(g *group, id overlay.ID) bool {
	return g.member && n.pair(id).tied(g) == nil && !n.tooMany(id)
}

// lazyMost is how many lazy links a member accepts. It seeks fewer.
func (n *Node) lazyMost() int { return 2 * n.cfg.Lazy }

// makeLink makes room for a lazy link: of a member that has many each is one of many,
// and who seeks one is short of them. Who loses the link has as many on average,
// or seeks another one.
func (n *Node) makeLink(g *group) {
	if l := g.links.lazy; len(l) >= n.lazyMost() {
		n.dropLazy(g, l[n.rng.IntN(len(l))].id, true)
	}
}

// onLink answers a member that a walk ended at. Who shares this node's parent
// shares its fate, and is taken only where everybody does: below the root, and in a
// tree so small that there is hardly anybody else, such as that of nodes behind NATs
// around the one that can be dialled.
func (n *Node) onLink(g *group, from overlay.ID, m *Message) {
	sibling := len(m.Path) > 1 && m.Path[len(m.Path)-1] == g.place.parent && int(g.size()) > 2*n.cfg.Children
	switch {
	case n.isLazy(g, from):
	case !n.couldLink(g, from) || sibling:
		n.send(from, &Message{Type: Unlink, Group: g.id})
		return
	default:
		n.makeLink(g)
		n.addLazy(g, from)
	}
	n.send(from, &Message{Type: Linked, Group: g.id, Heads: g.heads()})
	n.learn(g, from, m.Heads, lazyWait)
}

// linkTo offers a lazy link. Heads come with it: most members have the same, and need
// not tell each other by a message of its own.
func (n *Node) linkTo(g *group) *Message {
	return &Message{Type: Link, Group: g.id, Path: g.place.path, Heads: g.heads()}
}

func (n *Node) onLinked(g *group, from overlay.ID, m *Message) {
	if n.isLazy(g, from) {
		return
	}
	if !n.couldLink(g, from) {
		n.send(from, &Message{Type: Unlink, Group: g.id})
		return
	}
	n.makeLink(g)
	n.addLazy(g, from)
	n.learn(g, from, m.Heads, lazyWait)
}

func (n *Node) addLazy(g *group, id overlay.ID) {
	p := n.tie(id, g, lazyDigest(g.id), 0)
	g.links.lazy = append(tight(g.links.lazy, dozen), p)
	n.walkSoon(g)
	n.tell(id, g)
	n.tellForks(g, id)
}

func (n *Node) dropLazy(g *group, id overlay.ID, tell bool) {
	i := n.lazyAt(g, id)
	if i < 0 {
		return
	}
	if tell {
		n.send(id, &Message{Type: Unlink, Group: g.id})
	}
	g.links.lazy = slices.Delete(g.links.lazy, i, i+1)
	n.untie(id, g, lazyDigest(g.id), 0)
	if g.member {
		n.walkSoon(g)
	}
}

// walkSoon plans the next walk of a member whose links have changed.
func (n *Node) walkSoon(g *group) {
	l := &g.links
	switch wanted := n.lazyWanted(g); {
	case len(l.lazy) < wanted && n.crowded():
		l.walkAt = max(l.walkAt, n.step.now+n.jitter(n.walkSeldom(), 0.25))
	case len(l.lazy) < min(wanted, n.lazySoon()):
		l.pause = walkFrom
		l.walkAt = n.step.now + n.jitter(walkFrom, 0.5)
	case len(l.lazy) < wanted:
		l.pause = walkLater
		l.walkAt = n.step.now + n.jitter(walkLater, 0.5)
	}
}

// walkSeldom is the pause between the walks of a member that has neighbours enough. Its links
// can only be with those, and where one group in ten thousand walked each second it would
// walk all the time.
func (n *Node) walkSeldom() time.Duration {
	return walkTo * time.Duration(1+len(n.order)/walkShare)
}

// lazySoon is how many lazy links a member seeks at once.
func (n *Node) lazySoon() int { return (n.cfg.Lazy + 1) / 2 }
