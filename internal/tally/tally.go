// Package tally counts what was refused or dropped, by reason.
package tally

import (
	"maps"
	"strings"
	"sync"
)

// Most is how many reasons a tally tells apart: parts of some come from elsewhere.
const Most = 128

// Tally is a count for each reason. The zero value is empty. It is safe for
// concurrent use.
type Tally struct {
	mu sync.Mutex
	n  map[string]uint64
}

// Count adds one to a reason; "" is none. Beyond [Most] reasons, a new one is
// counted as what stands before its colon.
func (t *Tally) Count(why string) {
	if why == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.n[why]; !known && len(t.n) >= Most {
		why, _, _ = strings.Cut(why, ":")
		why += ": other"
	}
	if t.n == nil {
		t.n = make(map[string]uint64)
	}
	t.n[why]++
}

// All returns the counts so far, never nil.
func (t *Tally) All() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]uint64, len(t.n))
	maps.Copy(all, t.n)
	return all
}
