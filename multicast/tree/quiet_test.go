package tree_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// A network that starts measures round trips with everybody busy. A node that went by
// the first one for ever would take its place for a bad one, and so would all below it.
func TestTheWayToTheParentIsMeasuredAgain(t *testing.T) {
	c := &chart{hop: "parent", rtt: 400 * time.Millisecond}
	s := alone(t, tree.Config{}, c)
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"parent"}, Posts: []tree.Standing{{Weight: 100, At: at(1)}}})
	s.receive("child", joinOf(5, 0))
	delay := func(m *tree.Message) time.Duration { return m.Posts[len(m.Posts)-1].Delay }
	if d := delay(s.one("child", tree.Ack)); d < 200*time.Millisecond {
		t.Fatalf("the delay is %v with a round trip of 400 ms to the top", d)
	}
	c.rtt = 10 * time.Millisecond
	for len(s.sent("parent", tree.Ping)) == 0 {
		s.pass(time.Second)
	}
	s.receive("parent", tree.Message{Type: tree.Pong, Self: &tree.Standing{At: at(1)}})
	s.receive("second", joinOf(6, 0))
	if d := delay(s.one("second", tree.Ack)); d < 5*time.Millisecond || d > 10*time.Millisecond {
		t.Errorf("the delay is %v with a round trip of 10 ms to the top", d)
	}
}

// A node in many trees that has long found nothing better in any of them lets it rest.
// What changes in one of them is looked at within seconds all the same.
func TestAQuietNodeSearchesSeldom(t *testing.T) {
	const groups = 20
	s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 20 * time.Millisecond})
	place := func(g multicast.Group, parent overlay.ID) (edge uint64) {
		t.Helper()
		edge = s.one(parent, tree.Join).Edge
		s.receive(parent, tree.Message{Type: tree.Ack, Group: g, Edge: edge, Ver: 1, Path: []overlay.ID{"top", parent},
			Posts: []tree.Standing{{Weight: 1000, At: at(1)}, {Delay: 5 * time.Millisecond, Weight: 10, At: at(2)}}})
		return edge
	}
	var last multicast.Group
	var edge uint64
	for i := range groups {
		last = multicast.GroupOf(fmt.Sprintf("https://example.org/%d.xml", i))
		s.step(tree.Input{Kind: tree.JoinGroup, Group: last})
		edge = place(last, "parent")
		s.receive("member", tree.Message{Type: tree.Link, Group: last, Path: []overlay.ID{"elsewhere", "far"}})
	}
	// searches counts them by the probes of the only lazy link, which each begins with.
	searches := func(span time.Duration) (n int) {
		for end := s.now + span; s.now < end; {
			s.pass(time.Second)
			n += len(s.sent("member", tree.Probe))
			for _, send := range s.out.Sends {
				if send.Msg.Type == tree.Ping {
					s.pong(send.To, send.Msg)
				}
			}
		}
		return n
	}
	if n := searches(10 * time.Minute); n < groups {
		t.Errorf("%d searches in the first ten minutes for %d groups", n, groups)
	}
	searches(2 * time.Hour)
	if n := searches(time.Hour); n == 0 || n > 5 {
		t.Errorf("%d searches in an hour, the fourth, want one in a quarter of an hour", n)
	}
	s.receive("parent", tree.Message{Type: tree.Drop, Group: last, Edge: edge, Reason: tree.Full, Peers: []overlay.ID{"other"}})
	place(last, "other")
	if searches(30*time.Second) == 0 {
		t.Error("no search within half a minute of a new place")
	}
}
