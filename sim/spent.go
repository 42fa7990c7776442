package sim

import (
	"slices"
	"sync"

	"github.com/feedtree/feedtree/multicast/tree"
)

// Spent messages are used again, by the lane at which they arrived. One lane gets more
// than it sends and another sends more than it gets: what the first has too many of goes
// to whoever has none, or among a million nodes they come to take gigabytes.
type spent struct {
	mu   sync.Mutex
	lots [][]*tree.Message
}

// spentLot is how many change hands at once; a lane keeps fewer than three of them.
const spentLot = 512

// even takes a lot from a lane that has three, or gives one to a lane that has no message.
func (s *spent) even(own *[]*tree.Message) {
	switch n := len(*own); {
	case n == 0:
		s.mu.Lock()
		if last := len(s.lots) - 1; last >= 0 {
			*own = append(*own, s.lots[last]...)
			s.lots = s.lots[:last]
		}
		s.mu.Unlock()
	case n >= 3*spentLot:
		lot := slices.Clone((*own)[n-spentLot:])
		*own = (*own)[:n-spentLot]
		s.mu.Lock()
		s.lots = append(s.lots, lot)
		s.mu.Unlock()
	}
}
