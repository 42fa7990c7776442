package sim

import (
	"fmt"
	"time"
)

type op uint8

const (
	opMessage op = iota
	opGone       // the connection of to and from is lost as to sees it
	opDial       // to gives up reaching from
	opRoutes     // tell to that its table changed
	opTick       // to may have reached its deadline
	opLooked     // do has the result for to
	opNoticed    // those who hold to in their tables learn that it is down
	opCut        // the two sides of a partition notice
	opRefresh    // to looks after disconnected peers in its table
	opRejoin     // to finds the others again after a partition
	opControl    // do is the caller's
	opCall       // the same, at to
	opWalk       // to's lookup begins
	opOpen       // the connection that from makes reaches to
)

// An event is what is to happen. life and mate are the lives of to and from
// that it was made for. It fills one cache line of 64 bytes, no more and no less.
type event[M any] struct {
	at         time.Duration
	tie        uint64
	left       time.Duration // when a message is out of its sender's uplink
	msg        M
	from, to   int32 // of opControl, opCall, opWalk and opLooked, from is the call
	life, mate uint32
	size       uint32
	op         op
	kind       uint8
	_          [6]byte
}

// calls are the functions that events in the future call, by number.
type calls struct {
	all    []func(now time.Duration)
	unused []int32
}

func (c *calls) put(f func(time.Duration)) int32 {
	if k := len(c.unused); k > 0 {
		i := c.unused[k-1]
		c.unused = c.unused[:k-1]
		c.all[i] = f
		return i
	}
	c.all = append(c.all, f)
	return int32(len(c.all) - 1)
}

func (c *calls) take(i int32) func(time.Duration) {
	f := c.all[i]
	c.all[i] = nil
	c.unused = append(c.unused, i)
	return f
}

// Of the ties at one instant those of controls come first, then those of opOpen:
// both ends know of a connection before anything arrives on it.
const (
	drawn  = 1 << 63 // set in the tie of every other event
	opened = 1 << 62
)

// push queues an event with a tie that follows from what it is, not from when
// it was queued.
func (n *Net[M]) push(at time.Duration, e event[M]) {
	tie := mix(mix(n.cfg.Seed, uint64(at)), uint64(e.op))
	if e.from >= 0 {
		tie = mix(tie, n.pos[e.from])
	}
	by := &n.own
	if e.to >= 0 {
		tie = mix(tie, n.pos[e.to])
		by = n.laneOf(e.to)
	}
	n.post(by, at, tie|drawn, &e)
}

// post queues an event that a node of a lane makes.
func (n *Net[M]) post(by *lane[M], at time.Duration, tie uint64, e *event[M]) {
	e.at, e.tie = max(at, by.now), tie
	home := n.home(e)
	if n.open && home != by {
		n.putAway(by, home, e)
		return
	}
	home.agenda.push(*e)
}

// putAway keeps an event that a lane made in a window for another one, or the network.
func (n *Net[M]) putAway(by, home *lane[M], e *event[M]) {
	if by.away == nil {
		by.away = make([][]event[M], len(n.lanes)+1)
	}
	number := len(n.lanes)
	if home != &n.own {
		number = int(n.lane[e.to])
	}
	by.away[number] = append(by.away[number], *e)
}

// alone makes an event that concerns one node in its present life.
func (n *Net[M]) alone(o op, i int32) event[M] {
	return event[M]{op: o, from: -1, to: i, life: n.nodes[i].life}
}

func (n *Net[M]) handle(e *event[M]) {
	switch e.op {
	case opControl:
		n.own.calls.take(e.from)(n.own.now)
		return
	case opCall:
		n.call(e)
		return
	case opOpen:
		n.openEnd(e)
		return
	case opCut:
		n.noticeCut()
		return
	case opNoticed:
		n.noticeDeath(e.to, e.life)
		return
	case opMessage:
		n.receive(e)
		return
	}
	var do func(time.Duration)
	if e.op == opLooked || e.op == opWalk {
		do = n.own.calls.take(e.from)
	}
	nd := &n.nodes[e.to]
	if !nd.alive || nd.life != e.life {
		return
	}
	switch e.op {
	case opGone:
		n.gone(e)
	case opDial:
		n.dialFailed(e)
	case opRoutes:
		nd.flags &^= routesDue
		n.trace(Routes, -1, e.to)
		nd.host.Routes(n.at(e.to))
	case opTick:
		n.tick(e.to)
	case opLooked:
		n.trace(Looked, -1, e.to)
		do(n.own.now)
	case opWalk:
		do(n.own.now)
	case opRefresh:
		nd.flags &^= refreshDue
		n.refresh(e.to)
	case opRejoin:
		n.rejoin(e.to)
	}
	n.arm(e.to)
}

// call runs what was planned for a node, if it is up.
func (n *Net[M]) call(e *event[M]) {
	do := n.laneOf(e.to).calls.take(e.from)
	if n.nodes[e.to].alive {
		do(n.at(e.to))
		n.arm(e.to)
	}
}

// tick calls the host's Tick if its deadline is really reached: it may have
// moved since the event was queued.
func (n *Net[M]) tick(i int32) {
	nd := &n.nodes[i]
	now := n.at(i)
	if nd.tickAt > now {
		return // an earlier deadline was queued and passed; the later one is still there
	}
	nd.tickAt = Never
	if nd.host.Deadline() > now {
		return
	}
	n.trace(Ticked, -1, i)
	nd.host.Tick(now)
	if d := nd.host.Deadline(); d <= now {
		panic(fmt.Sprintf("sim: node %q wants its next tick at %v after one at %v: time would stand still", nd.id, d, now))
	}
}

// arm queues the host's next tick if none is queued as early. A deadline that
// moves away leaves the queued one, which finds out when it comes.
func (n *Net[M]) arm(i int32) {
	nd := &n.nodes[i]
	if !nd.alive {
		return
	}
	at := nd.host.Deadline()
	if at >= nd.tickAt {
		return
	}
	nd.tickAt = max(at, n.at(i))
	n.push(nd.tickAt, n.alone(opTick, i))
}
