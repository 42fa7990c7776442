package sim

import "time"

// An item is an event's place in time. Ties at one instant are broken by a
// number drawn from the seed, so that no node is first by its index.
type item struct {
	at   time.Duration
	tie  uint64
	slot int32 // of the event in the net's arena
}

func (a item) before(b item) bool { return a.at < b.at || a.at == b.at && a.tie < b.tie }

// A queue is a 4-ary heap of items: half as deep as a binary one, and the four
// children share one or two cache lines.
type queue []item

func (q *queue) push(it item) {
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

func (q *queue) pop() item {
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
