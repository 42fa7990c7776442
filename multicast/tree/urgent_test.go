package tree_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
)

// placed joins a group of 256 and gets a place that is so far from the top, the way being
// a few milliseconds.
func (s *solo) placed(g multicast.Group, delay time.Duration) {
	s.step(tree.Input{Kind: tree.JoinGroup, Group: g})
	ack := ackAt("parent", 2, delay)
	ack.Group, ack.Posts[0].Weight, ack.Edge = g, 256, s.one("parent", tree.Join).Edge
	s.receive("parent", ack)
}

// many are other groups.
func (s *solo) many(groups int) {
	for i := range groups {
		s.placed(multicast.GroupOf(fmt.Sprintf("https://example.org/%d.xml", i)), time.Millisecond)
	}
}

// A node in one group goes on searching for as long as its place there is plainly bad. In
// a hundred it cannot do so in all of them: what is somewhat bad waits for its turn there,
// as what is not bad at all does, and only what is very bad does not. In a thousand a tenth of
// a second is not.
func TestInManyGroupsOnlyTheWorstPlacesAreUrgent(t *testing.T) {
	probes := func(others int, delay time.Duration) (n int) {
		s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * time.Millisecond})
		s.many(others)
		s.placed(group, delay)
		s.link("member")
		s.among(3 * time.Minute)
		s.among(2 * time.Minute)
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Probe && send.Msg.Group == group {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		others int
		delay  time.Duration
		urgent bool
	}{
		{0, 45 * time.Millisecond, true}, {0, 10 * time.Millisecond, false},
		{100, 45 * time.Millisecond, false}, {100, 120 * time.Millisecond, true}, {1000, 120 * time.Millisecond, false}, {1000, 700 * time.Millisecond, true},
	} {
		if n := probes(c.others, c.delay); n >= 8 != c.urgent {
			t.Errorf("beside %d groups, %v late: %d probes in the fourth and fifth minute", c.others, c.delay, n)
		}
	}
}

// What waits for its turn does not ask for it every few seconds: a node in a thousand
// groups would do little else.
func TestWhoHasNoBudgetSleeps(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * time.Millisecond})
	const groups = 1000
	s.many(groups)
	s.among(5 * time.Minute)
	wakes := 0
	for end := s.now + time.Minute; s.n.Deadline() < end; wakes++ {
		s.now = s.n.Deadline()
		s.step(tree.Input{Kind: tree.Tick})
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Ping {
				s.pong(send.To, send.Msg)
			}
		}
	}
	if wakes > 4*groups {
		t.Errorf("a node in %d groups woke %d times in a minute", groups, wakes)
	}
}
