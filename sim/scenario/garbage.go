package scenario

import (
	"runtime/debug"
	"runtime/metrics"
)

// Looking for garbage takes a fifth of a run where little of it is let to pile up. It
// may pile up to lazyGC percent of what is held; where memory is plenty, to twice what
// a run holds, else to that, and then nobody looks before it has: the runtime does so every
// two minutes, and each time of a million nodes takes a quarter of one.
const (
	lazyGC    = 400
	leastHeap = 512 << 20
)

// garbage says how much garbage may pile up in a run that takes most of the memory.
//
// The runtime's limit is one of memory taken from the system, which is given back only where
// nothing at all is left in a page. So a run is at its limit once and stays there, however much
// was found to be garbage, and a limit alone has it look for garbage all the time: of a million
// transit–stub nodes three quarters of the time that items went out, while a sixth of the
// memory was free for the next messages. So from the first time on it looks when what lives has
// grown by a part of what the run may take.
type garbage struct {
	holds  uint64 // what the run takes; 0: memory is plenty, or the run small
	cycles uint64 // how often garbage was looked for, when that was last asked
}

// collect prepares the memory of a run that holds so much, on a machine that has so much, and
// returns what undoes it.
func (g *garbage) collect(holds, has uint64) (undo func()) {
	most, percent := holds, -1
	if 2*holds < has/2 {
		most, percent = 2*holds, lazyGC
	}
	if most >= leastHeap {
		largePages(most)
	}
	limit := debug.SetMemoryLimit(int64(max(most, leastHeap)))
	before := debug.SetGCPercent(percent)
	if percent < 0 && most >= leastHeap {
		g.holds = holds
		g.cycles, _ = looked()
	}
	return func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limit)
	}
}

// looked returns how often the runtime has looked for garbage, and how much lived the last time.
func looked() (cycles, live uint64) {
	s := [2]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// tend says anew how much garbage may pile up, if it was looked for since the last time.
func (g *garbage) tend() {
	if g.holds == 0 {
		return
	}
	cycles, live := looked()
	if cycles == g.cycles {
		return
	}
	g.cycles = cycles
	debug.SetMemoryLimit(int64(g.holds / 100 * guard))
	debug.SetGCPercent(mayPileUp(live, g.holds))
}

const (
	guard      = 102 // the limit from then on, in percent of what a run takes: the runtime keeps three of them free
	pilesPart  = 45  // of what is left, in percent
	pilesLeast = 5
)

// mayPileUp is how much garbage may pile up beside what lives, in percent of it: less than half of
// what is left. The rest is what comes while it is looked for, and holes that nothing fits into.
func mayPileUp(live, holds uint64) int {
	if live == 0 || live >= holds {
		return pilesLeast
	}
	return max(pilesLeast, int(pilesPart*(holds-live)/live))
}
