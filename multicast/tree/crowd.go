package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// How many ask a node hangs on what is told of it: a search's coin falls against the heavy.
// But the way to the top tells the weights of the moment at which it was told, and a
// subtree may grow a hundredfold within seconds while no delay changes: all below then
// name its upper end as a light node with room, and everybody asks there. So growth is
// told like a new delay, and who asks above learns what is there now.

// crowdFrom is how many nodes have to be below one for it to draw a crowd.
const crowdFrom = 16

// outgrown reports whether a subtree is so much larger than it was told to be that too many
// would ask its upper end. One that shrank is asked by fewer, which is no harm.
func outgrown(weight, told uint32) bool { return weight >= crowdFrom && weight/2 > told }

// grown reports whether a node on the way to the top has outgrown what was told before.
func grown(now, before []Standing) bool {
	for i := range min(len(now), len(before)) {
		if outgrown(now[i].Weight, before[i].Weight) {
			return true
		}
	}
	return false
}

// recount takes from the offer of one above what is on the way up to it now. Delays come
// along the edges only: what children were told of them has to fit.
func (n *Node) recount(g *group, from overlay.ID, m *Message) {
	p, above := &g.place, standsOf(m)
	at := slices.Index(p.path, from)
	if at < 0 || len(p.stands) != len(p.path) || len(above) != at || !slices.Equal(m.Path, p.path[:at]) {
		return
	}
	stands, own := p.stands, false
	for i := range at + 1 {
		s := m.Self
		if i < at {
			s = &above[i]
		}
		was := &stands[i]
		if was.Weight == s.Weight && was.Height == s.Height && was.Room == s.Room && was.Far == s.Far {
			continue
		}
		if !own { // they are shared
			stands, own = slices.Clone(stands), true
		}
		stands[i].Weight, stands[i].Height, stands[i].Room, stands[i].Far = s.Weight, s.Height, s.Room, s.Far
	}
	p.stands = stands
}
