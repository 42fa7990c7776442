package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
)

// Spent messages are used again, by the lane at which they arrived. One lane gets more
// than it sends and another sends more than it gets: what the first has too many of goes
// to whoever has none, or among a million nodes they come to take gigabytes. They would
// too if those were kept that were on their way at the busiest time, while nodes join: lots
// that nobody wanted for a while are let go of.
type spent struct {
	mu    sync.Mutex
	lots  [][]*tree.Message
	least int           // how few there were since
	since time.Duration // they were looked at
}

const (
	spentLot = 512              // how many change hands at once; a lane keeps fewer than three of them
	idleFor  = 10 * time.Second // and nobody wants a lot again that was not wanted for so long
)

// even takes a lot from a lane that has three, or gives one to a lane that has no message.
func (s *spent) even(own *[]*tree.Message, now time.Duration) {
	switch n := len(*own); {
	case n == 0:
		s.mu.Lock()
		if last := len(s.lots) - 1; last >= 0 {
			*own = append(*own, s.lots[last]...)
			s.lots[last] = nil
			s.lots = s.lots[:last]
			s.least = min(s.least, last)
		}
		s.mu.Unlock()
	case n >= 3*spentLot:
		lot := slices.Clone((*own)[n-spentLot:])
		clear((*own)[n-spentLot:])
		*own = (*own)[:n-spentLot]
		s.mu.Lock()
		s.lots = append(s.lots, lot)
		s.letGo(now)
		s.mu.Unlock()
	}
}

// letGo lets go of the lots that were there all the time since it last did.
func (s *spent) letGo(now time.Duration) {
	if now-s.since < idleFor {
		return
	}
	s.lots = slices.Delete(s.lots, 0, s.least)
	s.least, s.since = len(s.lots), now
}
