package tree

import (
	"slices"

	"github.com/feedtree/feedtree/multicast"
)

// Groups lists the groups this node serves, in the order it came to them.
func (n *Node) Groups() []multicast.Group {
	ids := make([]multicast.Group, len(n.order))
	for i, g := range n.order {
		ids[i] = g.id
	}
	return ids
}

// Status describes one group; false if this node does not serve it.
func (n *Node) Status(id multicast.Group) (GroupStatus, bool) {
	g := n.find(id)
	if g == nil {
		return GroupStatus{Group: id}, false
	}
	st := GroupStatus{
		Group:    id,
		Member:   g.member,
		Root:     g.place.top,
		Meets:    g.isRoot(n.step.now),
		Attached: g.place.attached,
		Apart:    g.apart,
		Parent:   g.place.parent,
		Lazy:     g.beside(nil),
		Path:     slices.Clone(g.place.path),
		Heads:    g.heads(),
		Heard:    g.heard(),
		Buffered: len(g.buffer.kept),
		Size:     int(g.size()),
	}
	for _, c := range g.links.children {
		st.Children = append(st.Children, c.id)
	}
	return st, true
}

// Counters returns what the node counted so far.
func (n *Node) Counters() Counters { return n.count }

// Coord returns where the node believes it is in the network.
func (n *Node) Coord() Coord { return n.at.Coord }
