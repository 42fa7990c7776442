package tree

import (
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// tell plans to tell a neighbour a group's heads, together with those of other
// groups that move at the same time.
//
// Who is told again and waits for it is told soon: mostly an event has come, and comes to
// the neighbour too. A message at another time would wake both ends once more, and at the
// same time it would keep the event waiting.
func (n *Node) tell(id overlay.ID, g *group) {
	if p := n.pair(id); p != nil {
		n.tellPair(p, g)
	}
}

func (n *Node) tellPair(p *pair, g *group) {
	n.touchPair(p)
	switch {
	case p.mustTell(g):
		n.planTell(p, g)
	case p.waits == forEvent && p.tellsOnly(g) && !p.tied(g).near() && g.streams(n.step.now):
		p.tellAt = 0 // planned before the stream was known for one
		n.planTell(p, g)
	}
	if p.waits != forNothing && p.tellAt-tellWith <= n.step.now {
		p.tellAt = min(p.tellAt, n.step.now+tellSoon)
	}
}

func (n *Node) planTell(p *pair, g *group) {
	if n.tells <= n.step.now { // all neighbours at one time: the node wakes once for them
		n.tells = n.step.now + n.jitter(tellAfter, 0.3)
	}
	at := n.tells
	if p.told != 0 {
		if again := p.told + n.pauseTo(p, g); again > at {
			if at, p.waits = again+tellWith, forEvent; g.streams(n.step.now) {
				p.waits = forStream
			}
		}
	}
	if p.tellAt == 0 || at < p.tellAt {
		p.tellAt = at
	}
}

// pauseTo is how long a neighbour is told nothing more of a group while events keep coming.
// A lazy link hears from as many others meanwhile as this node has: the more there are,
// the longer, and not from all, nor do all hear, at one time.
func (n *Node) pauseTo(p *pair, g *group) time.Duration {
	pause := tellEvery
	if few := tellEvery - time.Duration(len(g.links.lazy))*tellShare; few < 0 && !p.tied(g).near() {
		pause += time.Duration(n.rng.Int64N(int64(-2 * few)))
	}
	if g.streams(n.step.now) {
		pause *= streamRarer
	}
	return pause
}

func (n *Node) tellHeads(p *pair) {
	p.tellAt, p.waits = 0, forNothing
	unchecked := n.step.now-p.compared > compareEvery*n.cfg.KeepAlive // a busy link sees no keep-alive
	m := &Message{Type: Heads}
	var room [4]*group
	gs := p.toTell(room[:0])
	for _, g := range gs {
		switch hs := p.news(g, unchecked); {
		case len(hs) == 0:
		case len(gs) == 1:
			m.Entries = g.entry(hs)
		default:
			m.Entries = append(m.Entries, Entry{Group: g.id, Heads: hs})
		}
	}
	p.allTold()
	if len(m.Entries) == 0 {
		return
	}
	p.told = n.step.now
	if unchecked {
		p.compared = n.step.now
		m.Digest, m.Paths = p.digest, n.pathDigest(p)
	}
	n.sendHeads(p.id, m)
}

// sendHeads is send, but those who are told the same at one time, an entry that they share and
// nothing else, get one message.
func (n *Node) sendHeads(to overlay.ID, m *Message) {
	if t := n.step.told; t != nil && m.Digest == 0 && &t.Entries[0] == &m.Entries[0] {
		t.Others++
		n.post(to, t)
		return
	}
	n.send(to, m)
	if sends := n.step.out.Sends; m.Digest == 0 {
		n.step.told = sends[len(sends)-1].Msg
	}
}

// entry is a list of one entry with heads of the group. All who are told the same share it.
func (g *group) entry(heads []multicast.Stamp) []Entry {
	if g.told == nil || len(g.told[0].Heads) != len(heads) || &g.told[0].Heads[0] != &heads[0] {
		g.told = &[1]Entry{{Group: g.id, Heads: heads}}
	}
	return g.told[:]
}

// news lists the heads of a group that moved since the neighbour was told them, or all:
// many have said something in a group in which members take turns to poll. Where the
// neighbour told them itself it needs to hear nothing, but for an edge's other end, to
// which heads are an acknowledgement too.
func (p *pair) news(g *group, all bool) []multicast.Stamp {
	t, hs := p.tied(g), g.heads()
	if t == nil || !t.near() && p.knows(g, hs) {
		return nil
	}
	told := t.told
	t.told = g.moves
	if all || len(hs) <= 1 {
		return hs
	}
	if moved := g.movedSince(told); len(moved) > 0 || !t.near() {
		return moved
	}
	return hs
}

// askHeads asks nodes, neighbours or not, what they have of a group. Those that
// are to confirm answer even if they have nothing.
func (n *Node) askHeads(g *group, ids []overlay.ID, confirm Flags) {
	for _, id := range ids {
		if id != n.self {
			n.send(id, &Message{Type: Heads, Entries: []Entry{{Group: g.id, Flags: Fresh | confirm, Heads: g.heads()}}})
		}
	}
}

// onHeads learns what a node has and, if asked, answers in kind. What parent
// and children have is on its way here or nowhere; what a lazy link has
// usually only overtook the payload.
func (n *Node) onHeads(from overlay.ID, m *Message) {
	var answer []Entry
	p := n.pair(from)
	for _, e := range m.Entries {
		g := n.find(e.Group)
		if g == nil {
			if e.Flags&(Fresh|Confirm) == Fresh|Confirm { // the asker need not wait for more
				answer = append(answer, Entry{Group: e.Group, Flags: Confirm})
			}
			continue
		}
		wait := lazyWait
		if p.tied(g).near() || e.Flags&(Fresh|Confirm) != 0 || g.place.parent == "" || g.place.blame > 0 {
			wait = reorderWait // nothing better is on its way
		}
		n.learn(g, from, e.Heads, wait)
		if hs := g.tidings(); e.Flags&Fresh != 0 && (len(hs) > 0 || e.Flags&Confirm != 0) {
			answer = append(answer, Entry{Group: g.id, Flags: e.Flags & Confirm, Heads: hs})
		}
		if e.Flags&(Fresh|Confirm) == Confirm {
			n.notice(Notice{Kind: Told, Group: g.id, Peers: []overlay.ID{from}})
		}
	}
	if len(answer) > 0 {
		n.send(from, &Message{Type: Heads, Entries: answer})
	}
	if m.Digest != 0 {
		n.compare(from, m)
	}
}

// replicate sends what the root has to the nodes that would be root after it,
// unless they hang below it anyway (FeedTree §4.5.2: the responsibility of the
// root is spread over several nodes).
//
// Where many hold it there is no need: who becomes root then asks its children. Nor does
// one that spares do it for others.
func (n *Node) replicate(g *group, ev *multicast.Event, a arrival) {
	if g.size() > replicateTo || n.cfg.Sparing && a.from != "" {
		return
	}
	left := n.cfg.Replicas
	for _, id := range n.router.Closest(g.id.Key(), n.cfg.Replicas+len(g.links.children)+1) {
		if left > 0 && id != n.self && id != a.from && g.child(id) < 0 {
			n.send(id, &Message{Type: Data, Group: g.id, Flags: Replica, Via: multicast.ViaTree, Hops: a.hops, Want: a.want, Event: ev})
			left--
		}
	}
}

// stored notes that the application holds an event durably and sends the
// receipt its source asked for.
func (n *Node) stored(id multicast.Group, s multicast.Stamp) {
	g := n.find(id)
	if g == nil {
		return
	}
	if k := g.buffer.find(s); k != nil {
		k.stored = true
		if k.want > 0 && k.from != "" {
			n.receipt(g, k)
		}
	}
}

func (n *Node) receipt(g *group, k *kept) {
	n.send(k.from, &Message{Type: Held, Group: g.id, Span: &Span{Stamp: k.event.Stamp}, Peers: []overlay.ID{n.self}})
}

// onHeld hands receipts on towards the source, no more than it wants.
func (n *Node) onHeld(g *group, m *Message) {
	s := m.span().Stamp
	k := g.buffer.find(s)
	switch {
	case k == nil || len(m.Peers) == 0:
	case k.from == "":
		n.notice(Notice{Kind: Receipt, Group: g.id, Stamp: s, Peers: m.Peers})
	case k.passed < k.want:
		k.passed++
		n.send(k.from, &Message{Type: Held, Group: g.id, Span: m.Span, Peers: m.Peers})
	}
}

// restore puts events held from before into the buffer, to serve others from.
// They count as seen.
func (n *Node) restore(g *group, events []multicast.Event) {
	for i := range events {
		ev := &events[i]
		l := n.lineFor(g, ev.Stamp)
		switch {
		case l == nil || ev.Stamp.Epoch < l.epoch:
		case ev.Stamp.Heartbeat():
			if ev.Stamp.Seq >= l.high && ev.Stamp.Beat > l.lastBeat() {
				n.raise(g, l, ev.Stamp.Seq)
				l.beat = ev
				l.note(ev)
			}
		case !l.has(ev.Stamp.Seq):
			n.raise(g, l, ev.Stamp.Seq)
			l.accept(ev.Stamp.Seq)
			l.note(ev)
			g.buffer.add(kept{event: ev, stored: true}, &n.cfg)
		}
	}
}

// resume sets each line to where the application's copy is unbroken. What came to
// this node beyond that, while it served others, is delivered now: that it is stored
// for them does not say that its own readers have it.
func (n *Node) resume(g *group, cursor []multicast.Stamp) {
	for i := range g.buffer.kept {
		k := &g.buffer.kept[i]
		if s := k.event.Stamp; k.from != "" && behind(cursor, s) {
			n.count.Delivered++
			n.step.out.Deliveries = append(n.step.out.Deliveries, multicast.Delivery{
				Event: *k.event, From: k.from, Via: multicast.ViaCatchUp, Cursor: g.line(s.Source).cursor()})
		}
	}
	for _, c := range cursor {
		l := g.line(c.Source)
		switch {
		case l == nil && c.Epoch != 0 && n.roomForLine(g):
			l = &line{source: c.Source}
			l.startAt(c)
			g.lines = append(g.lines, l)
		case l != nil && l.epoch == c.Epoch:
			n.rewind(g, l, c.Seq)
		case l != nil && l.epoch > c.Epoch && c.Epoch != 0:
			l.behind(c)
		}
	}
}

// rewind makes a line want everything after a cursor again, as far as the
// window reaches.
func (n *Node) rewind(g *group, l *line, seq uint64) {
	if seq >= l.high {
		n.raise(g, l, seq)
	}
	low := l.high - min(l.high, window)
	l.base = max(seq, low)
	l.need = l.base + 1
	l.settle()
	n.checkGap(g, l)
}

// lease takes up again what this node kept for others before a restart.
func (n *Node) lease(in Input) {
	g := n.group(in.Group)
	g.lease = n.step.now + n.cfg.Lease
	n.restore(g, in.Recent)
}
