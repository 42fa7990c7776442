package tree

// becomeRoot makes this node the top of its tree: nobody closer can be reached.
// What its predecessor held, the nodes nearest to the key may hold too.
func (n *Node) becomeRoot(g *group) {
	g.seek = seek{}
	g.fresh = false
	g.place = place{root: true, attached: true, sent: g.place.sent, pause: rootCheck}
	n.keepRoot(g)
	n.announce(g)
	n.notice(Notice{Kind: Attached, Group: g.id, Root: true})
	n.askHeads(g, n.router.Closest(g.key, n.cfg.Replicas))
}

// keepRoot plans when to look for somebody closer again.
func (n *Node) keepRoot(g *group) {
	g.seek = seek{}
	g.place.check = n.step.now + n.jitter(g.place.pause, 0.25)
	g.place.pause = min(2*g.place.pause, rootCheckTo)
}

// checkRoot looks whether somebody closer than this root can be reached now;
// it then joins that node, and two trees become one.
func (n *Node) checkRoot(g *group) {
	g.place.check = n.step.now + rootCheck
	if g.seek.on || g.seek.looking {
		return
	}
	if hops := n.routeTo(g); len(hops) > 0 {
		n.seekParent(g, hops, false)
		return
	}
	n.lookup(g)
}

// routes reacts to a changed routing table where it matters: roots may have
// somebody closer now, searches may get further.
func (n *Node) routes() {
	for _, g := range n.order {
		switch {
		case g.place.root:
			if _, ok := n.router.NextHop(g.key); ok {
				n.touch(g)
				g.place.check = min(orNever(g.place.check), n.step.now+n.jitter(tellAfter, 0.5))
			}
		case g.seek.on && g.seek.target == "" && !g.seek.looking:
			n.touch(g)
			g.seek.at = min(g.seek.at, n.step.now+n.jitter(tellAfter, 0.5))
		}
	}
}
