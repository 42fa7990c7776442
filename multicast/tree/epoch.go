package tree

import (
	"slices"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// A source opens an epoch whenever its program starts, and each begins with the tag
// of the last event before it. What was said at the end of one may be overtaken by
// the next: it is taken all the same, for as long as it is known what came of that
// epoch; and where an epoch does not begin behind what is here, neighbours are asked
// for what they have in between. Where it does, they are asked whether its source
// passed over an epoch that it did not know of.

const (
	maxPast  = 8 // epochs of a line that late events are taken of
	askLater = 3 // neighbours that are asked
)

// past is what a node knows of an epoch of a line that is over.
type past struct {
	epoch, base, high uint64
	bits              [window / 64]uint64
	tag               multicast.Tag // of the event at high
}

// leaveEpoch remembers the epoch that ends, before the next one begins.
func (l *line) leaveEpoch() {
	l.past = append(l.past, past{epoch: l.epoch, base: l.base, high: l.high, bits: l.bits, tag: l.tag})
	if len(l.past) > maxPast {
		l.past = append(l.past[:0:0], l.past[1:]...)
	}
}

// behind notes that the application's copy of the line is whole up to a place in an
// earlier epoch only, although some of it is here that came later.
func (l *line) behind(c multicast.Stamp) {
	l.whole = whole{c.Epoch, c.Seq}
	l.past = slices.DeleteFunc(l.past, func(p past) bool { return p.epoch <= c.Epoch })
	l.past = append([]past{{epoch: c.Epoch, base: c.Seq, high: c.Seq}}, l.past...)
}

// late reports whether an event of an epoch that is over is new here, and notes it.
// Of epochs before the first one remembered everything is held, or given up.
func (l *line) late(s multicast.Stamp) bool {
	i := 0
	for i < len(l.past) && l.past[i].epoch < s.Epoch {
		i++
	}
	switch {
	case i == 0 && (len(l.past) == 0 || l.past[0].epoch != s.Epoch):
		return false
	case i == len(l.past) || l.past[i].epoch != s.Epoch: // one that was skipped
		all := append(l.past[:i:i], past{epoch: s.Epoch, high: s.Seq})
		l.past = append(all, l.past[i:]...)
		if len(l.past) > maxPast {
			l.past = append(l.past[:0:0], l.past[1:]...)
			i--
		}
		if i < 0 {
			return false
		}
	}
	// The bits of a line are what it needs; the rest of it has no part in this.
	e := &l.past[i]
	then := line{epoch: e.epoch, base: e.base, high: e.high, need: e.high + 1, bits: e.bits}
	if then.has(s.Seq) {
		return false
	}
	then.raise(s.Seq)
	then.setBit(s.Seq)
	e.high, e.bits = then.high, then.bits
	return true
}

// takeLate takes an event of an epoch that is over.
func (n *Node) takeLate(g *group, l *line, ev *multicast.Event, a arrival) bool {
	if g.buffer.find(ev.Stamp) != nil || !l.late(ev.Stamp) {
		n.count.Stale++
		return false
	}
	for i := range l.past {
		if e := &l.past[i]; e.epoch == ev.Stamp.Epoch && e.high == ev.Stamp.Seq {
			e.tag = ev.Tag
		}
	}
	if ev.Stamp.Seq == 1 {
		n.checkLink(g, l, ev)
	}
	g.buffer.add(kept{event: ev, from: a.from, want: a.want}, &n.cfg)
	return true
}

// cursorOf is up to where the line is unbroken in an event's epoch; 0 for one that
// is over: it moves no cursor.
func (l *line) cursorOf(s multicast.Stamp) uint64 {
	if s.Epoch < l.epoch {
		return 0
	}
	return l.cursor()
}

// checkLink asks neighbours for what came before an epoch, if its first word names
// another event than the last one here.
func (n *Node) checkLink(g *group, l *line, ev *multicast.Event) {
	s := ev.Stamp
	if s.Seq > 1 || s.Seq == 1 && s.Heartbeat() {
		return
	}
	var before *past
	for i := range l.past {
		if l.past[i].epoch < s.Epoch {
			before = &l.past[i]
		}
	}
	if before == nil {
		return
	}
	if before.tag == ev.Prev { // so its source says; but it may not have known of its last epoch
		whom := n.sources(g)
		n.askHeads(g, whom[:min(askLater, len(whom))], 0)
		return
	}
	after := multicast.Stamp{Source: l.source, Epoch: before.epoch, Seq: before.high}
	for i, id := range n.sources(g) {
		if i == askLater {
			break
		}
		n.send(id, &Message{Type: Pull, Flags: Fresh, Group: g.id, Span: &Span{Stamp: after}})
	}
}

// tidings are the heads of a group and, of each line, that of the epoch before:
// for who asks.
func (g *group) tidings() []multicast.Stamp {
	all := g.heads()
	for _, l := range g.lines {
		if n := len(l.past); n > 0 && l.past[n-1].high > 0 {
			p := l.past[n-1]
			all = append(all[:len(all):len(all)], multicast.Stamp{Source: l.source, Epoch: p.epoch, Seq: p.high, Tag: p.tag})
		}
	}
	return all
}

// passedOver asks a neighbour for events of an epoch that is over here, if it says
// that it has more of it. What came before the first epoch remembered is not missed.
func (n *Node) passedOver(g *group, l *line, from overlay.ID, h multicast.Stamp) {
	if len(l.past) == 0 || h.Epoch < l.past[0].epoch {
		return
	}
	have := uint64(0)
	for i := range l.past {
		if l.past[i].epoch == h.Epoch {
			have = l.past[i].high
		}
	}
	if have >= h.Seq {
		return
	}
	first := max(have, h.Seq-min(h.Seq, pullMax)) + 1
	n.send(from, &Message{Type: Pull, Group: g.id, Span: &Span{multicast.Stamp{Source: l.source, Epoch: h.Epoch}, first, h.Seq}})
	n.expect(from, n.cfg.Patience)
}

// tellLater answers with what is here of a line after a place, whatever the epoch,
// oldest first.
func (n *Node) tellLater(g *group, to overlay.ID, m *Message) {
	via := multicast.ViaLazy
	if g.child(to) >= 0 {
		via = multicast.ViaParent
	}
	left, after := pullMax, m.span().Stamp
	for i := range g.buffer.kept {
		ev := g.buffer.kept[i].event
		if left > 0 && ev.Stamp.Source == after.Source && ev.Stamp.Compare(after) > 0 {
			n.send(to, &Message{Type: Data, Group: g.id, Via: via, Event: ev})
			left--
		}
	}
}
