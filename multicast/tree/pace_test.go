package tree_test

import (
	"strconv"
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
// then. Who was sent to a place that is plainly worse than its last one searches at once, if
// that one was not its first, which it never looked around from.
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
		searched    bool
		least, most time.Duration
	}{
		{20 * time.Millisecond, true, 700 * time.Millisecond, 3 * time.Second},
		{48 * time.Millisecond, true, 700 * time.Millisecond, 3 * time.Second},
		{80 * time.Millisecond, true, 0, 400 * time.Millisecond},
		{80 * time.Millisecond, false, 2 * time.Second, 7 * time.Second},
	} {
		for seed := range uint64(20) {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
			s.link("member")
			if row.searched {
				s.first()
			}
			s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Moved, Peers: []overlay.ID{"there"}})
			s.receive("there", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("there", tree.Join).Edge, Ver: 1,
				Path:  []overlay.ID{"above 0", "above 1", "there"},
				Posts: []tree.Standing{{Weight: 4096, At: at(100)}, {Weight: 256, At: at(1)}, {Delay: row.delay, Weight: 16, At: at(2)}}})
			if d := s.first(); d < row.least || d > row.most {
				t.Errorf("seed %d: below one %v from the top, after a search %v, it searched in %v", seed, row.delay, row.searched, d)
			}
		}
	}
}

// Nor does who hangs too deep search before that: the tree is small yet, and grows around it.
func TestWhoHangsTooDeepDoesNotHurryItsFirstSearch(t *testing.T) {
	hurried := func(searched bool) (n int) {
		for seed := range uint64(20) {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
			down := tree.Message{Type: tree.Path, Group: group, Edge: edgeOf(s), Ver: 2}
			s.link("member")
			if searched {
				s.among(40 * time.Second) // it is in no hurry any more
			}
			for i := range 8 {
				down.Path = append(down.Path, overlay.ID("above "+strconv.Itoa(i)))
				down.Posts = append(down.Posts, tree.Standing{Delay: time.Duration(i) * 5 * time.Millisecond, Weight: 4096 >> i, At: at(100)})
			}
			down.Path[7] = "parent"
			s.receive("parent", down)
			if s.first() < 2*time.Second {
				n++
			}
		}
		return n
	}
	if n := hurried(false); n > 0 {
		t.Errorf("of 20 nodes that have not searched yet %d do so at once", n)
	}
	if n := hurried(true); n < 10 {
		t.Errorf("of 20 nodes that have searched only %d do so again at once", n)
	}
}

// Who was cut from its parent hangs anywhere, and all below it: it searches at once.
func TestWhoWasCutSearchesAtOnce(t *testing.T) {
	for seed := range uint64(20) {
		for children := range 2 {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 40*time.Millisecond)
			s.link("member")
			s.first()
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
