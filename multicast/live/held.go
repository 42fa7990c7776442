package live

import (
	"bytes"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// What may wait for its key to become known. It is little on purpose: the
// events are verified but nobody vouches for their keys, and whoever loses one
// here finds the gap in its line later and asks for it.
const (
	maxHeld        = 64
	maxHeldInGroup = 16
	maxHeldBytes   = 1 << 20
	maxHeldFor     = time.Minute
)

// held keeps events whose source the judge does not know yet. It is safe for
// concurrent use.
//
// Invariant: no event is held on a judgement older than the latest recheck of
// any group; otherwise the recheck that was meant for it would have missed it.
type held struct {
	mu         sync.Mutex
	generation uint64 // rechecks so far
	waiting    []heldItem
	bytes      int
}

type heldItem struct {
	item
	until time.Time
}

func (h *heldItem) group() multicast.Group { return h.input.Msg.Group }

// now returns the number of rechecks so far. A judgement that begins here is
// handed to put together with it.
func (h *held) now() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.generation
}

// put holds an item. again is true if a recheck came between: then the item
// is to be judged once more. Otherwise why says why it is not held, if so.
func (h *held) put(generation uint64, it item, until time.Time) (why reason, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if generation != h.generation {
		return "", true
	}
	size, inGroup := len(it.env.Wire()), 0
	for i := range h.waiting {
		if bytes.Equal(h.waiting[i].env.Wire(), it.env.Wire()) {
			return heldAgain, false
		}
		if h.waiting[i].group() == it.input.Msg.Group {
			inGroup++
		}
	}
	if len(h.waiting) >= maxHeld || inGroup >= maxHeldInGroup || h.bytes+size > maxHeldBytes {
		return heldFull, false
	}
	h.waiting = append(h.waiting, heldItem{it, until})
	h.bytes += size
	return "", false
}

// recheck takes out all that waits in a group, oldest first.
func (h *held) recheck(g multicast.Group) []heldItem {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.generation++
	return h.take(func(it *heldItem) bool { return it.group() == g })
}

// expire drops what waited too long and returns how much that was.
func (h *held) expire(now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.take(func(it *heldItem) bool { return !now.Before(it.until) }))
}

func (h *held) take(which func(*heldItem) bool) (taken []heldItem) {
	kept := h.waiting[:0]
	for i := range h.waiting {
		if it := h.waiting[i]; which(&it) {
			taken = append(taken, it)
			h.bytes -= len(it.env.Wire())
		} else {
			kept = append(kept, it)
		}
	}
	clear(h.waiting[len(kept):])
	h.waiting = kept
	return taken
}
