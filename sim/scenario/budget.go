package scenario

// What a run holds at most, garbage included: a node with its routing table,
// and beside it each membership. Measured as the process's peak over 100,000
// nodes of one feed (static: 1.8 GB) and over 50 nodes of 400 feeds each (idle:
// 138 MiB).
const (
	nodeBytes   = 12 << 10
	memberBytes = 7 << 10
)

// oneFeed is what a world takes in which every node is in one feed.
func oneFeed(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + memberBytes) }
