package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

func (s *suite) cursors() {
	at := func(source byte, epoch, seq uint64) store.Cursor {
		return store.Cursor{Group: id('g'), Source: id(source), Epoch: epoch, Seq: seq}
	}
	s.apply(store.Batch{Cursors: []store.Cursor{at('b', 1, 5), at('a', 2, 1)}})
	s.apply(store.Batch{Cursors: []store.Cursor{at('b', 1, 4), at('a', 1, 9), {Group: id('h'), Source: id('a'), Seq: 1}}})
	s.want("cursors", s.cursorText(id('g')), "a 2/1 b 1/5 ")
	s.apply(store.Batch{Cursors: []store.Cursor{at('b', 2, 1), at('a', 2, 2), at('c', math.MaxUint64, math.MaxUint64)}})
	s.apply(store.Batch{Cursors: []store.Cursor{at('c', 1, 1)}})
	s.want("cursors", s.cursorText(id('g')), fmt.Sprintf("a 2/2 b 2/1 c %d/%d ", uint64(math.MaxUint64), uint64(math.MaxUint64)))
}

func (s *suite) cursorText(group [32]byte) string {
	s.Helper()
	cursors, err := s.Cursors(s.ctx, group)
	if err != nil {
		s.Fatal(err)
	}
	text := ""
	for _, c := range cursors {
		text += fmt.Sprintf("%c %d/%d ", c.Source[0], c.Epoch, c.Seq)
	}
	return text
}

func (s *suite) lines() {
	at := func(epoch, seq uint64, head byte, beat uint64) *store.Line {
		return &store.Line{Group: id('g'), Source: id('s'), Epoch: epoch, Seq: seq, Head: id(head), Beat: beat}
	}
	good := []*store.Line{at(1, 0, 0, 0), at(1, 1, 'a', 0), at(1, 1, 'a', 0), at(1, 1, 'a', 7), at(2, 1, 'b', 0), at(2, math.MaxUint64, 'c', 1)}
	bad := [][]*store.Line{nil, {at(1, 0, 0, 9)}, {at(1, 1, 'x', 0)}, {at(1, 1, 'a', 6), at(1, 0, 0, 0)}, {at(1, 9, 'd', 0), at(2, 0, 0, 0)}, {at(2, 5, 'e', 0)}}
	for n, line := range good {
		s.apply(store.Batch{Line: line})
		for _, behind := range bad[n] {
			_, err := s.Apply(s.ctx, store.Batch{Line: behind, Feed: feedRecord(), Envelopes: []store.Envelope{event('s', 1, 1)}})
			s.refused(err, store.ErrLine)
		}
		got, err := s.Lines(s.ctx, id('g'))
		if err != nil || len(got) != 1 || got[0] != *line {
			s.Errorf("line: got %v, %v, want %v", got, err, *line)
		}
	}
	_, ok, _ := s.Feed(s.ctx, feedURL)
	s.want("feed of a refused batch", ok, false)
	s.want("envelopes of a refused batch", s.kept(id('g'), -1), "")
}

func (s *suite) envelopeUnique() {
	s.apply(store.Batch{Envelopes: []store.Envelope{event('s', 1, 1)}})
	other := event('s', 1, 1)
	other.Wire = []byte("a fork")
	s.apply(store.Batch{Envelopes: []store.Envelope{other, event('t', 1, 1), event('s', 2, 1)}})
	s.want("envelopes", s.kept(id('g'), -1), "s/1/1 t/1/1 s/2/1")
	s.want("of another group", s.kept(id('h'), -1), "")
	got, _ := s.Envelopes(s.ctx, id('g'), 1)
	if len(got) != 1 || got[0].Group != id('g') || got[0].Source != id('s') || got[0].Epoch != 2 || got[0].Seq != 1 || !got[0].Until.IsZero() {
		s.Errorf("the last one: %+v", got)
	}
}

func (s *suite) heartbeats() {
	s.apply(store.Batch{Envelopes: []store.Envelope{heartbeat('s', 1, 1, 10), event('s', 1, 1), heartbeat('t', 1, 0, 3)}})
	s.apply(store.Batch{Envelopes: []store.Envelope{heartbeat('s', 1, 1, 12), heartbeat('s', 1, 1, 11), heartbeat('t', 1, 0, 2)}})
	s.want("envelopes", s.kept(id('g'), -1), "s/1/1 t/1/0+3 s/1/1+12")
	s.apply(store.Batch{Envelopes: []store.Envelope{heartbeat('s', 1, 2, 5), heartbeat('s', 1, 1, 99)}})
	s.want("no events asked for", s.kept(id('g'), 0), "t/1/0+3 s/1/2+5")
	got, _ := s.Envelopes(s.ctx, id('g'), 0)
	s.want("beat", got[1].Beat, uint64(5))
}

func (s *suite) envelopeOrder() {
	for _, e := range []store.Envelope{event('s', 1, 3), event('t', 1, 1), event('s', 1, 1), event('s', 2, 1), event('s', 1, 2)} {
		s.apply(store.Batch{Envelopes: []store.Envelope{e}})
	}
	s.want("all", s.kept(id('g'), -1), "s/1/1 t/1/1 s/1/2 s/1/3 s/2/1")
	s.want("the three that arrived last", s.kept(id('g'), 3), "s/1/1 s/1/2 s/2/1")
	high := event('u', math.MaxUint64, math.MaxUint64)
	s.apply(store.Batch{Envelopes: []store.Envelope{high, event('u', 1, 1)}})
	s.want("numbers above half the range", s.kept(id('g'), 2), fmt.Sprintf("u/1/1 u/%d/%d", uint64(math.MaxUint64), uint64(math.MaxUint64)))
}

