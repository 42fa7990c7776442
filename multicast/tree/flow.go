package tree

import (
	"bytes"
	"math"
	"slices"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// arrival is how an event came.
type arrival struct {
	from    overlay.ID // empty: published here
	via     multicast.Via
	hops    uint8
	want    uint8
	replica bool
}

// onData takes an event, already verified, from a neighbour.
func (n *Node) onData(from overlay.ID, m *Message) {
	if m.Event == nil {
		n.count.Malformed++
		return
	}
	g := n.find(m.Event.Group)
	a := arrival{from: from, via: m.Via, hops: m.Hops + 1, want: m.Want, replica: m.Flags&Replica != 0}
	if a.hops == 0 {
		a.hops--
	}
	switch {
	case g == nil && a.replica && !n.closed && len(n.order) < maxGroups:
		g = n.group(m.Event.Group)
	case g == nil:
		n.count.Unasked++
		n.send(from, &Message{Type: Drop, Group: m.Event.Group, Edge: m.Edge, Reason: Unknown})
		return
	case m.Via == multicast.ViaTree && !a.replica && !g.near(from):
		n.count.Unasked++ // an edge in the making or gone; the event is good all the same
		n.send(from, &Message{Type: Drop, Group: g.id, Edge: m.Edge, Reason: Unknown})
	}
	n.touch(g)
	if a.replica {
		g.lease = n.step.now + n.cfg.Lease
	}
	n.take(g, m.Event, a)
}

// take accepts an event that is new here, delivers it and passes it on.
func (n *Node) take(g *group, ev *multicast.Event, a arrival) bool {
	l := n.lineFor(g, ev.Stamp)
	if l == nil {
		n.count.LinesFull++
		return false
	}
	n.compareWords(g, l, ev)
	if ev.Stamp.Heartbeat() {
		if !n.takeBeat(g, l, ev) {
			return false
		}
	} else if !n.takeEvent(g, l, ev, a) {
		return false
	}
	n.live(l, ev, a)
	n.credit(g, a)
	n.hand(g, l, ev, a)
	n.forward(g, ev, a)
	n.checkGap(g, l)
	return true
}

// lineFor returns the line a stamp belongs to, made or moved to a new epoch if
// need be; nil if there is no room for another source.
func (n *Node) lineFor(g *group, s multicast.Stamp) *line {
	l := g.line(s.Source)
	if l == nil {
		if !n.roomForLine(g) {
			return nil
		}
		l = &line{source: s.Source}
		g.lines = append(g.lines, l)
	}
	switch {
	case l.epoch == 0 && s.Heartbeat() && (l.old || g.fresh):
		l.startFresh(s.Epoch, s.Seq)
		l.need = s.Seq + 1 // what was before one came is not missed
	case l.epoch == 0 && l.old:
		l.startFresh(s.Epoch, s.Seq)
	case l.epoch == 0:
		l.startEpoch(s.Epoch, s.Seq, pullMax)
	case s.Epoch > l.epoch:
		l.leaveEpoch()
		l.startEpoch(s.Epoch, s.Seq, pullMax)
		l.beat = nil
	}
	return l
}

// roomForLine makes room for another source, at the cost of one that only
// hearsay spoke of, that was not heard since a restart, or that was silent
// longest, if it was silent for an hour.
func (n *Node) roomForLine(g *group) bool {
	if len(g.lines) < n.cfg.Lines {
		return true
	}
	worst := -1
	for i, l := range g.lines {
		idle := l.epoch == 0 || l.heard == 0 || n.step.now-l.heard > n.cfg.Lease
		if idle && !l.own && (worst < 0 || l.heard < g.lines[worst].heard) {
			worst = i
		}
	}
	if worst < 0 {
		return false
	}
	g.lines = append(g.lines[:worst], g.lines[worst+1:]...)
	return true
}

// roomForOwn makes room for what this node itself has to say, whoever else
// speaks: at the cost of the line that was heard last longest ago.
func (n *Node) roomForOwn(g *group, own multicast.Source) {
	if g.line(own) != nil || n.roomForLine(g) {
		return
	}
	worst := -1
	for i, l := range g.lines {
		if !l.own && (worst < 0 || l.heard < g.lines[worst].heard) {
			worst = i
		}
	}
	if worst >= 0 {
		g.lines = slices.Delete(g.lines, worst, worst+1)
	}
}

func (n *Node) takeBeat(g *group, l *line, ev *multicast.Event) bool {
	s := ev.Stamp
	switch {
	case s.Epoch < l.epoch || s.Seq < l.high:
		n.count.Stale++
		return false
	case s.Beat <= l.lastBeat():
		n.count.Duplicates++
		return false
	}
	n.raise(g, l, s.Seq)
	l.beat = ev
	l.note(ev)
	n.checkLink(g, l, ev)
	return true
}

func (n *Node) takeEvent(g *group, l *line, ev *multicast.Event, a arrival) bool {
	s := ev.Stamp
	switch {
	case s.Seq == 0:
		n.count.Malformed++
		return false
	case s.Epoch < l.epoch:
		return n.takeLate(g, l, ev, a)
	case l.has(s.Seq):
		n.count.Duplicates++
		n.again(g, l, ev, a)
		return false
	}
	n.raise(g, l, s.Seq)
	l.accept(s.Seq)
	l.note(ev)
	n.checkLink(g, l, ev)
	g.buffer.add(kept{event: ev, from: a.from, want: a.want}, &n.cfg)
	return true
}

// again handles an event that is here already: the parent was only slow, and
// a source that asks again for receipts gets them, this node's own and, as far as
// they reach, those of neighbours, to whom the question is handed on. Who pushes
// something else at the same place is shown what is held, and gets no receipt: the
// source lost its state, or it lies.
func (n *Node) again(g *group, l *line, ev *multicast.Event, a arrival) {
	if a.from == g.place.parent && g.place.blame > 0 {
		g.place.blame--
	}
	k := g.buffer.find(ev.Stamp)
	switch {
	case k == nil || a.from == "":
		return
	case k.event.Tag != ev.Tag, ev.Tag == multicast.Tag{} && !bytes.Equal(k.event.Body, ev.Body):
		if a.via == multicast.ViaTree && !g.forks.known(ev.Stamp) { // what answers is not answered
			n.send(a.from, &Message{Type: Data, Group: g.id, Via: multicast.ViaLazy, Event: k.event})
		}
		return
	case a.want == 0 || l.own:
		return
	}
	k.want, k.passed, k.from = a.want, 0, a.from
	if k.stored {
		n.receipt(g, k)
	}
	if a.hops < receiptHops {
		n.askOn(g, ev, a)
	}
}

// askOn hands a question for receipts on, to no more neighbours than are wanted.
func (n *Node) askOn(g *group, ev *multicast.Event, a arrival) {
	left := int(a.want)
	if p := g.place; p.parent != "" && p.parent != a.from {
		n.push(g, p.parent, p.edge, ev, a)
		left--
	}
	for _, c := range g.links.children {
		if left > 0 && c.id != a.from {
			n.push(g, c.id, c.edge, ev, a)
			left--
		}
	}
	if g.isRoot(n.step.now) && !a.replica && left > 0 {
		n.replicate(g, ev, a)
	}
}

// raise moves a line's head and reports what fell out of its window.
func (n *Node) raise(g *group, l *line, seq uint64) {
	if from, to := l.raise(seq); from != 0 {
		n.missing(g, l, from, to)
	}
}

// live notes the sign of life that any new event of a source is.
func (n *Node) live(l *line, ev *multicast.Event, a arrival) {
	if !ev.Stamp.Heartbeat() {
		n.comes(l, a)
	}
	l.heard, l.ttl = n.step.now, ev.TTL
	l.overdue = 0
	if ev.TTL > 0 {
		l.overdue = n.step.now + 2*ev.TTL
	}
}

// credit keeps account of whether the parent forwards (FeedTree §4.5.2: route
// around interior nodes that fail to).
func (n *Node) credit(g *group, a arrival) {
	p := &g.place
	switch {
	case p.parent == "" || a.from == "" || a.replica:
	case a.from == p.parent:
		p.blame = 0
	case a.via == multicast.ViaLazy && g.child(a.from) < 0:
		n.expect(p.parent, 0)
		if p.blame = min(p.blame+1, math.MaxInt16-1); p.blame >= blameLimit && !g.seek.on {
			p.blame = 0
			n.move(g)
		}
	}
}

// hand gives an event to the application: to a member as news, to a node near
// the root to keep.
func (n *Node) hand(g *group, l *line, ev *multicast.Event, a arrival) {
	if a.via == multicast.ViaParent || a.via == multicast.ViaLazy {
		n.count.Recovered++
	}
	switch {
	case a.from == "":
	case g.member:
		n.count.Delivered++
		n.step.out.Deliveries = append(n.step.out.Deliveries, multicast.Delivery{
			Event: *ev, From: a.from, Via: n.ways(g, a), Hops: int(a.hops), Asked: l.recovery.asks(a), Cursor: l.cursorOf(ev.Stamp)})
	case ev.Stamp.Heartbeat():
	case g.isRoot(n.step.now) || a.replica:
		g.lease = n.step.now + n.cfg.Lease
		n.step.out.Kept = append(n.step.out.Kept, *ev)
	}
}

// forward passes a new event on along every edge but the one it came by, and
// tells its head to lazy links and, as an acknowledgement, to who sent it.
//
// What was pushed or published goes everywhere. What was sent after a join or
// pulled from the parent is new below only. What a lazy link had is missing
// above too, or would have come from there. In a huge tree what came by an edge in the making, or by
// one that is gone, is new below only.
func (n *Node) forward(g *group, ev *multicast.Event, a arrival) {
	var room [childrenUsual]served
	for _, c := range n.firstServed(g, room[:0]) {
		if c.id != a.from {
			n.push(g, c.id, c.edge, ev, a)
		}
	}
	up := a.via == multicast.ViaTree && !g.fromAbove(a) || a.via == multicast.ViaLazy
	if p := g.place; p.parent != "" && p.parent != a.from && up {
		n.push(g, p.parent, p.edge, ev, a)
	} else if p.parent != "" && !up {
		n.tell(p.parent, g)
	}
	for _, p := range g.links.lazy {
		n.tellPair(p, g)
	}
	n.tell(a.from, g)
	if g.isRoot(n.step.now) && !a.replica && !ev.Stamp.Heartbeat() {
		n.replicate(g, ev, a)
	}
}

func (n *Node) push(g *group, to overlay.ID, edge uint64, ev *multicast.Event, a arrival) {
	m := &Message{Type: Data, Group: g.id, Edge: edge, Via: multicast.ViaTree, Hops: a.hops, Event: ev}
	if a.hops < receiptHops {
		m.Want = a.want
	}
	n.send(to, m)
	within := expectWait
	if g.streams(n.step.now) {
		within *= streamRarer
	}
	n.expect(to, within)
}

// publish sends an event of this node's own line to the group.
func (n *Node) publish(in Input) {
	g := n.group(in.Event.Group)
	s := in.Event.Stamp
	n.roomForOwn(g, s.Source)
	want := uint8(min(max(in.Want, 0), 16))
	if k := g.buffer.find(s); k != nil && !s.Heartbeat() {
		k.want, k.from = want, "" // published again: what neighbours hold already, they say
		n.forward(g, &in.Event, arrival{want: want})
	} else {
		n.take(g, &in.Event, arrival{want: want})
	}
	if l := g.line(s.Source); l != nil {
		l.own, l.overdue, l.beatAt = true, 0, 0
		if in.Event.TTL > 0 {
			l.beatAt = n.step.now + in.Event.TTL - in.Event.TTL/10
			n.wantTop(g)
			n.lookAgain(g)
		}
	}
	n.needPlace(g)
}

// catchUp sends a new child what it missed since its cursor, oldest first, as
// far as the buffer goes; to one without any cursor all of it.
func (n *Node) catchUp(g *group, to overlay.ID, m *Message) {
	for i := range g.buffer.kept {
		ev := g.buffer.kept[i].event
		if behind(m.Heads, ev.Stamp) {
			n.send(to, &Message{Type: Data, Group: g.id, Via: multicast.ViaCatchUp, Event: ev})
		}
	}
	for _, l := range g.lines {
		if l.beat != nil && behind(m.Heads, l.beat.Stamp) {
			n.send(to, &Message{Type: Data, Group: g.id, Via: multicast.ViaCatchUp, Event: l.beat})
		}
	}
}

// behind reports whether heads do not cover a stamp.
func behind(heads []multicast.Stamp, s multicast.Stamp) bool {
	i := of(heads, s.Source)
	return i < 0 || heads[i].Compare(s) < 0
}
