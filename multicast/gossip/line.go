package gossip

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

const (
	maxLines  = 32 // sources remembered per group
	overtaken = 64
	window    = 1024 // how far ahead of the last hole a line may be, and how many given up are remembered
)

// book is what a node knows of the lines of one group.
type book struct {
	lines map[multicast.Source]*line
}

// line is one source's dense line.
//
// Invariants: every seq up to cursor is accepted or given up; got holds those
// accepted beyond it; lost holds those given up, which are still accepted.
type line struct {
	epoch  uint64
	cursor uint64
	high   uint64
	got    map[uint64]bool
	lost   map[uint64]bool
	beat   uint64
	hole   hole
	word   promise
}

// hole is when holes up to a seq are given up; zero if there are none.
type hole struct {
	at time.Time
	to uint64
}

// promise is when the source's next word is due: of another's line with some
// mercy, of the own one a little before.
type promise struct {
	own   bool
	ttl   time.Duration // 0: nothing is promised
	heard time.Time
	at    time.Time
}

type span struct{ from, to uint64 }

// begin places the lines that a cursor names.
func (b *book) begin(cursor []multicast.Stamp) {
	for _, s := range cursor[:min(len(cursor), maxLines)] {
		b.add(s.Source, s.Epoch, s.Seq)
	}
}

func (b *book) add(source multicast.Source, epoch, cursor uint64) *line {
	if b.lines == nil {
		b.lines = make(map[multicast.Source]*line)
	}
	l := &line{}
	l.start(epoch, cursor)
	b.lines[source] = l
	return l
}

func (l *line) start(epoch, cursor uint64) {
	l.epoch, l.cursor, l.high, l.beat, l.hole = epoch, cursor, cursor, 0, hole{}
	l.got, l.lost = nil, nil
}

// accept notes an event. It returns the line's cursor, what fell out of the window
// for good, and why the event is not to be delivered, if so.
func (b *book) accept(e multicast.Event, now time.Time, patience time.Duration) (cursor uint64, lost *span, why string) {
	s := e.Stamp
	l := b.lines[s.Source]
	if l == nil {
		if len(b.lines) >= maxLines {
			return 0, nil, whyLines
		}
		before := s.Seq // what came before this node is not missed
		if !s.Heartbeat() {
			before--
		}
		l = b.add(s.Source, s.Epoch, before)
		l.welcome()
	}
	switch {
	case s.Epoch < l.epoch:
		return l.cursor, nil, whyStale
	case s.Epoch > l.epoch:
		l.start(s.Epoch, 0)
	}
	if s.Heartbeat() {
		if s.Beat <= l.beat {
			return l.cursor, nil, whyAgain
		}
		l.beat = s.Beat
	} else if l.has(s.Seq) {
		return l.cursor, nil, whyAgain
	}
	if l.high = max(l.high, s.Seq); l.high > l.cursor+window {
		lost = &span{l.cursor + 1, l.high - window}
		l.giveUp(lost.to)
	}
	if !s.Heartbeat() {
		l.note(s.Seq)
	}
	if l.high > l.cursor && l.hole.at.IsZero() {
		l.hole = hole{now.Add(patience), l.high}
	}
	l.hear(e.TTL, now)
	return l.cursor, lost, ""
}

// welcome lets the few events before the first one in, which that one may have
// overtaken. They are not missed.
func (l *line) welcome() {
	l.lost = make(map[uint64]bool)
	for seq := l.cursor - min(l.cursor, overtaken) + 1; seq <= l.cursor; seq++ {
		l.lost[seq] = true
	}
}

func (l *line) has(seq uint64) bool {
	return seq <= l.cursor && !l.lost[seq] || l.got[seq]
}

func (l *line) note(seq uint64) {
	if l.lost[seq] {
		delete(l.lost, seq)
		return
	}
	if l.got == nil {
		l.got = make(map[uint64]bool)
	}
	l.got[seq] = true
	l.settle()
}

// settle moves the cursor over what is there.
func (l *line) settle() {
	for l.got[l.cursor+1] {
		l.cursor++
		delete(l.got, l.cursor)
	}
	if l.cursor >= l.high {
		l.hole = hole{}
	}
}

// giveUp gives up the holes up to and including a seq.
func (l *line) giveUp(to uint64) {
	if to <= l.cursor {
		return
	}
	if l.lost == nil {
		l.lost = make(map[uint64]bool)
	}
	for seq := max(l.cursor+1, to-min(to, window)); seq <= to; seq++ { // a liar may leap far
		if !l.got[seq] {
			l.lost[seq] = true
		}
	}
	l.cursor = to
	maps.DeleteFunc(l.got, func(seq uint64, _ bool) bool { return seq <= to })
	maps.DeleteFunc(l.lost, func(seq uint64, _ bool) bool { return seq+window < to })
	l.settle()
}

// holes returns the runs that are not there, up to and including a seq.
func (l *line) holes(to uint64) (all []span) {
	for seq := l.cursor + 1; seq <= to; seq++ {
		switch n := len(all); {
		case l.got[seq]:
		case n > 0 && all[n-1].to == seq-1:
			all[n-1].to = seq
		default:
			all = append(all, span{seq, seq})
		}
	}
	return all
}

func (l *line) hear(ttl time.Duration, now time.Time) {
	l.word.ttl, l.word.heard = ttl, now
	switch {
	case ttl == 0:
		l.word.at = time.Time{}
	case l.word.own:
		l.word.at = now.Add(ttl - ttl/10)
	default:
		l.word.at = now.Add(2 * ttl)
	}
}

// say notes an event that this node publishes itself.
func (b *book) say(e multicast.Event, now time.Time, patience time.Duration) {
	if l := b.lines[e.Stamp.Source]; l != nil {
		l.word.own = true
	} else if len(b.lines) < maxLines {
		b.accept(e, now, patience)
		b.lines[e.Stamp.Source].word.own = true
		b.lines[e.Stamp.Source].hear(e.TTL, now)
		return
	}
	b.accept(e, now, patience)
}

// due returns what is to be told now, by source.
func (b *book) due(now time.Time, patience time.Duration) (all []multicast.Notice) {
	for source, l := range b.lines {
		stamp := multicast.Stamp{Source: source, Epoch: l.epoch, Seq: l.high}
		if at := l.hole.at; !at.IsZero() && !now.Before(at) {
			for _, h := range l.holes(l.hole.to) {
				all = append(all, multicast.Notice{Kind: multicast.Missing, Stamp: stamp, From: h.from, To: h.to})
			}
			to := l.hole.to
			l.hole = hole{now.Add(patience), l.high} // of what was found missing since
			l.giveUp(to)
		}
		if at := l.word.at; !at.IsZero() && !now.Before(at) {
			n := multicast.Notice{Kind: multicast.Overdue, Stamp: stamp, After: now.Sub(l.word.heard)}
			if l.word.own {
				n.Kind = multicast.BeatDue
			}
			l.word.at = now.Add(l.word.ttl)
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b multicast.Notice) int { return bytes.Compare(a.Stamp.Source[:], b.Stamp.Source[:]) })
	return all
}