func (s *suite) leases() {
	in := func(e store.Envelope, group byte, minutes int) store.Envelope {
		e.Group = id(group)
		return until(e, start.Add(time.Duration(minutes)*time.Minute))
	}
	leased := func() string {
		s.Helper()
		groups, err := s.Leased(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		text := ""
		for _, g := range groups {
			text += string(g[:1])
		}
		return text
	}
	expire := func(minutes int) {
		s.Helper()
		if err := s.Expire(s.ctx, start.Add(time.Duration(minutes)*time.Minute)); err != nil {
			s.Fatal(err)
		}
	}
	s.want("at first", leased(), "")
	s.apply(store.Batch{Envelopes: []store.Envelope{
		event('s', 1, 1), in(event('s', 1, 1), 'b', 1), in(event('s', 1, 2), 'b', 5), in(heartbeat('s', 1, 2, 1), 'a', 2),
	}})
	s.want("leased", leased(), "ab")
	s.apply(store.Batch{Envelopes: []store.Envelope{in(event('s', 1, 1), 'b', 3), in(event('s', 1, 2), 'b', 4)}})
	expire(2)
	s.want("after two minutes", leased(), "b")
	s.want("a lease that was renewed", s.kept(id('b'), -1), "s/1/1 s/1/2")
	expire(4)
	s.want("a lease that was asked to be shorter", s.kept(id('b'), -1), "s/1/2")
	keep := in(event('s', 1, 2), 'b', 0)
	keep.Until = time.Time{}
	s.apply(store.Batch{Envelopes: []store.Envelope{keep}})
	expire(60)
	s.want("kept for good", s.kept(id('b'), -1), "s/1/2")
	s.want("without a lease", s.kept(id('g'), -1), "s/1/1")
	s.want("at last", leased(), "")
}

func (s *suite) envelopeLimit() {
	s.apply(store.Batch{Envelopes: []store.Envelope{event('p', 1, 1), event('p', 1, 2)}})
	for seq := uint64(1); seq <= 20; seq++ {
		s.apply(store.Batch{Envelopes: []store.Envelope{event('v', 1, seq)}})
	}
	s.want("a volunteer's flood", s.kept(id('g'), -1), "p/1/1 p/1/2 v/1/19 v/1/20")
	s.apply(store.Batch{Envelopes: []store.Envelope{event('p', 1, 3)}})
	s.want("the publisher goes on", s.kept(id('g'), -1), "p/1/2 v/1/19 v/1/20 p/1/3")
	s.apply(store.Batch{Envelopes: []store.Envelope{event('p', 1, 1)}})
	s.want("an event from before", s.kept(id('g'), -1), "p/1/2 v/1/19 v/1/20 p/1/3")
}

func (s *suite) envelopeByteLimit() {
	sized := func(seq uint64, size int) store.Envelope {
		e := event('v', 1, seq)
		e.Wire = append(make([]byte, size-1), byte('0'+seq))
		return e
	}
	total := func() string {
		envelopes, _ := s.Envelopes(s.ctx, id('g'), -1)
		text := ""
		for _, e := range envelopes {
			text += string(e.Wire[len(e.Wire)-1:])
		}
		return text
	}
	s.apply(store.Batch{Envelopes: []store.Envelope{sized(1, 50), sized(2, 50)}})
	s.want("100 bytes", total(), "12")
	s.apply(store.Batch{Envelopes: []store.Envelope{sized(3, 1)}})
	s.want("101 bytes", total(), "23")
	s.apply(store.Batch{Envelopes: []store.Envelope{sized(4, 101)}})
	s.want("one above the limit", total(), "")
}

func (s *suite) leaseLimit() {
	sized := func(group, source byte, minutes int) store.Envelope {
		e := event(source, 1, 1)
		e.Group, e.Wire = id(group), append([]byte{group, source}, make([]byte, 38)...)
		return until(e, start.Add(time.Duration(minutes)*time.Minute))
	}
	s.apply(store.Batch{Envelopes: []store.Envelope{sized('a', '1', 9), sized('b', '1', 3), until(sized('b', '2', 0), time.Time{})}})
	s.apply(store.Batch{Envelopes: []store.Envelope{sized('c', '1', 5)}})
	text := ""
	for _, g := range "abc" {
		envelopes, _ := s.Envelopes(s.ctx, id(byte(g)), -1)
		for _, e := range envelopes {
			text += string(e.Wire[:2]) + " "
		}
	}
	s.want("envelopes", text, "a1 b2 c1 ")
}

func (s *suite) sourceLimit() {
	for n, source := range []byte{'a', 'b', 'a', 'c'} {
		seq := uint64(n + 1)
		s.apply(store.Batch{
			Cursors:   []store.Cursor{{Group: id('g'), Source: id(source), Epoch: 1, Seq: seq}},
			Envelopes: []store.Envelope{heartbeat(source, 1, seq, 1)},
		})
	}
	s.want("cursors", s.cursorText(id('g')), "a 1/3 c 1/4 ")
	s.want("heartbeats", s.kept(id('g'), -1), "a/1/3+1 c/1/4+1")
}
