package schedule

import (
	"bytes"
	"slices"
	"time"
)

const (
	smallestCrew = 2 // so that the next poll is another's, and confirms or contradicts the last
	largestCrew  = 8 // so that those who take over from the dead have their turn within T/N
)

// crewSize is how many share the polls of a feed.
func (v *Volunteer) crewSize() int { return min(max(v.cfg.Overload, smallestCrew), largestCrew) }

// crew is who polls, in the order of their latest polls: the first is next. All
// who hear the same outcomes know the same crew.
type crew []turn

type turn struct {
	by Source
	at time.Duration
}

// polled moves who polled to the end. Whose turn it was before has missed it, and
// is of the crew no more. Polls that crossed are ordered by who made them, since
// not everybody hears them in the same order.
func (c crew) polled(at time.Duration, by Source, size int, crossing time.Duration) crew {
	if i := slices.IndexFunc(c, func(t turn) bool { return t.by == by }); i >= 0 {
		if at < c[i].at {
			return c // an old word
		}
		c = slices.Delete(c, 0, i+1)
	}
	i := len(c)
	for i > 0 && (c[i-1].at > at+crossing || c[i-1].at >= at-crossing && compare(by, c[i-1].by) < 0) {
		i--
	}
	c = slices.Insert(c, i, turn{by, at})
	return slices.Delete(c, 0, max(len(c)-size, 0))
}

// without is the crew after one has left it.
func (c crew) without(who Source) crew {
	return slices.DeleteFunc(c, func(t turn) bool { return t.by == who })
}

// rank is how many come before somebody, and false if he is not of the crew.
func (c crew) rank(who Source) (int, bool) {
	i := slices.IndexFunc(c, func(t turn) bool { return t.by == who })
	return i, i >= 0
}

func compare(a, b Source) int { return bytes.Compare(a[:], b[:]) }

// counter holds the times of the latest outcomes.
type counter []time.Duration

func (c *counter) add(at time.Duration) {
	i, _ := slices.BinarySearch(*c, at)
	*c = slices.Insert(*c, i, at)
	*c = slices.Delete(*c, 0, max(len(*c)-64, 0))
}

// pace is how far apart the latest outcomes are, typically.
func (c counter) pace() time.Duration {
	latest := c[max(len(c)-8, 0):]
	gaps := make([]time.Duration, 0, len(latest))
	for i := 1; i < len(latest); i++ {
		gaps = append(gaps, latest[i]-latest[i-1])
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

func (c counter) since(at time.Duration) int {
	i, found := slices.BinarySearch(c, at)
	for found && i < len(c) && c[i] == at {
		i++
	}
	return len(c) - i
}
