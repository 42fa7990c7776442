package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// A node that has sent as much as it may goes on as a leaf: what it publishes itself
// and what its neighbours must hear to know that it is there still goes out, payload of
// others does not. Its children are not left in the lurch. They are told first where
// else there is a place, keep this parent until they have one, and are cut after a
// while with the names of others.

// sparing takes that the node must send nothing for others from now on, or may.
func (n *Node) sparing(on bool) {
	if n.cfg.Sparing == on {
		return
	}
	n.cfg.Sparing = on
	for _, g := range n.order {
		n.touch(g)
		if f := g.links.full; f != nil {
			f.shedAt = 0
		}
		if on && len(g.links.children) > 0 {
			n.sendAway(g)
		}
	}
}

// sendAway asks the children to find another parent: this node's own, or else the one
// of them that has most room, which is left for last.
func (n *Node) sendAway(g *group) {
	heir := g.place.parent
	if heir == "" {
		heir = slices.MaxFunc(g.links.children, func(a, b child) int {
			return int(a.stand.Room) - int(b.stand.Room)
		}).id
	}
	for i := range g.links.children {
		if g.links.children[i].id != heir {
			n.count.Spared++
			n.dismiss(g, i, Moved, heir)
		}
	}
	g.links.filled().shedAt = n.step.now + 2*n.cfg.Patience
}

// shed cuts the children that did not find another parent by themselves.
func (n *Node) shed(g *group) {
	g.links.filled().shedAt = 0
	for len(g.links.children) > 0 {
		c := g.links.children[0]
		others := n.lightest(g, c.id)
		if g.place.parent != "" {
			others = append([]overlay.ID{g.place.parent}, others...)
		}
		n.dismiss(g, 0, Full, others...)
		n.cutChild(g, 0)
		n.count.Spared++
	}
	n.dropIfIdle(g)
}
