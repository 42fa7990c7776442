package tree

// In a tree of a million somebody moves at every moment, and what the tree tells of itself is never
// all true: who moved is counted at both places for a second, so that the size told is up to twice the
// true one, and heights are those of seconds ago. Smaller trees come to rest and then it is true: they are
// left alone by these rules. What they are for was seen in whole trees of a million and in a small network of
// Scribe's shape; they were not all tried one by one.
//
//   - How deep the tree may become follows from no more than a quarter of the size told, and is a hop more
//     than elsewhere: by the size told a tree that needs five hops took itself for one of six, now and then,
//     and where nobody may use a hop more than needed nodes seek depth, and give up delay for it.
//   - Nobody chooses to exceed that depth: no hop more is borne, and a child that is sent away goes no deeper than it
//     hangs because somebody else does (farTooDeep), for there always is one.
//   - A child that measures where it could go leaves out where those below it would come to be too deep,
//     by what it knows of them itself and a level more; until it is told to go, or not, it takes in nobody
//     who would be. Whoever is sent to a place looks again when it is there, and who has one is taken in
//     nowhere where it would be too deep. That somebody has come to hang at the limit, or nearly, is told
//     at once. Several that were sent down within a second, each by a hop, took each other two hops too deep.
//     Who moves deeper by its own choice reckons with that level, too. All the same some of a million had
//     news by eight hops for a while, one more than the limit, and by seven a few seconds later.
//   - An event by an edge in the making, or one that is gone, is passed on downwards only. It comes from
//     above, and is on its way to the parent, too: upwards it came to some two hops from the top by six.
//   - Whose place is plainly bad searches on every few seconds. They found a place in nearly every search,
//     and made four in a minute.
//   - Who was measured to be near is remembered whatever its coordinate is worth. Where two hundred
//     nodes are a millisecond from each other the coordinates of most are off by more than that.

const (
	hugeFrom   = 1 << 19 // nodes in the tree, beyond which these rules hold
	sureOf     = 4       // of the size told, so many times fewer are certain
	hugeMore   = 1       // hops more
	hugeAstray = 4       // searchAstray
	hugeWaver  = 3 * askWait
)

func (g *group) huge() bool { return g.size() > hugeFrom }

// sure is how many nodes the tree has at the least.
func (g *group) sure() int {
	if g.huge() {
		return int(g.size() / sureOf)
	}
	return int(g.size())
}

// slowest is how many searches in vain slow down who hangs in a plainly bad place.
func (g *group) slowest() uint8 {
	if g.huge() {
		return hugeAstray
	}
	return searchAstray
}

// tooDeepMost is deeper than whom nobody hangs whom its parent sent away: by the hop that may be borne.
func (n *Node) tooDeepMost(g *group) int {
	if g.huge() {
		return n.depthLimit(g)
	}
	return n.depthLimit(g) + 1
}

// sinks reports whether somebody below this node would come to be too deep in the place that one offers, which is
// the at-th of those that the parent asked about: the first is who would hang where this node does.
func (n *Node) sinks(g *group, at int, offer *Message) bool {
	depth := len(offer.Path) + 1
	if at == 0 {
		depth = len(g.place.path) + 1
	}
	return g.huge() && depth+int(g.height())+g.unsure() > n.tooDeepMost(g)
}

// unsure is how many levels there may be below a node beside those that it knows of: each takes a while to tell it on.
func (g *group) unsure() int {
	if g.huge() && g.height() > 0 {
		return 1
	}
	return 0
}

// sinksHere reports whether a joiner that has a place would be too deep here; or, if all that it wants is a better
// one, if this node were sent down, as it may be at any moment.
func (n *Node) sinksHere(g *group, m *Message) bool {
	if !g.huge() || m.Flags&Detached != 0 || m.Self == nil {
		return false
	}
	depth := len(g.place.path) + 1
	if m.Flags&Better != 0 && n.step.now < g.place.wavers {
		depth++
	}
	return depth+int(m.Self.Height) > n.tooDeepMost(g)
}

// deepens reports whether the tree below this node has grown, and nearly to the limit, since the parent was told.
func (n *Node) deepens(g *group) bool {
	return g.huge() && g.height() > g.place.told.height && len(g.place.path)+int(g.height()) >= n.depthLimit(g)-1
}

// fromAbove reports whether an event came by an edge in the making, or by one that is gone.
func (g *group) fromAbove(a arrival) bool {
	return g.huge() && a.from != "" && !a.replica && !g.near(a.from)
}
