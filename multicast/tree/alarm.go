package tree

import "time"

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// alarm is one object's next wish to be woken. It sits in a heap ordered by
// time, then by serial number, so that equal times ring in a fixed order.
type alarm struct {
	at     time.Duration
	serial uint64
	pos    int // place in the heap, -1 if not in it
	group  *group
	pair   *pair
}

type alarms struct {
	heap   []*alarm
	serial uint64
}

func (a *alarms) init(al *alarm) {
	a.serial++
	al.serial, al.pos, al.at = a.serial, -1, never
}

// set moves an alarm to a time; never takes it out.
func (a *alarms) set(al *alarm, at time.Duration) {
	al.at = at
	switch {
	case at == never && al.pos >= 0:
		a.remove(al)
	case at == never:
	case al.pos < 0:
		al.pos = len(a.heap)
		a.heap = append(a.heap, al)
		a.up(al.pos)
	default:
		a.down(al.pos)
		a.up(al.pos)
	}
}

func (a *alarms) next() time.Duration {
	if len(a.heap) == 0 {
		return never
	}
	return a.heap[0].at
}

// due takes out and returns the first alarm that has rung by now, or nil.
func (a *alarms) due(now time.Duration) *alarm {
	if a.next() > now {
		return nil
	}
	al := a.heap[0]
	a.remove(al)
	return al
}

func (a *alarms) remove(al *alarm) {
	i, last := al.pos, len(a.heap)-1
	a.swap(i, last)
	a.heap[last] = nil
	a.heap = a.heap[:last]
	al.pos = -1
	if i < last {
		a.down(i)
		a.up(i)
	}
}

func (a *alarms) less(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	return x.at < y.at || x.at == y.at && x.serial < y.serial
}

func (a *alarms) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.heap[i].pos, a.heap[j].pos = i, j
}

func (a *alarms) up(i int) {
	for i > 0 && a.less(i, (i-1)/2) {
		a.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (a *alarms) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			return
		}
		if child+1 < len(a.heap) && a.less(child+1, child) {
			child++
		}
		if !a.less(child, i) {
			return
		}
		a.swap(i, child)
		i = child
	}
}
