package tree

import "github.com/feedtree/feedtree/multicast"

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
	var st GroupStatus
	ok := n.StatusInto(&st, id)
	return st, ok
}

// StatusInto is Status for who asks many nodes, one after the other: it overwrites the lists that
// st has, where they are long enough, and leaves no garbage.
func (n *Node) StatusInto(st *GroupStatus, id multicast.Group) bool {
	lists := *st
	*st = GroupStatus{Group: id}
	g := n.find(id)
	if g == nil {
		return false
	}
	*st = GroupStatus{
		Group:    id,
		Member:   g.member,
		Root:     g.place.top,
		Meets:    g.isRoot(n.step.now),
		Attached: g.place.attached,
		Apart:    g.apart,
		Parent:   g.place.parent,
		Children: lists.Children[:0],
		Lazy:     g.beside(lists.Lazy[:0]),
		Path:     append(lists.Path[:0], g.place.path...),
		Heads:    append(lists.Heads[:0], g.heads()...),
		Heard:    g.heard(lists.Heard[:0]),
		Buffered: len(g.buffer.kept),
		Size:     int(g.size()),
	}
	for _, c := range g.links.children {
		st.Children = append(st.Children, c.id)
	}
	return true
}

// Counters returns what the node counted so far.
func (n *Node) Counters() Counters { return n.count }

// Coord returns where the node believes it is in the network.
func (n *Node) Coord() Coord { return n.at.Coord }
