package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// becomeTop makes this node the top of its tree: nobody closer can be reached,
// so it is the root as well. What its predecessor held, the nodes nearest to
// the key may hold too.
func (n *Node) becomeTop(g *group) {
	g.seek = seek{}
	g.fresh = false
	g.place = place{top: true, attached: true, said: said{sent: g.place.sent}}
	g.duty = duty{root: true, pause: rootCheck}
	n.keepTop(g)
	n.announce(g)
	n.found(g)
	n.notice(Notice{Kind: Attached, Group: g.id, Root: true})
	n.askHeads(g, n.router.Closest(g.id.Key(), n.cfg.Replicas), 0)
}

// keepTop plans when to look around again.
func (n *Node) keepTop(g *group) {
	g.seek = seek{}
	g.duty.pause = max(g.duty.pause, rootCheck)
	g.duty.check = n.step.now + n.jitter(g.duty.pause, 0.25)
	// A node at the top of many trees looks around for each of them less often.
	g.duty.pause = min(2*g.duty.pause, rootCheckTo*time.Duration(1+len(n.order)/rootShare))
}

// resign follows from a parent: who has one is not the top. It stays root for
// as long as the top says so.
func (n *Node) resign(g *group) {
	if g.duty.root && g.duty.until == 0 {
		g.duty.until = n.step.now + rootTerm
	}
	g.duty.check, g.duty.pause = 0, 0
	if n.publishes(g) {
		n.wantTop(g)
	}
}

// isRoot reports whether the overlay's routes to the group end here.
func (g *group) isRoot(now time.Duration) bool {
	return g.duty.root && (g.duty.until == 0 || now < g.duty.until)
}

// lookAround is the top's alarm, and that of a publisher which is not the top.
func (n *Node) lookAround(g *group) {
	g.duty.check = n.step.now + rootCheck
	switch {
	case g.seek.on || g.seek.looking:
	case !g.place.top && n.publishes(g) && g.place.attached && !n.cfg.Leaf:
		n.claimTop(g)
	case !g.place.top:
		g.duty.check = 0
	case n.publishes(g) && !n.cfg.Leaf:
		n.lookup(g)
	default:
		n.checkTop(g)
	}
}

// checkTop looks whether somebody closer than this top can be reached now; it
// then joins that node, and two trees become one.
func (n *Node) checkTop(g *group) {
	if hops := n.routeTo(g); len(hops) > 0 {
		n.seekParent(g, hops, false)
		return
	}
	n.lookup(g)
}

// routes reacts to a changed routing table where it matters: tops may have
// somebody closer now, searches may get further.
func (n *Node) routes() {
	for _, g := range n.order {
		switch {
		case g.place.top:
			if _, ok := n.router.NextHop(g.id.Key()); ok {
				n.touch(g)
				g.duty.check = min(orNever(g.duty.check), n.step.now+n.jitter(tellAfter, 0.5))
			}
		case g.seek.on && g.seek.target == "" && !g.seek.looking && !g.apart:
			n.touch(g)
			g.seek.at = min(g.seek.at, n.step.now+n.jitter(tellAfter, 0.5))
		}
	}
}

// A publisher that promises heartbeats becomes the top of its tree: its events
// then need no way up first. It claims the place from the top of the day, which
// joins it like any child; the publisher leaves its own parent when that comes.
// The nodes between keep their places and find better ones. The root stays
// where the overlay's routes end and passes joiners on; the top looks it up from
// time to time and tells it so. Two claims meet where the trees do, and the
// lower ID gives way to nobody.

// publishes reports whether this node has promised heartbeats of a line.
func (n *Node) publishes(g *group) bool {
	return slices.ContainsFunc(g.lines, func(l *line) bool { return l.own && l.beatAt != 0 })
}

// wantTop makes a publisher look around soon.
func (n *Node) wantTop(g *group) {
	if !n.cfg.Leaf && !g.place.top && g.duty.check == 0 {
		g.duty.check = n.step.now + n.jitter(claimWait, 0.5)
		n.touch(g)
	}
}

func (n *Node) claimTop(g *group) {
	g.duty.claimed = n.step.now
	g.duty.pause = min(max(2*g.duty.pause, rootCheck), rootCheckTo)
	g.duty.check = n.step.now + n.jitter(g.duty.pause, 0.25)
	n.crown(g, g.place.path[0], n.self, 0)
}

