package scenario

// What a run holds, as measured: a node with its routing table, and one more
// for each feed that it is a member of.
const (
	nodeBytes   = 8 << 10
	memberBytes = 6 << 10
)

// oneFeed is what a world takes in which every node is in one feed.
func oneFeed(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + memberBytes) }
