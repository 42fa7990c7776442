package tree

// Many hear of a good place before word of who took it has come to them: while hundreds of
// thousands join within a minute, one that rose from below may be asked by a thousand nodes
// in five seconds, for whom it still has a dozen places and two nodes below it. The coin
// does not hold them back, and by their estimates it is the best for all of them. Nor does
// it keep a whole region from asking the one in it whose own line is short, which is the
// nearest to ten thousand. So in a large tree each leaves out most of those that it could
// ask, at random, and they ask different ones.
//
// Who searches in vain leaves out fewer. Searches count by the place, not by the pause
// between them: who hangs too deep does not slow down, and has to get away from there.
//
// Those who have many below them look for each other, are few in a region, and all remember
// the same: in a scaled-down world half of what the busiest was asked came from them, and of
// that half from some that had asked it before. So in a large tree names come with how many
// are below them (nearby.go), by which the coin holds back whose rank is lower; and one that
// has many below it is passed over as long as it is among the latest asked.
//
// While members join, the size of a tree is overestimated, and for a while the rule holds in
// smaller ones too: among 100,000 it does.

const (
	shareFrom  = 1 << 17 // nodes in the tree; fewer do not meet so
	shareOf    = 1 << 15 // of all nodes as many may ask one,
	shareLeast = 1. / 8  // but at least this part of those that would
)

// large reports whether the tree is one in which that is so.
func (g *group) large() bool { return g.size() >= shareFrom }

// share is the chance with which this node may ask anybody at all.
func (n *Node) share(g *group) float64 {
	if !g.large() {
		return 1
	}
	searches := max(g.tune.slow, g.tune.vain)
	return min(eager(searches)*max(shareLeast, shareOf/float64(g.size())), 1)
}
