package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// first is how long it takes until a node probes somebody.
func (s *solo) first() time.Duration {
	for from := s.now; s.now < from+time.Minute; {
		if len(s.probes(20*time.Millisecond, silent)) > 0 {
			return s.now - from
		}
	}
	return time.Minute
}

// Who has just joined searches in a few seconds: where many join the tree is another one by
// then. Who was sent to a place that is plainly worse than its last one searches at once.
func TestWhenTheFirstSearchIs(t *testing.T) {
	for seed := range uint64(20) {
		s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
		s.link("member")
		if d := s.first(); d < 2*time.Second || d > 7*time.Second {
			t.Errorf("seed %d: after it joined it searched in %v", seed, d)
		}
	}
	for _, row := range []struct {
		delay       time.Duration // of the new parent; the node's own is 42 ms before
		least, most time.Duration
	}{
		{20 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second},
		{48 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second},
		{80 * time.Millisecond, 0, 400 * time.Millisecond},
	} {
		for seed := range uint64(20) {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
			s.link("member")
			s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Moved, Peers: []overlay.ID{"there"}})
			s.receive("there", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("there", tree.Join).Edge, Ver: 1,
				Path:  []overlay.ID{"above 0", "above 1", "there"},
				Posts: []tree.Standing{{Weight: 4096, At: at(100)}, {Weight: 256, At: at(1)}, {Delay: row.delay, Weight: 16, At: at(2)}}})
			if d := s.first(); d < row.least || d > row.most {
				t.Errorf("seed %d: below one %v from the top it searched in %v", seed, row.delay, d)
			}
		}
	}
}

// Who was cut from its parent hangs anywhere, and all below it: it searches at once.
func TestWhoWasCutSearchesAtOnce(t *testing.T) {
	for seed := range uint64(20) {
		for children := range 2 {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
			s.link("member")
			for i := range children {
				own := tree.Standing{Delay: 50 * time.Millisecond, Weight: 1, Room: 15, At: at(3)}
				s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &own})
			}
			s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Full, Peers: []overlay.ID{"there"}})
			ack := ackAt("there", 2, 80*time.Millisecond)
			ack.Edge = s.one("there", tree.Join).Edge
			s.receive("there", ack)
			if d := s.first(); (d <= 400*time.Millisecond) != (children > 0) {
				t.Errorf("seed %d: with %d children it searched in %v", seed, children, d)
			}
		}
	}
}
