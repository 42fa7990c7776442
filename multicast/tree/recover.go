package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// recovery is how a line gets back what it lacks (FeedTree §4.5.2). A gap is
// proven: a verified event or heartbeat says that more was published. A claim
// is hearsay: a neighbour says it has more, and only that neighbour is asked.
type recovery struct {
	at      time.Duration // next move about the gap; 0: none planned
	claimAt time.Duration // 0: no claim

	asked    overlay.ID
	tries    int32
	round    int32
	total    int32 // nodes asked since the gap was found
	claimTry int32
	upto     uint64 // the head when they had all been asked once
	told     uint64 // up to where the application knows what is missing

	claim *multicast.Stamp // in a list that is never modified
	by    overlay.ID
}

func (r *recovery) when() time.Duration { return min(orNever(r.at), orNever(r.claimAt)) }

// wakeLine does what a line's times ask for.
func (n *Node) wakeLine(g *group, l *line) {
	now := n.step.now
	if due(l.recovery.claimAt, now) {
		n.pullClaim(g, l)
	}
	if due(l.recovery.at, now) {
		n.recover(g, l)
	}
	if due(l.stream.at, now) {
		n.silent(g, l)
	}
	if g.member && due(l.overdue, now) {
		n.overdue(g, l)
	}
	if due(l.beatAt, now) {
		l.beatAt = now + l.ttl
		n.notice(Notice{Kind: BeatDue, Group: g.id, Stamp: l.head()})
	}
}

// checkGap plans a recovery if something is missing and none is planned.
func (n *Node) checkGap(g *group, l *line) {
	r := &l.recovery
	if _, _, ok := l.gap(1); !ok {
		r.at, r.tries, r.round, r.total, r.asked = 0, 0, 0, 0, ""
	} else if r.at == 0 {
		n.count.Gaps++
		r.at = n.step.now + reorderWait
	}
}

// recover asks the next node that may have what is missing: the parent, then
// lazy links and children, then the nodes near the root. After two rounds the
// application is told to use HTTP, for all that has been missing for as long: what lies
// behind another gap would be told of minutes later. Where there is more to ask for, no
// more is asked for this.
func (n *Node) recover(g *group, l *line) {
	r := &l.recovery
	from, to, ok := l.gap(pullMax)
	if !ok {
		n.checkGap(g, l)
		return
	}
	_, _, more := l.lack(to+1, l.high)
	sources := n.sources(g)
	switch {
	case int(r.tries) < len(sources):
		r.asked = sources[r.tries]
		r.tries++
		r.total++
		r.at = n.step.now + pullWait
		n.pull(g, l, r.asked, from, to)
	case r.round < 2, r.round < pullRounds && !more:
		switch r.round++; r.round {
		case 1:
			r.upto = l.high
		case 2:
			n.tellMissing(g, l)
		}
		r.tries, r.asked = 0, ""
		r.at = n.step.now + n.jitter(pullWait<<r.round, 0.25)
	default:
		r.upto = max(r.upto, to) // it may have become longer
		n.tellMissing(g, l)
		l.giveUp(to)
		r.at, r.tries, r.round, r.asked = 0, 0, 0, ""
		n.checkGap(g, l)
	}
}

// retryGaps asks again at once: there are new neighbours.
func (n *Node) retryGaps(g *group) {
	for _, l := range g.lines {
		if r := &l.recovery; r.at != 0 {
			r.at, r.tries, r.round = n.step.now+reorderWait, 0, 0
		}
	}
}

// sources lists who may hold missing events, likeliest first.
func (n *Node) sources(g *group) []overlay.ID {
	ids := n.neighbours(g)
	if len(g.place.path) > 0 {
		ids = append(ids, g.place.path[0])
	}
	ids = append(ids, n.router.Closest(g.id.Key(), n.cfg.Replicas)...)
	var unique []overlay.ID
	for _, id := range ids {
		if id != n.self && !slices.Contains(unique, id) {
			unique = append(unique, id)
		}
	}
	return unique
}

func (n *Node) pull(g *group, l *line, whom overlay.ID, from, to uint64) {
	s := multicast.Stamp{Source: l.source, Epoch: l.epoch, Beat: l.lastBeat()}
	n.send(whom, &Message{Type: Pull, Group: g.id, Span: &Span{s, from, to}})
	n.expect(whom, n.cfg.Patience)
}

// tellMissing reports what the line lacks since all were asked once, and did not report.
func (n *Node) tellMissing(g *group, l *line) {
	r := &l.recovery
	from, to, ok := l.lack(max(l.need, r.told+1), r.upto)
	for ; ok; from, to, ok = l.lack(to+1, r.upto) {
		n.missing(g, l, from, to)
	}
	r.told = max(r.told, r.upto)
}

// missing reports what no node could give.
func (n *Node) missing(g *group, l *line, from, to uint64) {
	n.count.Missing += to - from + 1
	if g.member {
		n.notice(Notice{Kind: Missing, Group: g.id, Stamp: l.head(), From: from, To: to})
	}
}

