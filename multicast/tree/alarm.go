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
	heap   []ringing
	serial uint64
}

// ringing is an alarm in the heap. What orders it stands here too: most alarms
// are moved far more often than they ring.
type ringing struct {
	at     time.Duration
	serial uint64
	alarm  *alarm
}

func (a *alarms) init(al *alarm) {
	a.serial++
	al.serial, al.pos, al.at = a.serial, -1, never
}

// set moves an alarm to a time; never takes it out.
func (a *alarms) set(al *alarm, at time.Duration) {
	switch {
	case al.pos >= 0 && al.at == at:
	case at == never && al.pos >= 0:
		a.remove(al)
	case at == never:
	case al.pos < 0:
		al.pos = len(a.heap)
		a.heap = append(a.heap, ringing{at, al.serial, al})
		a.up(al.pos)
	case at > al.at:
		a.heap[al.pos].at = at
		a.down(al.pos)
	default:
		a.heap[al.pos].at = at
		a.up(al.pos)
	}
	al.at = at
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
	al := a.heap[0].alarm
	a.remove(al)
	return al
}

func (a *alarms) remove(al *alarm) {
	i, last := al.pos, len(a.heap)-1
	moved := a.heap[last]
	a.heap[last] = ringing{}
	a.heap = a.heap[:last]
	al.pos = -1
	if i < last {
		a.put(i, moved)
		a.down(i)
		a.up(i)
	}
}

func (a *alarms) put(i int, r ringing) {
	a.heap[i] = r
	r.alarm.pos = i
}

func (r *ringing) before(o *ringing) bool {
	return r.at < o.at || r.at == o.at && r.serial < o.serial
}

func (a *alarms) up(i int) {
	r := a.heap[i]
	for i > 0 && r.before(&a.heap[(i-1)/2]) {
		a.put(i, a.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	a.put(i, r)
}

func (a *alarms) down(i int) {
	r := a.heap[i]
	for {
		child := 2*i + 1
		if child+1 < len(a.heap) && a.heap[child+1].before(&a.heap[child]) {
			child++
		}
		if child >= len(a.heap) || !a.heap[child].before(&r) {
			break
		}
		a.put(i, a.heap[child])
		i = child
	}
	a.put(i, r)
}
