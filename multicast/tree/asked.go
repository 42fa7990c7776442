package tree

import (
	"slices"
	"time"
)

// What a search hears of are mostly those that the last one heard of, and of them the same
// seem best: half of all probes went to somebody who had said no within the last 40 s. So
// the latest that were asked are passed over while one search follows the other, and others
// get their turn.

const (
	askedMost = 16
	askedFor  = 30 * time.Second // without a search; by then things may have changed
)

// asked is whom the latest searches asked, by their short. One in some hundred millions is
// taken for another, and passed over.
type asked struct {
	ids  [askedMost]uint32
	next uint8
	last time.Duration
}

func (a *asked) add(id uint32, now time.Duration) {
	a.ids[a.next%askedMost] = id
	a.next++
	a.last = now
}

func (a *asked) has(id uint32) bool { return slices.Contains(a.ids[:], id) }

// expire forgets all of them if nobody was asked for a while.
func (a *asked) expire(now time.Duration) {
	if now-a.last > askedFor {
		*a = asked{}
	}
}
