package scenario

import "runtime/debug"

// What a run needs, a little garbage included: a node with its routing table,
// and beside it each membership. Measured over a million nodes of one feed (static: 11.8 KB
// each once the tree has settled, 2.6 KB lost between objects, and room for garbage) and
// over 50 nodes of 400 feeds each (idle: 138 MiB). What is under way at once is not in it:
// that million took 18.7 GiB while its items went out, where this says 15.6.
const (
	nodeBytes   = 9600
	memberBytes = 7 << 10
)

// oneFeed is what a world takes in which every node is in one feed.
func oneFeed(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + memberBytes) }

// Needs says how much memory a run needs at least, in words, if it is so much that one
// wants to know before; else nothing.
func (s Scenario) Needs(cfg Config) string {
	if s.check(&cfg) != nil || s.memory == nil || s.memory(cfg) < worthSaying {
		return ""
	}
	return memory(s.memory(cfg))
}

const worthSaying = 1 << 30

// Looking for garbage takes a fifth of a run where little of it is let to pile up. It
// may pile up to lazyGC percent of what is held; where memory is plenty, to twice what
// a run needs, else to that.
const (
	lazyGC    = 400
	leastHeap = 512 << 20
)

// collect prepares the memory of a run: it sets how much garbage may pile up and returns
// what undoes it.
func collect(needs, has uint64) (undo func()) {
	most := needs
	if 2*needs < has/2 {
		most = 2 * needs
	}
	if most >= leastHeap {
		largePages(most)
	}
	limit := debug.SetMemoryLimit(int64(max(most, leastHeap)))
	percent := debug.SetGCPercent(lazyGC)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
