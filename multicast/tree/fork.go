package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// A source that says different things to different parts of the tree is found out
// where they meet: heads name the event at the head, every event names the one
// before it, and who holds two that cannot both be of an honest source has what it
// takes to prove it. The proof is made and checked outside; here it is passed on
// along every edge and lazy link, once for each source and epoch, and told to
// whoever comes later.

const (
	maxForks   = 32              // proofs kept per group: the oldest goes first
	forkEvery  = 4 * time.Second // proofs in one group pass no faster, after a burst of
	forkBurst  = 16              // so many: keys are free, and so are forks of one's own line
	doubtEvery = 5 * time.Second // one neighbour is asked no faster for what it says differently
)

// forks are the proofs known in one group, oldest first.
type forks struct {
	proofs []*multicast.Event
	paid   time.Duration // up to when the rate is used up
}

// known reports whether the source is proved to have forked its line in the stamp's
// epoch, or in a later one.
func (f *forks) known(s multicast.Stamp) bool {
	return f != nil && slices.ContainsFunc(f.proofs, func(p *multicast.Event) bool {
		return p.Stamp.Source == s.Source && p.Stamp.Epoch >= s.Epoch
	})
}

// add keeps a proof, in the place of an earlier one about the same source.
func (f *forks) add(proof *multicast.Event) {
	f.proofs = slices.DeleteFunc(f.proofs, func(p *multicast.Event) bool { return p.Stamp.Source == proof.Stamp.Source })
	if len(f.proofs) >= maxForks {
		f.proofs = slices.Delete(f.proofs, 0, 1)
	}
	f.proofs = append(f.proofs, proof)
}

// pay reports whether another proof may pass now.
func (f *forks) pay(now time.Duration) bool {
	at := max(f.paid, now)
	if at-now >= forkBurst*forkEvery {
		return false
	}
	f.paid = at + forkEvery
	return true
}

// compareWords looks whether an event contradicts what is held of its line: in the
// buffer, or as the latest heartbeat.
func (n *Node) compareWords(g *group, l *line, ev *multicast.Event) {
	s := ev.Stamp
	if (ev.Tag == multicast.Tag{} && ev.Prev == multicast.Tag{}) || g.forks.known(s) {
		return
	}
	for _, seq := range [...]uint64{s.Seq, s.Seq + 1, s.Seq - min(s.Seq, 1)} {
		if s.Epoch == l.epoch && !l.has(seq) {
			continue // nor is it in the buffer, which takes longer to look through
		}
		if k := g.buffer.find(multicast.Stamp{Source: s.Source, Epoch: s.Epoch, Seq: seq}); k != nil && contradict(k.event, ev) {
			n.notice(Notice{Kind: Contradiction, Group: g.id, Stamp: s, Events: []multicast.Event{*k.event, *ev}})
			return
		}
	}
	if b := l.beat; b != nil && b.Stamp.Epoch == s.Epoch && contradict(b, ev) {
		n.notice(Notice{Kind: Contradiction, Group: g.id, Stamp: s, Events: []multicast.Event{*b, *ev}})
	}
}

// contradict reports whether two events of one line and epoch name different events
// for one place.
func contradict(a, b *multicast.Event) bool {
	for _, place := range [...]uint64{a.Stamp.Seq, a.Stamp.Seq - min(a.Stamp.Seq, 1)} {
		x, told := a.Names(place)
		if y, too := b.Names(place); told && too && x != y {
			return true
		}
	}
	return false
}

// note keeps which event stands at the head of the line.
func (l *line) note(ev *multicast.Event) {
	if tag, ok := ev.Names(l.high); ok && ev.Stamp.Epoch == l.epoch {
		l.tag = tag
	}
}

// tagAt returns which event is held at a place of the line.
func (g *group) tagAt(l *line, seq uint64) multicast.Tag {
	if seq == l.high {
		return l.tag
	}
	if k := g.buffer.find(multicast.Stamp{Source: l.source, Epoch: l.epoch, Seq: seq}); k != nil {
		return k.event.Tag
	}
	return multicast.Tag{}
}

// differs reports whether heads name another event than h for the same place.
func differs(heads []multicast.Stamp, h multicast.Stamp) bool {
	return slices.ContainsFunc(heads, func(o multicast.Stamp) bool {
		return o.Source == h.Source && o.Epoch == h.Epoch && o.Seq == h.Seq && o.Tag != h.Tag
	})
}

// doubt asks a neighbour for an event if it says that another one than is held here
// stands at its place. What it says is hearsay: only the event shows who lies, and
// each neighbour has an allowance of its own, so that nobody can use up the others'.
func (n *Node) doubt(g *group, l *line, from overlay.ID, h multicast.Stamp) {
	if h.Tag == (multicast.Tag{}) || h.Seq == 0 || h.Epoch != l.epoch || g.forks.known(h) {
		return
	}
	own := g.tagAt(l, h.Seq)
	p := n.pair(from)
	if own == h.Tag || own == (multicast.Tag{}) || p == nil || p.doubted() != 0 && n.step.now-p.doubted() < doubtEvery {
		return
	}
	p.extra().doubted = n.step.now
	n.pull(g, l, from, h.Seq, h.Seq)
}

// doubted is when the neighbour was last asked so; 0: never.
func (p *pair) doubted() time.Duration {
	if p.more == nil {
		return 0
	}
	return p.more.doubted
}

// onFork takes a proof, verified, from a neighbour.
func (n *Node) onFork(from overlay.ID, m *Message) {
	if m.Event == nil {
		n.count.Malformed++
		return
	}
	n.convict(from, m.Event)
}

// convict passes on a proof that is new here. Only who serves the group and knows
// the source, be it by hearsay, needs it.
func (n *Node) convict(from overlay.ID, proof *multicast.Event) {
	g := n.find(proof.Group)
	switch {
	case g == nil || g.forks.known(proof.Stamp):
		return
	case g.forks == nil:
		g.forks = &forks{}
	}
	if !g.forks.pay(n.step.now) {
		n.count.ForksFull++
		return
	}
	g.forks.add(proof)
	n.notice(Notice{Kind: Forked, Group: g.id, Stamp: proof.Stamp, Events: []multicast.Event{*proof}})
	for _, id := range n.neighbours(g) {
		if id != from {
			n.sendFork(g, id, proof)
		}
	}
}

// tellForks tells a new neighbour what is proved.
func (n *Node) tellForks(g *group, id overlay.ID) {
	if g.forks == nil {
		return
	}
	for _, p := range g.forks.proofs {
		n.sendFork(g, id, p)
	}
}

func (n *Node) sendFork(g *group, to overlay.ID, proof *multicast.Event) {
	n.send(to, &Message{Type: Fork, Group: g.id, Event: proof})
}

// ways is how an event came, for people: what no neighbour sent came from a node
// near the root.
func (n *Node) ways(g *group, a arrival) multicast.Via {
	if a.via == multicast.ViaLazy && !n.isLazy(g, a.from) && !g.near(a.from) {
		return multicast.ViaReplica
	}
	return a.via
}

// asks is how many nodes were asked for an event that was pulled.
func (r *recovery) asks(a arrival) int {
	if a.via != multicast.ViaParent && a.via != multicast.ViaLazy {
		return 0
	}
	return int(max(r.total, r.claimTry, 1))
}
