package gossip

import (
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// What may wait for its key to become known: little, since nobody vouches for it
// and whoever loses one here finds the hole later.
const (
	maxHeld        = 64
	maxHeldInGroup = 16
	maxHeldBytes   = 1 << 20
	maxHeldFor     = time.Minute
)

// held keeps events whose source the judge does not know yet. It is safe for
// concurrent use. No event is held on a judgement older than the latest recheck.
type held struct {
	mu         sync.Mutex
	generation uint64
	waiting    []waiting
	bytes      int
}

type waiting struct {
	arrival
	until time.Time
}

func (h *held) now() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.generation
}

// put holds an event judged in a generation; again says that a recheck came
// between. Otherwise why says why it is not held, if so.
func (h *held) put(generation uint64, a arrival) (why string, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if generation != h.generation {
		return "", true
	}
	size, inGroup := len(a.env.Wire()), 0
	for i := range h.waiting {
		if h.waiting[i].group == a.group {
			inGroup++
		}
	}
	if len(h.waiting) >= maxHeld || inGroup >= maxHeldInGroup || h.bytes+size > maxHeldBytes {
		return whyFull, false
	}
	h.waiting = append(h.waiting, waiting{a, time.Now().Add(maxHeldFor)})
	h.bytes += size
	return "", false
}

// recheck takes out what waits in a group, oldest first.
func (h *held) recheck(g multicast.Group) []waiting {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.generation++
	return h.take(func(w *waiting) bool { return w.group.id == g })
}

// expire drops and counts what waited too long.
func (h *held) expire(now time.Time, c *counts) {
	h.mu.Lock()
	old := h.take(func(w *waiting) bool { return !now.Before(w.until) })
	h.mu.Unlock()
	for range old {
		c.refuse(whyExpired)
	}
}

func (h *held) take(which func(*waiting) bool) (taken []waiting) {
	kept := h.waiting[:0]
	for i := range h.waiting {
		if w := h.waiting[i]; which(&w) {
			taken = append(taken, w)
			h.bytes -= len(w.env.Wire())
		} else {
			kept = append(kept, w)
		}
	}
	clear(h.waiting[len(kept):])
	h.waiting = kept
	return taken
}