func (n *Node) crown(g *group, to, top overlay.ID, f Flags) {
	m := &Message{Type: Crown, Group: g.id, Flags: f, Peers: []overlay.ID{top}}
	if f&Rendezvous != 0 {
		own := n.standing(g)
		m.Self = &own
	}
	n.send(to, m)
}

// crowns makes this node, which claimed the top, take it from an ancestor that
// comes to hang below it. It reports false if there was no claim.
func (n *Node) crowns(g *group) bool {
	if !n.publishes(g) || g.duty.claimed == 0 || n.step.now-g.duty.claimed > 2*n.cfg.Patience {
		return false
	}
	n.leaveParent(g)
	g.seek, g.tune.s = seek{}, nil
	g.place = place{top: true, attached: true, said: said{sent: g.place.sent}}
	g.duty = duty{root: g.isRoot(n.step.now), pause: rootCheck, check: n.step.now + n.jitter(claimWait, 0.5)}
	n.announce(g)
	n.notice(Notice{Kind: Attached, Group: g.id, Root: true})
	return true
}

// nameRoot takes the lookup of a publisher at the top: the node nearest to the
// key is told that it is the root.
func (n *Node) nameRoot(g *group, closer []overlay.ID, ok bool) {
	if !ok {
		g.duty.pause = 0 // soon again: others may be looking for this tree
	} else {
		g.duty.root, g.duty.until = len(closer) == 0, 0
	}
	if len(closer) > 0 {
		n.crown(g, closer[0], n.self, Rendezvous)
	}
	n.keepTop(g)
}

// onCrown heeds a claim to the top, or hands it to the top of this node's tree.
func (n *Node) onCrown(from overlay.ID, m *Message) {
	g := n.find(m.Group)
	switch {
	case len(m.Peers) != 1 || m.Peers[0] == n.self || n.closed:
		return
	case g == nil && (m.Flags&Rendezvous == 0 || n.cfg.Leaf || len(n.order) >= maxGroups):
		return
	case g == nil:
		g = n.group(m.Group)
	}
	n.touch(g)
	if m.Flags&Rendezvous != 0 && from == m.Peers[0] {
		g.duty.root, g.duty.until, g.duty.aside = true, n.step.now+rootTerm, ""
		g.lease = n.step.now + n.cfg.Lease
		if m.Self != nil && m.Self.Weight > replicateTo {
			g.duty.aside = from
			if n.standsAside(g, m.Self.Weight) {
				return
			}
		}
	}
	if g.duty.heeded != 0 && n.step.now-g.duty.heeded < claimWait {
		return
	}
	g.duty.heeded = n.step.now
	n.heed(g, m.Peers[0])
}

// standsAside takes a root that serves nobody out of a tree that is large enough to
// do without it, so that no payload comes to a node that does not want any. It
// stays where the overlay's routes end and sends joiners to the top, and its
// children too where these are few. It reports false if the root has to
// stay in the tree for now.
func (n *Node) standsAside(g *group, size uint32) bool {
	switch {
	case g.member || g.place.top:
		return false
	case len(g.links.children) == 0:
		n.rest(g)
		return true
	case int(size) <= 2*n.cfg.Children:
		for i := range g.links.children {
			n.dismiss(g, i, Moved, g.duty.aside)
		}
	}
	return false
}

// wayIn is where a root that stands aside sends a joiner: to the top. Who comes
// again did not get in there, and hangs below the root, which then looks for the
// tree as anybody does.
func (n *Node) wayIn(g *group, from overlay.ID, m *Message) (top overlay.ID, ok bool) {
	aside := g.duty.aside != "" && g.isRoot(n.step.now) && g.place.parent == "" && !g.place.top && !g.seek.on
	return g.duty.aside, aside && m.Ver == 0 && from != g.duty.aside
}

func (n *Node) heed(g *group, claimer overlay.ID) {
	switch {
	case g.seek.on && !g.seek.moving && g.seek.target == "" && !g.seek.looking:
		n.seekParent(g, []overlay.ID{claimer}, false)
	case g.seek.on && !g.seek.moving:
	case g.place.top && n.publishes(g) && n.self < claimer:
		n.crown(g, claimer, n.self, 0)
	case g.place.top:
		n.seekParent(g, []overlay.ID{claimer}, false)
		g.seek.routed, g.seek.looked = true, true
	case g.place.parent == "":
		n.seekParent(g, []overlay.ID{claimer}, false)
	case g.place.path[0] != claimer && g.place.attached:
		n.crown(g, g.place.path[0], claimer, 0)
	}
}
