package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
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
