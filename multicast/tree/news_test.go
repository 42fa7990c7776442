package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// by is an event of another source.
func by(source byte, seq uint64) *multicast.Event {
	ev := event(seq)
	ev.Stamp.Source = multicast.Source{source}
	return ev
}

// heads lists the sources whose heads a neighbour was told in what followed.
func (s *solo) heads(to string) (sources []byte) {
	s.pass(3 * time.Second)
	for _, send := range s.out.Sends {
		if string(send.To) != to || send.Msg.Type != tree.Heads {
			continue
		}
		for _, h := range send.Msg.Entries[0].Heads {
			sources = append(sources, h.Source[0])
		}
	}
	return sources
}

// In a feed that members take turns to poll each of them has a line of its own. A word
// of one of them does not list all the others again, of which there may be thirty.
func TestOnlyWhatMovedIsTold(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.link("far")
	for source := byte(1); source <= 4; source++ {
		s.push("parent", by(source, 1))
	}
	all := []byte{1, 2, 3, 4}
	if got := s.heads("far"); !slices.Equal(got, all) {
		t.Fatalf("told the heads of %v first, want all", got)
	}
	s.push("parent", by(2, 2))
	if got := s.heads("far"); !slices.Equal(got, []byte{2}) {
		t.Errorf("told the heads of %v after a word of 2", got)
	}
	// What it says itself needs not be said to it, whether it says so at once or bit by bit.
	for _, ev := range []*multicast.Event{by(3, 2), by(4, 2)} {
		s.receive("far", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{ev.Stamp}}}})
		s.push("parent", ev)
	}
	s.receive("far", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{by(1, 1).Stamp, by(2, 2).Stamp}}}})
	if got := s.heads("far"); len(got) > 0 {
		t.Errorf("told the heads of %v, which it told itself", got)
	}
	// Who pushed something takes its head for an acknowledgement.
	s.push("parent", by(1, 2))
	if got := s.heads("parent"); !slices.Contains(got, 1) {
		t.Errorf("the parent was told the heads of %v after an item of 1", got)
	}
	// What was told may be lost. Keep-alives show it, and then all is told.
	s.heads("far")
	s.receive("far", tree.Message{Type: tree.Ping, Digest: 0, Known: 1})
	s.receive("far", tree.Message{Type: tree.Ping, Digest: s.one("far", tree.Pong).Digest, Known: 1})
	if got := s.heads("far"); !slices.Equal(got, all) {
		t.Errorf("told the heads of %v to who knows something else, want all", got)
	}
}

// While items come once a second, heads would be half of all frames. Of eight lazy links
// each is told every three seconds or so, but somebody always is: whose parent died learns
// it from the first who says more than it has. A single item is told to all at once. Where
// they come ten times a second silence itself is told from news, and heads are rarer still.
func TestInAStreamLazyLinksAreToldInTurn(t *testing.T) {
	const links = 8
	for _, c := range []struct {
		apart    time.Duration
		each     time.Duration // between two words to one link, in the mean
		nobody   time.Duration // is told for so long
		settling int
		first    int // of the links are told before the second item
	}{
		{time.Second, 3500 * time.Millisecond, 2500 * time.Millisecond, 20, links},
		{100 * time.Millisecond, 13 * time.Second, 8 * time.Second, 300, 0},
	} {
		s := alone(t, tree.Config{Lazy: links}, &chart{hop: "parent"})
		s.below("parent")
		for i := range links {
			s.link(overlay.ID(fmt.Sprint("member ", i)))
		}
		var seq uint64
		told := func(items int) (n int) {
			for range items {
				seq++
				s.push("parent", event(seq))
				s.pass(c.apart)
				for _, send := range s.out.Sends {
					switch m := send.Msg; {
					case m.Type == tree.Heads && send.To != "parent":
						n++
					case m.Type == tree.Ping:
						s.pong(send.To, m)
					}
				}
			}
			return n
		}
		if n := told(1); n != c.first {
			t.Errorf("items %v apart: %d links were told of the first before the second, want %d", c.apart, n, c.first)
		}
		told(c.settling)
		total, pause, longest := 0, time.Duration(0), time.Duration(0)
		const span = 3 * time.Minute
		for range int(span / c.apart) {
			n := told(1)
			if total += n; n > 0 {
				pause = 0
			} else if pause += c.apart; pause > longest {
				longest = pause
			}
		}
		if each := span * links / time.Duration(max(total, 1)); each < c.each*3/4 || each > c.each*5/4 {
			t.Errorf("items %v apart: a link was told every %v, want %v or so", c.apart, each, c.each)
		}
		if longest > c.nobody {
			t.Errorf("items %v apart: for %v nobody was told", c.apart, longest)
		}
	}
}

// A message at a time of its own costs both ends more than the item that comes to both:
// who has been told of a stream is told again when an item has just gone on, and not
// before that. Where none comes any more, it is not waited for.
func TestInAStreamHeadsFollowAnItem(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.link("far")
	var seq uint64
	var along, soon, apart int
	stream := func(items int) {
		told := func() int { return len(s.sent("far", tree.Heads)) + len(s.sent("parent", tree.Heads)) }
		along, soon, apart = 0, 0, 0
		for range items {
			seq++
			s.push("parent", event(seq))
			along += told()
			s.among(20 * time.Millisecond)
			soon += told()
			s.among(80 * time.Millisecond)
			apart += told()
		}
	}
	stream(20)
	stream(600)
	if soon < 2*6 || soon > 2*12 || along+apart > 0 {
		t.Errorf("in a minute %d heads left with an item, %d after one and %d between items", along, soon, apart)
	}
	s.among(20 * time.Second)
	if stream(1); along+soon > 0 {
		t.Errorf("after a pause %d heads left as the next item came, and not together", along+soon)
	}
	// However fast items come, they put nothing off.
	fast := 0
	for range 4000 {
		seq++
		s.push("parent", event(seq))
		s.among(5 * time.Millisecond)
		fast += len(s.sent("parent", tree.Heads))
	}
	if fast < 2 || fast > 5 {
		t.Errorf("in twenty seconds of a fast stream the parent was told %d times", fast)
	}
	for _, to := range []overlay.ID{"far", "parent"} {
		stream(20)
		s.among(10 * time.Second)
		if got := s.sent(to, tree.Heads); len(got) == 0 {
			t.Errorf("%s was not told of the last items", to)
		}
	}
}
