package tree_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

func from(source byte, seq uint64) *multicast.Event {
	ev := event(seq)
	ev.Stamp.Source = multicast.Source{source}
	return ev
}

// Data marked as a replica makes groups, of which there is a bound; and only a
// node that is near the key is meant.
func TestReplicasOfManyGroupsAreBounded(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	for i := range uint32(50_100) {
		var g multicast.Group
		binary.BigEndian.PutUint32(g[:], i)
		ev := event(1)
		ev.Group = g
		s.receive("stranger", tree.Message{Type: tree.Data, Flags: tree.Replica, Group: g, Event: ev})
	}
	if n := len(s.n.Groups()); n > 50_000 {
		t.Errorf("%d groups", n)
	}
}

// Whoever fills the lines with keys of his own silences neither this node...
func TestManySourcesDoNotSilenceTheOwn(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	for i := range byte(40) {
		s.push("parent", from(100+i, 1))
	}
	own := event(1)
	s.step(tree.Input{Kind: tree.Publish, Group: group, Event: *own})
	if len(s.sent("parent", tree.Data)) != 1 {
		t.Errorf("what the node publishes itself was not sent; %d dropped for want of lines", s.n.Counters().LinesFull)
	}
}

// ... nor, after a restart, whoever speaks now.
func TestCursorsLeaveRoomForThoseWhoSpeak(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	var cursor []multicast.Stamp
	for i := range byte(40) {
		cursor = append(cursor, from(100+i, 5).Stamp)
	}
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group, Cursor: cursor})
	join := s.one("parent", tree.Join)
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"parent"}})
	s.now += time.Minute
	s.push("parent", from(1, 1))
	if len(s.out.Deliveries) != 1 {
		t.Errorf("not delivered; %d dropped for want of lines", s.n.Counters().LinesFull)
	}
}

// A receipt says that this event is held, not another one at the same place.
func TestNoReceiptForAFork(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.push("parent", event(1))
	s.step(tree.Input{Kind: tree.Stored, Group: group, Stamp: event(1).Stamp})
	fork := event(1)
	fork.Body = []byte("something else")
	s.receive("parent", tree.Message{Type: tree.Data, Group: group, Event: fork, Want: 3})
	if len(s.sent("parent", tree.Held)) != 0 {
		t.Error("a receipt for what this node does not hold")
	}
}
