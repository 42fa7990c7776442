package tree

// dialable takes that others can dial this node from now on, or that nobody can:
// it then is no root any more, and hands what it is the root of to whoever can be
// dialled. Its children stay: what connects them to it stands.
func (n *Node) dialable(yes bool) {
	if n.cfg.Leaf != yes {
		return
	}
	n.cfg.Leaf = !yes
	for _, g := range n.order {
		switch {
		case n.cfg.Leaf && g.place.top:
			g.duty.check = n.step.now + n.jitter(tellAfter, 0.5)
			n.touch(g)
		case n.cfg.Leaf && g.duty.root:
			g.duty.root, g.duty.until = false, 0
		case !n.cfg.Leaf && g.seek.on && g.seek.target == "" && !g.seek.looking:
			g.seek.at = n.step.now + n.jitter(tellAfter, 0.5)
			n.touch(g)
		case !n.cfg.Leaf && n.publishes(g):
			n.wantTop(g)
		}
	}
}

// barren reports whether a joiner finds no place with a child, nor below it: it
// offers none and has no children. So says who cannot be dialled.
func (c *child) barren() bool {
	return c.stand.Weight == 1 && c.stand.Room == 0
}
