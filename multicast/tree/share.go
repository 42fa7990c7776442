package tree

// Many hear of a good place before word of who took it has come to them: while hundreds of
// thousands join within a minute, one that rose from below may be asked by a thousand nodes
// in five seconds, for whom it still has a dozen places and two nodes below it. The coin
// does not hold them back, and by their estimates it is the best for all of them. So in a
// large tree each leaves out most of those that it could ask, at random, and they ask
// different ones. Who searches in vain leaves out fewer.
//
// The same holds for the nearest that each remembers. Whose own line is short is the nearest
// to ten thousand in its region, and until it is known to have many below it no coin holds
// them back: among a million, while they joined, most of some 500 requests in five seconds
// came to it so.

const (
	shareFrom  = 1 << 17 // nodes in the tree; fewer do not meet so
	shareOf    = 1 << 15 // of all nodes as many may ask one,
	shareLeast = 1. / 8  // but at least this part of those that would,
	shareNear  = 2       // and of those to whom it is one of the nearest so many times fewer
)

// share is the chance with which this node may ask anybody at all.
func (n *Node) share(g *group) float64 {
	size := g.size()
	if size < shareFrom {
		return 1
	}
	return min(n.often(g)*max(shareLeast, shareOf/float64(size)), 1)
}

// shareOfNear is the chance with which it may ask one of those nearest to it.
func (n *Node) shareOfNear(g *group) float64 {
	if g.size() < shareFrom {
		return 1
	}
	return n.share(g) / shareNear
}
