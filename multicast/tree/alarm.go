package tree

import "time"

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// alarm is one object's next wish to be woken: its slot. It is in a heap ordered by
// time, then by serial number, so that equal times ring in a fixed order.
type alarm int32

// alarms are a node's. What moves when an alarm is set lies close together, apart
// from the objects: most alarms are moved far more often than they ring.
type alarms struct {
	heap   []ringing
	slots  []sleeper
	free   int32 // slots that nobody has, each naming the next; from one, 0 ends
	serial uint32
}

// alarmsUsual is how many a member has: one for each of a dozen neighbours, and its group's.
const alarmsUsual = dozen + 4

// ringing is an alarm in the heap.
type ringing struct {
	at     time.Duration
	serial uint32
	slot   int32
}

// sleeper is who is to be woken.
type sleeper struct {
	pos    int32 // place in the heap, -1 if not in it
	serial uint32
	group  *group
	pair   *pair
}

// add gives an object its alarm.
func (a *alarms) add(s sleeper) alarm {
	a.serial++
	s.pos, s.serial = -1, a.serial
	slot := a.free - 1
	if slot < 0 {
		slot = int32(len(a.slots))
		a.slots = append(tight(a.slots, alarmsUsual), s)
	} else {
		a.free = a.slots[slot].pos
		a.slots[slot] = s
	}
	return alarm(slot)
}

// drop takes the alarm of an object that is no more.
func (a *alarms) drop(al alarm) {
	a.set(al, never)
	a.slots[al] = sleeper{pos: a.free}
	a.free = int32(al) + 1
}

// set moves an alarm to a time; never takes it out.
func (a *alarms) set(al alarm, at time.Duration) {
	pos := int(a.slots[al].pos)
	switch {
	case pos >= 0 && a.heap[pos].at == at:
	case at == never && pos >= 0:
		a.remove(pos)
	case at == never:
	case pos < 0:
		a.heap = append(tight(a.heap, alarmsUsual), ringing{at, a.slots[al].serial, int32(al)})
		a.up(len(a.heap) - 1)
	case at > a.heap[pos].at:
		a.heap[pos].at = at
		a.down(pos)
	default:
		a.heap[pos].at = at
		a.up(pos)
	}
}

func (a *alarms) next() time.Duration {
	if len(a.heap) == 0 {
		return never
	}
	return a.heap[0].at
}

// due takes out the first alarm that has rung by now and returns whose it is; false
// if there is none.
func (a *alarms) due(now time.Duration) (sleeper, bool) {
	if a.next() > now {
		return sleeper{}, false
	}
	s := a.slots[a.heap[0].slot]
	a.remove(0)
	return s, true
}

func (a *alarms) remove(i int) {
	last := len(a.heap) - 1
	a.slots[a.heap[i].slot].pos = -1
	moved := a.heap[last]
	a.heap = a.heap[:last]
	if i < last {
		a.put(i, moved)
		a.down(i)
		a.up(i)
	}
}

func (a *alarms) put(i int, r ringing) {
	a.heap[i] = r
	a.slots[r.slot].pos = int32(i)
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
