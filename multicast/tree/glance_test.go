package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
)

// Any node may glance at anything, at every stage: one that is in no group, one with neighbours,
// one that searches. What it does afterwards is what one does that did not: that lanes of a
// simulated network change nothing in a run shows it (sim/scenario).
func TestGlance(t *testing.T) {
	glance := func(s *solo) {
		for stage := range tree.Glances {
			s.n.Glance(stage, "", nil)
			for what := tree.Join; what.Known(); what++ {
				s.n.Glance(stage, "parent", &tree.Message{Type: what, Group: group})
				s.n.Glance(stage, "stranger", ackPtr(what))
			}
		}
	}
	glance(alone(t, tree.Config{}, &chart{}))
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	s.link("friend")
	glance(s)
	for range 100 { // until a search is under way, and after it
		s.pass(100 * time.Millisecond)
		glance(s)
	}
}

// ackPtr is a message of a type with lists in it.
func ackPtr(what tree.Type) *tree.Message {
	m := ackAt("there", 5, 45*time.Millisecond)
	m.Type, m.Self, m.Peers = what, &m.Posts[0], m.Path
	m.Entries = []tree.Entry{{Group: group}}
	return &m
}