// learn takes the heads a neighbour tells. Those ahead of ours become claims,
// looked into after wait: the payload may be on its way.
func (n *Node) learn(g *group, from overlay.ID, heads []multicast.Stamp, wait time.Duration) {
	n.touch(g)
	for i, h := range heads {
		l := g.line(h.Source)
		if l == nil {
			if h.Epoch == 0 || !n.roomForLine(g) {
				continue
			}
			l = &line{source: h.Source, need: 1, heard: n.step.now, old: g.fresh}
			g.lines = append(g.lines, l)
		}
		if h.Epoch < l.epoch {
			n.passedOver(g, l, from, h)
			continue
		}
		n.doubt(g, l, from, h)
		if !n.ahead(l, h) || l.recovery.claimAt != 0 && h.Compare(*l.recovery.claim) <= 0 {
			continue
		}
		r := &l.recovery
		at := n.step.now + wait
		if l.stream.asks > 0 { // nothing is on its way
			at = n.step.now + min(wait, reorderWait)
		}
		if r.claimAt != 0 {
			at = min(at, r.claimAt)
		}
		r.claim, r.by, r.claimAt, r.claimTry = &heads[i], from, at, 0
	}
	n.pair(from).hears(g, heads)
}

func (n *Node) ahead(l *line, h multicast.Stamp) bool {
	if h.Epoch != l.epoch {
		return h.Epoch > l.epoch
	}
	return h.Seq > l.high || h.Seq == l.high && h.Beat > l.lastBeat()
}

func (r *recovery) unclaimed() { r.claimAt, r.claim, r.by = 0, nil, "" }

// pullClaim asks the node that claims to have more for it.
func (n *Node) pullClaim(g *group, l *line) {
	r := &l.recovery
	if !n.ahead(l, *r.claim) || r.claimTry >= 3 {
		r.unclaimed()
		return
	}
	r.claimTry++
	r.claimAt = n.step.now + pullWait
	from, to := l.high+1, r.claim.Seq
	if r.claim.Epoch > l.epoch {
		from = 1
	}
	if to >= from+pullMax {
		from = to - pullMax + 1
	}
	s := multicast.Stamp{Source: l.source, Epoch: r.claim.Epoch}
	if r.claim.Epoch == l.epoch {
		s.Beat = l.lastBeat()
	}
	n.send(r.by, &Message{Type: Pull, Group: g.id, Span: &Span{s, from, to}})
	n.expect(r.by, n.cfg.Patience)
}

// onPull answers from the buffer, oldest first, with the latest heartbeat if
// the asker lacks it, and says so if something is not there.
func (n *Node) onPull(g *group, from overlay.ID, m *Message) {
	s := m.span()
	l := g.line(s.Stamp.Source)
	if m.Flags&Fresh != 0 {
		n.tellLater(g, from, m)
		return
	}
	if s.To >= s.From+pullMax {
		n.count.Malformed++
		return
	}
	if n.cfg.Sparing && (l == nil || !l.own) {
		n.count.Spared++
		n.send(from, &Message{Type: Lack, Group: g.id, Span: m.Span})
		return
	}
	via := multicast.ViaLazy
	if g.child(from) >= 0 {
		via = multicast.ViaParent
	}
	found := uint64(0)
	for seq := s.From; seq <= s.To && l != nil; seq++ {
		k := g.buffer.find(multicast.Stamp{Source: l.source, Epoch: s.Stamp.Epoch, Seq: seq})
		if k == nil {
			continue
		}
		found++
		n.send(from, &Message{Type: Data, Group: g.id, Via: via, Event: k.event})
	}
	if l != nil && l.epoch == s.Stamp.Epoch && l.lastBeat() > s.Stamp.Beat {
		n.send(from, &Message{Type: Data, Group: g.id, Via: via, Event: l.beat})
	}
	if s.From <= s.To && found < s.To-s.From+1 {
		n.send(from, &Message{Type: Lack, Group: g.id, Span: m.Span})
	}
}

// onLack goes on to the next node at once.
func (n *Node) onLack(g *group, from overlay.ID, m *Message) {
	if l := g.line(m.span().Stamp.Source); l != nil {
		n.turnDown(l, from)
	}
}

// pullFailed goes on without a node that is gone.
func (n *Node) pullFailed(g *group, id overlay.ID) {
	for _, l := range g.lines {
		if n.turnDown(l, id) {
			n.touch(g)
		}
	}
}

func (n *Node) turnDown(l *line, id overlay.ID) bool {
	r := &l.recovery
	if r.at != 0 && r.asked == id {
		r.at = n.step.now
		return true
	}
	if r.claimAt != 0 && r.by == id {
		r.unclaimed()
		return true
	}
	return false
}

// overdue tells that a source broke its promise of a sign of life (FeedTree
// §4.3, §4.5.2), after asking the lazy links whether only this node missed it.
func (n *Node) overdue(g *group, l *line) {
	silent := n.step.now - l.heard
	l.overdue = n.step.now + l.ttl
	n.notice(Notice{Kind: Overdue, Group: g.id, Stamp: l.head(), After: silent})
	n.askHeads(g, n.neighbours(g), 0)
}
