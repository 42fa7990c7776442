package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// belowMany is a node below a parent in a tree of that size.
func belowMany(t *testing.T, size uint32) *solo {
	s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * ms})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"top", "parent"}, Posts: []tree.Standing{{Weight: size, At: at(80)}, {Delay: 400 * ms, Weight: size / 8, At: at(60)}}})
	s.child("child", 2, 4*ms, 0)
	return s
}

// An event over an edge that is not there yet, or no more, comes from above. In a huge tree it goes on to the
// children only, and the parent is told that it is here; what comes over an edge goes everywhere.
func TestAnEventOverNoEdgeIsNewBelowOnly(t *testing.T) {
	for _, c := range []struct {
		size uint32
		from overlay.ID
		up   bool
	}{{1000, "stranger", true}, {1_000_000, "stranger", false}, {1_000_000, "child", true}} {
		s := belowMany(t, c.size)
		s.push(c.from, event(1))
		if up := len(s.sent("parent", tree.Data)) > 0; up != c.up {
			t.Errorf("of %d nodes, from a %s: goes up %v", c.size, c.from, up)
		}
		if down := len(s.sent("child", tree.Data)) > 0; down != (c.from != "child") {
			t.Errorf("of %d nodes, from a %s: goes down %v", c.size, c.from, down)
		}
		s.pass(time.Second)
		if !c.up && len(s.sent("parent", tree.Heads)) == 0 {
			t.Errorf("of %d nodes, from a %s: the parent is told of it by nothing", c.size, c.from)
		}
	}
}

// Whose place is plainly bad searches every few seconds, in a smaller tree every twelve after a while.
func TestWhoHangsBadlyInAHugeTreeSearchesOn(t *testing.T) {
	probes := func(size uint32) int {
		s := belowMany(t, size)
		s.link("member")
		s.among(30 * time.Second)
		return s.count(tree.Probe, time.Minute)
	}
	few, many := probes(100_000), probes(1_000_000)
	t.Logf("%d and %d probes within a minute", few, many)
	if 2*many < 3*few {
		t.Errorf("%d probes within a minute, and %d in a smaller tree", many, few)
	}
}

// A child that its parent asks where else it could be leaves out where those below it would be too deep. If there is
// a place it takes in nobody for whom that would be true once it has been sent there.
func TestAChildDoesNotMeasureWhereItWouldSink(t *testing.T) {
	for _, c := range []struct {
		size   uint32
		height uint8 // below its own child
		found  int
	}{{1_000_000, 0, 1}, {1_000_000, 1, 0}, {1000, 1, 1}} {
		s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * ms})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		edge := s.one("parent", tree.Join).Edge
		s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: edge, Ver: 1,
			Path: []overlay.ID{"top", "a", "b", "parent"}, Posts: []tree.Standing{{Weight: c.size, At: at(80)}, {}, {}, {Delay: 80 * ms, At: at(60)}}})
		own := tree.Standing{Weight: 4, Height: c.height, Room: 3, At: at(3)}
		s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 7, Flags: tree.Detached, Self: &own})
		s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Flags: tree.Confirm, Reason: tree.Moved,
			Peers: []overlay.ID{"comer"}, Posts: []tree.Standing{{Delay: 90 * ms, Room: 5, At: at(50)}}})
		there := tree.Standing{Delay: 300 * ms, Weight: 30, Height: 1, Room: 5, At: at(50)}
		s.receive("comer", tree.Message{Type: tree.Offer, Group: group, Flags: tree.Better, Self: &there, Path: []overlay.ID{"top", "x"}})
		if m := s.one("parent", tree.Load); len(m.Peers) != c.found {
			t.Errorf("of %d nodes, %d edges above the deepest, at depth 4: %d places below who comes, want %d", c.size, c.height+1, len(m.Peers), c.found)
		}
		deep := tree.Standing{Weight: 4, Height: 2, Room: 3, At: at(5)} // 7 with whom is below it, which is the limit
		s.receive("late", tree.Message{Type: tree.Join, Group: group, Edge: 8, Flags: tree.Better, Self: &deep})
		refused := len(s.sent("late", tree.Refuse)) > 0
		if want := c.size == 1_000_000 && c.found > 0; refused != want {
			t.Errorf("of %d nodes, with %d places to be sent to, who would be too deep then is refused: %v", c.size, c.found, refused)
		}
	}
}
