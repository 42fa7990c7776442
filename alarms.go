package feedtree

import (
	"container/heap"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// alarm is a channel's place in the heap of those that want to be looked at.
type alarm struct {
	at  time.Duration
	pos int // -1: not in the heap
}

// alarms orders channels by time.
type alarms []*channel

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].alarm.at < a[j].alarm.at }
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].alarm.pos, a[j].alarm.pos = i, j
}

// Push implements heap.Interface.
func (a *alarms) Push(x any) {
	ch := x.(*channel)
	ch.alarm.pos = len(*a)
	*a = append(*a, ch)
}

// Pop implements heap.Interface.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	ch := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	ch.alarm.pos = -1
	return ch
}

// set puts a channel at a time; Never takes it out.
func (a *alarms) set(ch *channel, at time.Duration) {
	ch.alarm.at = at
	switch {
	case at == schedule.Never && ch.alarm.pos >= 0:
		heap.Remove(a, ch.alarm.pos)
	case at == schedule.Never:
	case ch.alarm.pos < 0:
		heap.Push(a, ch)
	default:
		heap.Fix(a, ch.alarm.pos)
	}
}

func (a alarms) next() time.Duration {
	if len(a) == 0 {
		return schedule.Never
	}
	return a[0].alarm.at
}
