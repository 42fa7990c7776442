package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// join is the application's: from now on events are delivered here.
func (n *Node) join(in Input) {
	g := n.group(in.Group)
	g.fresh = !g.member && in.Cursor == nil
	if !g.member {
		g.member = true
		n.member++
	}
	n.restore(g, in.Recent)
	n.resume(g, in.Cursor)
	if g.links.walkAt == 0 {
		g.links.walkAt = n.step.now + n.jitter(walkFrom, 0.5)
	}
	n.needPlace(g)
}

func (n *Node) needPlace(g *group) {
	if g.place.parent == "" && !g.place.top && !g.seek.on {
		n.seekParent(g, nil, false)
	}
}

// leave is the application's: the node stays only if others hang below it.
func (n *Node) leave(g *group) {
	n.touch(g)
	g.apart = false
	if g.member {
		g.member = false
		n.member--
	}
	for _, l := range g.lines {
		l.own, l.beatAt = false, 0
	}
	g.links.walkAt = 0
	for len(g.links.lazy) > 0 {
		n.dropLazy(g, g.links.lazy[0].id, true)
	}
	n.dropIfIdle(g)
}

// dropIfIdle leaves the tree if this node serves nobody in it.
func (n *Node) dropIfIdle(g *group) {
	n.touch(g)
	switch {
	case g.over || g.member || len(g.links.children) > 0:
		return
	case !g.idle(n.step.now):
		n.rest(g)
		return
	}
	n.leaveParent(g)
	for len(g.links.lazy) > 0 {
		n.dropLazy(g, g.links.lazy[0].id, true)
	}
	g.seek = seek{}
	g.over = true
	delete(n.groups, g.id)
	n.order = slices.DeleteFunc(n.order, func(o *group) bool { return o == g })
	n.notice(Notice{Kind: GroupDropped, Group: g.id})
}

// rest leaves the tree and keeps the events, for as long as the lease goes. A
// join wakes the group up.
func (n *Node) rest(g *group) {
	n.leaveParent(g)
	g.seek, g.place, g.tune = seek{}, place{said: said{sent: g.place.sent}}, tune{}
	if g.duty.aside == "" || !g.isRoot(n.step.now) {
		g.duty = duty{}
	}
}

// close tells every neighbour, so that nobody has to find out.
func (n *Node) close() {
	for _, g := range n.order {
		n.touch(g)
		var hints []overlay.ID
		if g.place.parent != "" {
			hints = []overlay.ID{g.place.parent}
		}
		for len(g.links.children) > 0 {
			n.dismiss(g, 0, Closing, hints...)
			n.cutChild(g, 0)
		}
		for len(g.links.lazy) > 0 {
			n.dropLazy(g, g.links.lazy[0].id, true)
		}
		n.leaveParent(g)
		g.seek, g.place, g.lines, g.lease = seek{}, place{said: said{sent: g.place.sent}}, nil, 0
		g.tune, g.duty = tune{}, duty{}
		g.links.walkAt, g.links.swap, g.links.full = 0, nil, nil
	}
	n.closed = true
}
