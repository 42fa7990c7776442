package scenario

// What a run holds until items go out, with room for garbage: a node with its routing
// table, and beside it each membership. Measured over a million nodes of one feed (static:
// 10.6 KB each once the tree has settled, 11.4 while items go out, and some 3 of holes that nothing
// fits in: 15.4 GiB at most) and over 50 nodes of 400 feeds each (idle: 138 MiB). With a third of
// a GB to spare garbage was looked for all the time that items went out, five times with one and a
// half. Where nodes come and go it grows for an hour, as buffers fill and lists of who was met:
// 10,000 nodes with sessions of five minutes held 161 MB at first and 306 MB at last. Where the
// limit was no more than that, looking for garbage took two fifths of the time.
const (
	nodeBytes   = 9100
	memberBytes = 7700
	livesBytes  = 30000
)

// summit is what a run that holds so much takes at its height.
func summit(holds uint64) uint64 { return holds / 64 * 65 }

// oneFeed is what a world takes in which every node is in one feed.
func oneFeed(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + memberBytes) }

// manyLives is the same where nodes come and go for an hour.
func manyLives(c Config) uint64 { return oneFeed(c) + uint64(c.Nodes)*livesBytes }

// Needs says how much memory a run needs at least, in words, if it is so much that one
// wants to know before; else nothing.
func (s Scenario) Needs(cfg Config) string {
	if s.check(&cfg) != nil || s.memory == nil || summit(s.memory(cfg)) < worthSaying {
		return ""
	}
	return memory(summit(s.memory(cfg)))
}

const worthSaying = 1 << 30
