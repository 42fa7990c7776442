// Package limbo holds verified events whose source nobody knows yet, a few of them
// and not for long.
//
// It is little on purpose: nobody vouches for the keys of these events, and whoever
// loses one finds the gap in its line later and asks for it.
//
// # Invariants
//
//  1. No event is held on a judgement older than the latest recheck of any group;
//     otherwise the recheck that was meant for it would have missed it.
//  2. No more than [Most] are held, [MostInGroup] of one group, [MostBytes] in all,
//     and none twice.
package limbo

import (
	"bytes"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// The bounds.
const (
	Most        = 64
	MostInGroup = 16
	MostBytes   = 1 << 20
	MostTime    = time.Minute
)

// Outcome is what came of an event that was to be held.
type Outcome uint8

// The outcomes.
const (
	Held    Outcome = iota + 1
	Judge           // a recheck came in between: it may be known by now
	Already         // it is held
	Full            // there is no room for it
)

// Limbo holds what its owner keeps of each event in a T. The zero value is empty. It
// is safe for concurrent use.
type Limbo[T any] struct {
	mu         sync.Mutex
	generation uint64 // rechecks so far
	waiting    []Waiting[T]
	bytes      int
}

// Waiting is an event that is held.
type Waiting[T any] struct {
	Of    T
	Until time.Time

	env *signing.Envelope
}

// Now returns the number of rechecks so far. A judgement that begins here is handed
// to Put together with it.
func (l *Limbo[T]) Now() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

// Put holds an event that was judged in a generation.
func (l *Limbo[T]) Put(generation uint64, env *signing.Envelope, of T, until time.Time) Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		return Judge
	}
	inGroup := 0
	for i := range l.waiting {
		if bytes.Equal(l.waiting[i].env.Wire(), env.Wire()) {
			return Already
		}
		if l.waiting[i].env.Group == env.Group {
			inGroup++
		}
	}
	if len(l.waiting) >= Most || inGroup >= MostInGroup || l.bytes+len(env.Wire()) > MostBytes {
		return Full
	}
	l.waiting = append(l.waiting, Waiting[T]{of, until, env})
	l.bytes += len(env.Wire())
	return Held
}

// Recheck takes out all that waits in a group, oldest first.
func (l *Limbo[T]) Recheck(g multicast.Group) []Waiting[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	return l.take(func(w *Waiting[T]) bool { return w.env.Group == g })
}

// Expire drops what waited too long and returns how much that was.
func (l *Limbo[T]) Expire(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.take(func(w *Waiting[T]) bool { return !now.Before(w.Until) }))
}

// Bytes returns the length of what is held.
func (l *Limbo[T]) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

func (l *Limbo[T]) take(which func(*Waiting[T]) bool) (taken []Waiting[T]) {
	kept := l.waiting[:0]
	for i := range l.waiting {
		if w := l.waiting[i]; which(&w) {
			taken = append(taken, w)
			l.bytes -= len(w.env.Wire())
		} else {
			kept = append(kept, w)
		}
	}
	clear(l.waiting[len(kept):])
	l.waiting = kept
	return taken
}
