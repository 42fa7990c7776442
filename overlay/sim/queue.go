package sim

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// An item is an event's place in time. Ties at one instant are broken by a
// number drawn from the seed, so that no node is first by its index.
type item struct {
	at   time.Duration
	tie  uint64
	slot int32 // of the event in the agenda
}

func (a item) before(b item) bool { return a.at < b.at || a.at == b.at && a.tie < b.tie }

func (a item) compare(b item) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Compare(a.tie, b.tie)
}

// A slice of time is what the agenda sorts at once.
const (
	sliceBits = 20 // of nanoseconds: about a millisecond
	ringBits  = 17 // slices ahead: over two minutes
	ring      = 1 << ringBits
	chunkBits = 10 // events that are made together
)

// An agenda holds the events to come. Those of the current slice of time stand in
// order, and what comes into it meanwhile, or before it, in a small heap. Those of the
// next two minutes lie unsorted in the bins of their slice, so that an event costs the same
// whatever the number of those that wait; what is further away waits in a heap of its own.
type agenda[M any] struct {
	chunks [][]event[M] // events by slot: they never move
	unused []int32      // slots that are free, the last one is taken first
	count  int

	current  int64  // the slice that now and soon hold
	now      []item // in order; those before next are done,
	next     int
	read     int               // and those before read were read ahead
	soon     heap              // what came into the slice since
	slices   []pile            // by slice modulo ring
	occupied [ring / 64]uint64 // which of them are not empty
	bins     bins
	late     heap
}

func (a *agenda[M]) event(slot int32) *event[M] {
	return &a.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

// push takes an event in.
func (a *agenda[M]) push(e event[M]) {
	if len(a.unused) == 0 {
		a.grow()
	}
	last := len(a.unused) - 1
	slot := a.unused[last]
	a.unused = a.unused[:last]
	*a.event(slot) = e
	a.count++
	it := item{e.at, e.tie, slot}
	switch s := int64(e.at) >> sliceBits; {
	case s <= a.current:
		a.soon.push(it)
	case s-a.current < ring:
		k := s & (ring - 1)
		a.slices[k] = a.bins.put(a.slices[k], slot)
		a.occupied[k/64] |= 1 << (k % 64)
	default:
		a.late.push(it)
	}
}

func (a *agenda[M]) grow() {
	if a.slices == nil {
		a.slices = make([]pile, ring)
	}
	first := int32(len(a.chunks) << chunkBits)
	a.chunks = append(a.chunks, make([]event[M], 1<<chunkBits))
	for slot := first + 1<<chunkBits - 1; slot >= first; slot-- {
		a.unused = append(a.unused, slot)
	}
}

// head returns the place in time of the next event; false if there is none.
func (a *agenda[M]) head() (item, bool) {
	if a.count == 0 {
		return item{}, false
	}
	if a.next == len(a.now) && len(a.soon) == 0 {
		a.advance()
	}
	if a.inOrder() {
		return a.now[a.next], true
	}
	return a.soon[0], true
}

// inOrder reports whether the next event is one of those in order, not one that came since.
func (a *agenda[M]) inOrder() bool {
	return a.next < len(a.now) && (len(a.soon) == 0 || a.now[a.next].before(a.soon[0]))
}

// pop takes the next event out. There must be one.
func (a *agenda[M]) pop() event[M] {
	it, _ := a.head()
	if a.inOrder() {
		a.next++
	} else {
		a.soon.pop()
	}
	at := a.event(it.slot)
	e := *at
	*at = event[M]{}
	a.unused = append(a.unused, it.slot)
	a.count--
	return e
}

// advance goes to the next slice that has events and sorts them.
func (a *agenda[M]) advance() {
	s, found := a.occupiedAfter(a.current)
	if len(a.late) > 0 {
		if t := int64(a.late[0].at) >> sliceBits; !found || t < s {
			s = t
		}
	}
	a.current = s
	a.now, a.next, a.read = a.now[:0], 0, 0
	k := s & (ring - 1)
	for p := a.slices[k]; p != 0; {
		var slots []int32
		slots, p = a.bins.drop(p)
		for _, slot := range slots {
			e := a.event(slot)
			a.now = append(a.now, item{e.at, e.tie, slot})
		}
	}
	a.slices[k] = 0
	a.occupied[k/64] &^= 1 << (k % 64)
	for len(a.late) > 0 && int64(a.late[0].at)>>sliceBits <= s {
		a.now = append(a.now, a.late.pop())
	}
	slices.SortFunc(a.now, item.compare)
}

// occupiedAfter returns the first slice after s that has events hanging on it.
func (a *agenda[M]) occupiedAfter(s int64) (int64, bool) {
	s++
	for end := s + ring; s < end; {
		k := s & (ring - 1)
		if word := a.occupied[k/64] >> (k % 64); word != 0 {
			return s + int64(bits.TrailingZeros64(word)), true
		}
		s += 64 - k%64
	}
	return 0, false
}

// A heap has four children per item: it is half as deep as a binary one, and
// the four share one or two cache lines.
type heap []item

func (q *heap) push(it item) {
	h := append(*q, it)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !it.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = it
	*q = h
}

func (q *heap) pop() item {
	h := *q
	top := h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(last) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = last
	return top
}
