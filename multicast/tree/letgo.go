package tree

import (
	"cmp"
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Who had to take one neighbour too many lets go of one again, group by group. Two that share
// hundreds of groups are parent and child in dozens of them, and in some of these hardly ever
// can the one do without the other: whoever waits for a neighbour that can be cut keeps
// them all. So for each edge another parent is sought among the neighbours that stay, and the
// old one is kept until there is one: nothing is lost. A child is asked to do the same. The
// parent is asked first who else is in the tree; if all whom this node knows hang below it,
// one of its children is sent up to the parent, and is there to hang below the next time.
// Meanwhile who is let go counts as a stranger, or the two would come together again.
//
// The same makes room for one neighbour more where there are as many as are kept, each is
// a parent or a child, and a member would stand apart: itself, or one that asked for a place
// before. Then nobody is cut; if none of a few neighbours finds another place in all groups, all stay.

const (
	letGoFrom = 2 * time.Second // between rounds; after every two neighbours in vain twice as late, up to
	letGoTo   = 2 * time.Minute
	letGoEach = 3 // rounds in which nothing changes: another neighbour may be easier
	letGoWhom = 8 // so many are tried, over and over
)

// letting is how far this node has come with letting go of a neighbour.
type letting struct {
	alarm alarm
	id    overlay.ID // of whom
	edges int        // that were left
	still int        // rounds in which they did not become fewer
	vain  int        // neighbours that did not go
	room  bool       // one more than there are is wanted
}

// relieve plans to let go of a neighbour where there are too many.
func (n *Node) relieve() {
	if len(n.pairs.all) > n.cfg.Neighbours {
		n.planLetting()
	}
}

// makeMore plans to let go of a neighbour for one more.
func (n *Node) makeMore() {
	if n.crowded() {
		n.planLetting()
		n.letting.room = true
	}
}

func (n *Node) planLetting() {
	if n.letting == nil {
		n.letting = &letting{alarm: n.alarms.add(sleeper{})}
		n.alarms.set(n.letting.alarm, n.step.now+n.jitter(letGoFrom, 0.5))
	}
}

// letGo goes on with that, or ends it.
func (n *Node) letGo() {
	l := n.letting
	l.room = l.room && l.vain <= letGoWhom
	for p := n.loosest(); p != nil && n.mustLetGo(); p = n.loosest() {
		n.part(p)
	}
	if !n.mustLetGo() {
		n.alarms.drop(l.alarm)
		n.letting = nil
		return
	}
	n.letGoOf(n.leaving())
	n.alarms.set(l.alarm, n.step.now+n.jitter(min(letGoFrom<<min(l.vain/2, 10), letGoTo), 0.5))
}

func (n *Node) mustLetGo() bool {
	return len(n.pairs.all) > n.cfg.Neighbours || n.letting.room && n.crowded()
}

// leaving is the neighbour that is being let go of, or the next one.
func (n *Node) leaving() *pair {
	l := n.letting
	p := n.pair(l.id)
	if p == nil {
		p = n.easiest(l.vain % letGoWhom)
		l.id, l.edges, l.still = p.id, p.edges(), 0
	}
	return p
}

// letGoOf seeks other places for all edges to a neighbour. It parts with one that can be done
// without after all, if there are too many.
func (n *Node) letGoOf(p *pair) {
	l := n.letting
	if e := p.edges(); e < l.edges {
		l.edges, l.still = e, 0
	}
	l.still++
	switch {
	case l.still <= letGoEach:
		n.handOver(p)
		return
	case len(n.pairs.all) > n.cfg.Neighbours && n.needs(p) == 0 && !n.splits(p):
		n.part(p)
		l.vain = 0
	default:
		l.vain++
	}
	l.id = ""
}

// easiest is the neighbour that is needed in the fewest groups, but for some.
func (n *Node) easiest(but int) *pair {
	type weighed struct {
		*pair
		needs, edges int
	}
	all := make([]weighed, len(n.pairs.all))
	for i, p := range n.pairs.all {
		all[i] = weighed{p, n.needs(p), p.edges()}
	}
	slices.SortStableFunc(all, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(a.needs, b.needs), cmp.Compare(a.edges, b.edges))
	})
	return all[but%len(all)].pair
}

// needs counts the groups in which a neighbour cannot be done without.
func (n *Node) needs(p *pair) (groups int) {
	for i := range p.ties() {
		if !n.dispensable(p.ties()[i].g, p.id) {
			groups++
		}
	}
	return groups
}

// edges counts the groups in which the neighbour is the parent or a child.
func (p *pair) edges() (groups int) {
	for i := range p.ties() {
		if p.ties()[i].near() {
			groups++
		}
	}
	return groups
}

// splits reports whether parting with a neighbour may make two trees of one: below a top it
// has others below itself.
func (n *Node) splits(p *pair) bool {
	return slices.ContainsFunc(p.ties(), func(t tie) bool {
		i := t.g.child(p.id)
		return i >= 0 && t.g.place.top && t.g.links.children[i].stand.Weight > 1
	})
}

// handOver seeks another parent wherever the neighbour is that, and asks it to do so wherever
// it is a child.
func (n *Node) handOver(p *pair) {
	for _, t := range slices.Clone(p.ties()) {
		switch i := t.g.child(p.id); {
		case i >= 0:
			n.askAway(t.g, i)
		case t.g.place.parent == p.id:
			n.seekAmong(t.g, nil)
		}
	}
}

// askAway asks a child to hang below another neighbour of its own: one of those named, if any
// is. It stays if there is none.
func (n *Node) askAway(g *group, i int, named ...overlay.ID) {
	n.drop(g, &g.links.children[i], Message{Flags: Confirm, Reason: Full, Peers: named})
}

// seekAmong seeks another parent among the neighbours: those named, or if none is whoever the
// present one and others name.
func (n *Node) seekAmong(g *group, named []overlay.ID) {
	if g.seek.on {
		return
	}
	n.touch(g)
	g.tune.s = nil
	s := seek{on: true, aim: aim{moving: true, among: true, sent: len(named) > 0}, candidates: candidates{todo: slices.Clone(named), routed: true, looked: true}}
	if !s.sent {
		s.todo = append(g.beside([]overlay.ID{g.place.parent}), g.place.path...)
	}
	g.seek = s
	n.seekNext(g)
}

// sendUp asks a child to hang below this node's parent: no neighbour was found that does not
// hang below this node.
func (n *Node) sendUp(g *group) {
	if k := len(g.links.children); k > 0 {
		n.askAway(g, n.rng.IntN(k), g.place.parent)
	}
}
