package sim

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// connected reports whether i takes the peer for connected.
func (n *Net[M]) connected(i, peer int32) bool {
	if l := n.linkOf(i, peer); l != nil {
		return l.life() != dialling
	}
	return n.holds(i, peer)
}

// delay is the way of one message from a to b.
func (n *Net[M]) delay(a, b int32, draw uint64) time.Duration {
	from, to := &n.nodes[a], &n.nodes[b]
	return n.cfg.Latency(from.place, to.place, draw) + from.slow + to.slow
}

func (n *Net[M]) rtt(a, b int32) time.Duration {
	const middle = 1 << 63
	return n.delay(a, b, middle) + n.delay(b, a, middle)
}

// A load is a message with its measure.
type load[M any] struct {
	msg  M
	kind uint8
	size uint32
}

// send puts m on the way from a. (Invariants 2 and 4.)
func (n *Net[M]) send(a int32, to overlay.ID, m load[M]) {
	b, known := n.index(to)
	if !known {
		n.whole(a, func() { n.sendOn(a, n.admitted(to), m) })
		return
	}
	n.sendOn(a, b, m)
}

func (n *Net[M]) sendOn(a, b int32, m load[M]) {
	if a == b {
		panic(fmt.Sprintf("sim: node %q sends to itself", n.nodes[a].id))
	}
	by := n.laneOf(a)
	by.counts.Sent++
	by.counts.Bytes += uint64(m.size)
	l := n.linkOf(a, b)
	if l == nil {
		l = n.connect(a, b)
	}
	var wait time.Duration
	if l.life() != dialling {
		wait = n.uplink(a, m.size)
	}
	switch {
	case l.life() != dialling && l.life() == n.nodes[b].life && n.reach(a, b):
		e := event[M]{op: opMessage, from: a, to: b, life: l.life(), mate: n.nodes[a].life, kind: m.kind, size: m.size, left: by.now + wait, msg: m.msg}
		n.transmit(&e, l)
		return
	case l.life() != dialling && n.reach(a, b):
		// The peer was restarted and knows nothing of the connection: it says so.
		n.push(by.now+n.rtt(a, b), n.goneEvent(a, b, l.life()))
	}
	n.lose(by, &event[M]{from: a, to: b, kind: m.kind, size: m.size, msg: m.msg})
}

// uplink takes a's uplink for a message and returns how long from now it takes
// until the last of its bytes has left. What goes to a peer that is not there
// any more leaves like everything else; only an unfinished dial holds it back.
func (n *Net[M]) uplink(a int32, size uint32) time.Duration {
	nd := &n.nodes[a]
	if nd.upload <= 0 {
		return 0
	}
	now := n.at(a)
	nd.busy = max(nd.busy, now) + time.Duration(int64(size)*8*int64(time.Second)/nd.upload)
	return nd.busy - now
}

// connect makes the connection that a's first message to b needs.
func (n *Net[M]) connect(a, b int32) *link {
	believed := n.holds(a, b)
	if !n.reach(a, b) || !n.dialable(a, b) {
		return n.connectInVain(a, b, believed)
	}
	by := n.laneOf(a)
	life, next := n.nodes[b].life, by.now+n.delay(a, b, 1<<63)
	e := event[M]{op: opOpen, from: a, to: b, life: life, mate: n.nodes[a].life}
	n.post(by, next, opened|mix(n.pos[a], n.pos[b])>>2, &e)
	if !believed {
		by.counts.Dials++
		next += n.rtt(a, b) + 1
		if n.nodes[b].hidden {
			next += 2 * n.rtt(a, b)
		}
	}
	n.insert(a, b)
	return n.setLink(a, linkTo(b, life, next))
}

// openEnd makes the other end of a connection, once word of it comes. If who was
// meant is not there any more, who makes it has to notice.
func (n *Net[M]) openEnd(e *event[M]) {
	a, b := e.from, e.to
	to, from := &n.nodes[b], &n.nodes[a]
	if !from.alive || from.life != e.mate || to.side != from.side {
		return // a's end is gone, or a cut will be noticed
	}
	if to.alive && to.life == e.life {
		n.setLink(b, linkTo(a, e.mate, 0))
		n.insert(b, a)
		return
	}
	by := n.laneOf(b)
	at := by.now + n.delay(b, a, 1<<63)
	if !to.alive && to.cutOf == e.life {
		at = max(at, to.died+n.cfg.Detect)
	}
	gone := n.goneEvent(a, b, e.life)
	n.post(by, at, mix(mix(n.pos[a], n.pos[b]), uint64(at))|drawn, &gone)
}

