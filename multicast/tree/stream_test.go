package tree_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// flow pushes items, so far apart, and counts what the neighbours are asked meanwhile.
func (s *solo) flow(seq *uint64, items int, apart time.Duration) (pings, asks int) {
	for range items {
		*seq++
		s.push("parent", event(*seq))
		p, a := s.questions(apart)
		pings, asks = pings+p, asks+a
	}
	return pings, asks
}

// questions counts pings to the parent and the questions to lazy links that are sent while
// time passes. Everybody lives, and nobody has anything new.
func (s *solo) questions(d time.Duration) (pings, asks int) {
	s.among(d)
	for _, send := range s.out.Sends {
		switch m := send.Msg; {
		case m.Type == tree.Ping && send.To == "parent":
			pings++
		case m.Type == tree.Heads && m.Entries[0].Flags&tree.Fresh != 0:
			asks++
		}
	}
	return pings, asks
}

func streaming(t *testing.T) *solo {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	for i := range 5 {
		s.link(overlay.ID(fmt.Sprint("member ", i)))
	}
	return s
}

// Where a stream falls silent the parent and lazy links are asked, soon and a few times.
// While it flows nobody is, nor where items come as those of feeds do.
func TestSilenceOfAStreamIsAskedAbout(t *testing.T) {
	for _, c := range []struct {
		apart        time.Duration
		pings, asks  int
		from, within time.Duration // the first question
	}{
		{100 * time.Millisecond, 1, 6, 490 * time.Millisecond, 520 * time.Millisecond},
		{400 * time.Millisecond, 1, 6, 1190 * time.Millisecond, 1300 * time.Millisecond},
		{2 * time.Second, 0, 0, 0, 0},
	} {
		s, seq := streaming(t), uint64(0)
		if pings, asks := s.flow(&seq, 40, c.apart); pings+asks > 0 {
			t.Errorf("items %v apart: %d pings and %d questions while they came", c.apart, pings, asks)
		}
		if c.asks == 0 {
			if pings, asks := s.questions(10 * time.Second); pings+asks > 0 {
				t.Errorf("items %v apart: %d pings and %d questions after the last", c.apart, pings, asks)
			}
			continue
		}
		passed := c.apart
		for _, asks := s.questions(10 * time.Millisecond); asks == 0 && passed < c.within; passed += 10 * time.Millisecond {
			_, asks = s.questions(10 * time.Millisecond)
		}
		if passed < c.from || passed >= c.within {
			t.Errorf("items %v apart: the first question after %v of silence", c.apart, passed)
		}
		s.flow(&seq, 5, c.apart) // it goes on, and is a stream again
		if _, asks := s.questions(2 * c.from); asks != 2 {
			t.Errorf("items %v apart: %d questions before the answer could come, want 2", c.apart, asks)
		}
		s.flow(&seq, 10, c.apart)
		pings, asks := s.questions(10 * time.Second)
		if pings != c.pings || asks != c.asks {
			t.Errorf("items %v apart: %d pings and %d questions after the last, want %d and %d", c.apart, pings, asks, c.pings, c.asks)
		}
	}
}

// That a line is a stream is known after ten events. What lazy links were to be told by then
// waits as long as if it had been known.
func TestAStreamIsToldSeldomFromItsBeginning(t *testing.T) {
	s, seq, told := streaming(t), uint64(0), map[overlay.ID]int{}
	for range 55 {
		seq++
		s.push("parent", event(seq))
		s.among(100 * time.Millisecond)
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Heads {
				told[send.To]++
			}
		}
	}
	for i := range 5 {
		if id := overlay.ID(fmt.Sprint("member ", i)); told[id] != 1 {
			t.Errorf("%s was told %d times within the first five seconds of a stream, want once", id, told[id])
		}
	}
}

// Some items at once are no stream: a member that catches up, or a feed with three new items.
func TestAFewItemsAreNoStream(t *testing.T) {
	s, seq := streaming(t), uint64(0)
	s.flow(&seq, 1, time.Minute)
	for range 40 {
		seq++
		ev := event(seq)
		s.receive("parent", tree.Message{Type: tree.Data, Group: group, Via: multicast.ViaCatchUp, Event: ev})
	}
	s.flow(&seq, 5, time.Millisecond)
	if pings, asks := s.questions(10 * time.Second); pings+asks > 0 {
		t.Errorf("%d pings and %d questions after a few items", pings, asks)
	}
}

// A stream that has ended makes no other line's heads rare.
func TestAStreamThatEndedIsNone(t *testing.T) {
	s, seq := streaming(t), uint64(0)
	s.flow(&seq, 40, 100*time.Millisecond)
	s.among(30 * time.Second)
	for i := range uint64(3) {
		s.push("parent", by(2, i+1))
		s.among(3 * time.Second)
		if len(s.sent("parent", tree.Heads)) == 0 {
			t.Errorf("item %d of a slow line was not acknowledged within three seconds", i+1)
		}
	}
}

// Who hears that a stream goes on elsewhere pulls at once what it lacks: nothing can be on
// its way.
func TestWhatASilentStreamLacksIsPulledAtOnce(t *testing.T) {
	s, seq := streaming(t), uint64(0)
	s.flow(&seq, 40, 100*time.Millisecond)
	s.pass(600 * time.Millisecond)
	next := event(seq + 3).Stamp
	s.receive("member 1", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{next}}}})
	s.pass(150 * time.Millisecond)
	if m := s.one("member 1", tree.Pull); m.Span.From != seq+1 || m.Span.To != seq+3 {
		t.Errorf("pulls %d to %d, lacks %d to %d", m.Span.From, m.Span.To, seq+1, seq+3)
	}
}

// Who publishes a stream knows that its children tell what they have as seldom.
func TestThePublisherOfAStreamWaitsForItsChildren(t *testing.T) {
	s, seq := streaming(t), uint64(0)
	s.adopts("child", 16)
	pings := 0
	for i := range 600 {
		seq++
		s.step(tree.Input{Kind: tree.Publish, Group: group, Event: *event(seq)})
		s.pass(100 * time.Millisecond)
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Ping {
				if send.To == "child" || send.To == "parent" {
					pings++
				}
				s.pong(send.To, send.Msg)
			}
		}
		if i%65 == 64 {
			for _, id := range []overlay.ID{"child", "parent"} {
				s.receive(id, tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{event(seq).Stamp}}}})
			}
		}
	}
	if pings > 2 { // as the stream begins
		t.Errorf("%d pings to neighbours that acknowledge every 6.5 s", pings)
	}
	if _, asks := s.questions(2 * time.Second); asks > 0 {
		t.Errorf("it asks %d others whether its own stream goes on", asks)
	}
}
