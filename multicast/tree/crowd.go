package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// How many ask a node hangs on what is told of it: a search's coin falls against the heavy.
// But the way to the top tells the weights of the moment at which it was told, and a
// subtree may grow a hundredfold within seconds while no delay changes: all below then
// name its upper end as a light node with room, and everybody asks there. So growth is
// told like a new delay, who asks above learns what is there now, and until then nobody on a
// way is taken to have fewer below it than the next one.

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

// burden is how many nodes are below the i-th on a way at the least: as many as below any that
// hangs under it there, the last of which has so many. When thousands come to hang below
// somebody at once they are told so, and those above it do not know it yet: by what all of
// them hear then, these are light nodes with a good place.
func burden(way []Standing, i int, last uint32) uint32 {
	for _, s := range way[i:] {
		last = max(last, s.Weight)
	}
	return last
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
		told := m.Self
		if i < at {
			told = &above[i]
		}
		is := stands[i]
		is.Weight, is.Height, is.Room, is.Far = told.Weight, told.Height, told.Room, told.Far
		if is != stands[i] && !own { // they are shared
			stands, own = slices.Clone(stands), true
		}
		if own {
			stands[i] = is
		}
	}
	p.stands = stands
}