// dialable reports whether a connection from a to b comes about, should both be up.
func (n *Net[M]) dialable(a, b int32) bool {
	x, y := &n.nodes[a], &n.nodes[b]
	return !y.hidden || n.cfg.Punches != nil && (!x.hidden || x.holes && y.holes)
}

// connectInVain: a either still believes in a connection that is broken and
// will notice in time, or dials and gives up.
func (n *Net[M]) connectInVain(a, b int32, believed bool) *link {
	if believed {
		life, at := n.nodes[b].life, n.noticed(a, b)
		n.push(at, n.goneEvent(a, b, life))
		if n.nodes[b].alive { // behind a cut, which may heal in time: b has its end too
			n.setLink(b, linkTo(a, n.nodes[a].life, 0))
			n.push(at, n.goneEvent(b, a, n.nodes[a].life))
		}
		return n.setLink(a, linkTo(b, life, 0))
	}
	by := n.laneOf(a)
	by.counts.Dials++
	e := n.alone(opDial, a)
	e.from = b
	n.push(by.now+n.cfg.Dial, e)
	return n.setLink(a, linkTo(b, dialling, 0))
}

// noticed is when a notices that b, which it cannot reach, is not there.
func (n *Net[M]) noticed(a, b int32) time.Duration {
	x, y := &n.nodes[a], &n.nodes[b]
	broken := y.died
	if y.alive {
		broken = max(x.since, y.since)
	}
	return max(broken+n.cfg.Detect, n.at(a))
}

// goneEvent tells a that its connection to that life of peer is lost.
func (n *Net[M]) goneEvent(a, peer int32, mate uint32) event[M] {
	e := n.alone(opGone, a)
	e.from, e.mate = peer, mate
	return e
}

// transmit sends a message over an open link once the uplink has it out.
func (n *Net[M]) transmit(e *event[M], l *link) {
	a, b := e.from, e.to
	by := n.laneOf(a)
	f := n.faultsOf(a, b)
	if f.Loss > 0 && unit(n.draw(a)) < f.Loss {
		n.lose(by, e)
		return
	}
	at := e.left + n.delay(a, b, n.draw(a))
	if f.Reorder > 0 && unit(n.draw(a)) < f.Reorder {
		at += span(n.draw(a), f.By)
	} else {
		at = max(at, l.next())
		l.after(at)
	}
	n.post(by, at, n.draw(a)|drawn, e)
	if f.Duplicate > 0 && unit(n.draw(a)) < f.Duplicate {
		by.counts.Duplicated++
		e.msg = n.cfg.Clone(e.msg)
		at = max(l.next(), at+1)
		l.after(at)
		n.post(by, at, n.draw(a)|drawn, e)
	}
}

func (n *Net[M]) lose(at *lane[M], e *event[M]) {
	at.counts.Lost++
	n.traceMessage(at, Lost, e.from, e.to, &e.msg, e.kind, e.size)
}

// receive hands a message over, unless the connection it travelled on broke
// under way.
func (n *Net[M]) receive(e *event[M]) {
	to, from := &n.nodes[e.to], &n.nodes[e.from]
	at := n.laneOf(e.to)
	unsent := from.cutOf == e.mate && from.cut < e.left
	if !to.alive || to.life != e.life || to.side != from.side || unsent {
		n.lose(at, e)
		return
	}
	at.counts.Received++
	n.traceMessage(at, Received, e.from, e.to, &e.msg, e.kind, e.size)
	to.host.Receive(at.now, from.id, e.msg)
	n.arm(e.to)
}

// gone tells a node that a connection is lost, if it still is.
func (n *Net[M]) gone(e *event[M]) {
	l := n.linkOf(e.to, e.from)
	if l == nil || l.life() != e.mate {
		return
	}
	if n.reach(e.to, e.from) && n.nodes[e.from].life == e.mate {
		return // the partition healed in time
	}
	n.dropLink(e.to, e.from)
	n.setDown(e.to, e.from)
	n.tellGone(e.to, e.from)
}

func (n *Net[M]) dialFailed(e *event[M]) {
	l := n.linkOf(e.to, e.from)
	if l == nil || l.life() != dialling {
		return
	}
	n.dropLink(e.to, e.from)
	n.evict(e.to, e.from)
	n.tellGone(e.to, e.from)
}

func (n *Net[M]) tellGone(i, peer int32) {
	n.trace(Gone, peer, i)
	n.nodes[i].host.Gone(n.at(i), n.nodes[peer].id)
}
