package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// What a swap costs is measured by who would make room: coordinates are off by a tenth or
// more, and of many children the one that seems to lose least is mostly the one whose loss
// is underestimated most. Without that, swaps make the tree worse as often as better and
// never come to rest.

const (
	askMost    = 2 // children asked for one joiner
	askWait    = time.Second
	placesMost = 3 // measured by each: the two that the joiner makes, or siblings with room
)

// yield is this node measuring where else it could be, because its parent asks.
type yield struct {
	edge  uint64       // to the parent that asked
	to    []overlay.ID // the first is who would come
	posts []Standing   // how they will stand
	out   []probe
	found []spot
	until time.Duration
}

// spot is a place and the delay that this node would have there.
type spot struct {
	id    overlay.ID
	delay time.Duration
}

// weighPlaces measures the places that the parent could send this node to.
func (n *Node) weighPlaces(g *group, m *Message) {
	if len(m.Peers) == 0 || len(m.Posts) != len(m.Peers) {
		return
	}
	n.touch(g)
	y := &yield{edge: m.Edge, to: m.Peers, posts: m.Posts, until: n.step.now + askWait/2}
	g.tune.y = y
	asked := m.Peers[:min(len(m.Peers), placesMost)]
	y.out, y.found = make([]probe, 0, len(asked)), make([]spot, 0, len(asked))
	for i, id := range asked {
		if m.Posts[i].Room == 0 || id == n.self || id == "" || id == g.place.parent || g.child(id) >= 0 && i > 0 {
			continue
		}
		n.send(id, &Message{Type: Probe, Flags: Better, Group: g.id})
		y.out = append(y.out, probe{id, n.step.now})
	}
	if len(y.out) == 0 || g.seek.on {
		n.sayPlaces(g)
	}
}

// weighed takes what a probe for the parent's question measured. It reports false if
// it was not one.
func (n *Node) weighed(g *group, from overlay.ID, m *Message) bool {
	y := g.tune.y
	if y == nil {
		return false
	}
	i := slices.IndexFunc(y.out, func(p probe) bool { return p.id == from })
	if i < 0 {
		return false
	}
	rtt := n.rtt(from, y.out[i].sent)
	y.out = slices.Delete(y.out, i, i+1)
	at := slices.Index(y.to, from)
	if m.Self != nil && m.Flags&Detached == 0 && (y.posts[at].Weight == 0 || m.Flags&Better != 0) {
		n.learnRTT(from, m.Self.At, rtt)
		delay := max(m.Self.Delay, y.posts[at].Delay)
		if at == 0 { // who comes stands better then than now
			delay = min(m.Self.Delay, y.posts[at].Delay)
		}
		if (at == 0 || !n.loops(m.Path)) && !n.sinks(g, at, m) {
			y.found = append(y.found, spot{from, delay + rtt/2 + hopCost + wait(n.likelyTurn(m.Self, g.weight()))})
		}
	}
	if len(y.out) == 0 {
		n.sayPlaces(g)
	}
	return true
}

// sayPlaces tells the parent how this node would stand elsewhere, the best first.
func (n *Node) sayPlaces(g *group) {
	y := g.tune.y
	g.tune.y = nil
	n.touch(g)
	p := &g.place
	if p.parent == "" || p.edge != y.edge {
		return
	}
	slices.SortStableFunc(y.found, func(a, b spot) int { return cmp.Compare(a.delay, b.delay) })
	m := n.load(g)
	m.Flags = Confirm
	if !g.seek.on && len(y.found) > 0 {
		p.wavers = n.step.now + hugeWaver
		m.Peers, m.Posts = make([]overlay.ID, 0, len(y.found)), make([]Standing, 0, len(y.found))
		for _, f := range y.found {
			m.Peers, m.Posts = append(m.Peers, f.id), append(m.Posts, Standing{Delay: f.delay})
		}
	}
	n.send(p.parent, &m)
}
