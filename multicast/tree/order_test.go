package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Copies leave in turn. With equal copies the sum of all delays is least if the child with
// the most nodes below comes first (Smith's rule), and the last delivery is early if the one
// comes first below which the last leaf is farthest: one with a few nodes goes before one
// with a few times as many, if it is far, but not before those with many.
func TestTheTurnIsByWeightAndByWay(t *testing.T) {
	type kid struct {
		id     overlay.ID
		weight uint32
		rtt    time.Duration
		far    uint16
	}
	for _, row := range []struct {
		name  string
		kids  []kid
		order []overlay.ID
	}{
		{"leaves among others", []kid{{"near", 1, 30 * ms, 0}, {"few", 5, 10 * ms, 0}, {"far", 1, 90 * ms, 0}, {"many", 700, 20 * ms, 0}},
			[]overlay.ID{"many", "few", "far", "near"}},
		{"a far leaf below one with few", []kid{{"some", 10, 10 * ms, 50}, {"last", 2, 100 * ms, 700}, {"heavy", 900, 10 * ms, 980}, {"more", 1000, 10 * ms, 50}},
			[]overlay.ID{"heavy", "more", "last", "some"}},
	} {
		s := alone(t, tree.Config{}, &chart{hop: "parent"})
		s.below("parent")
		for _, k := range row.kids {
			s.child(k.id, k.weight, k.rtt, k.far)
		}
		s.push("parent", event(1))
		var order []overlay.ID
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Data {
				order = append(order, send.To)
			}
		}
		if !slices.Equal(order, row.order) {
			t.Errorf("%s: sent to %v", row.name, order)
		}
	}
}

// A parent tells each child its turn when it adopts it, and again when that has become
// another one by more than a millisecond, 150 µs for each copy. In a tree with places for
// all next to its top nobody is told: nobody has a choice.
func TestAChildIsToldItsTurn(t *testing.T) {
	s := late(t, 20*ms, 10, 0)
	for i := range 14 {
		s.child(overlay.ID(fmt.Sprint("child ", i)), uint32(200-2*i), 10*ms, 0)
	}
	own := tree.Standing{Delay: 10 * ms, Weight: 60, Room: 3, At: at(3)}
	s.receive("comer", tree.Message{Type: tree.Join, Group: group, Edge: 7, Flags: tree.Detached, Self: &own, RTT: 10 * ms})
	if turn := s.one("comer", tree.Ack).Turn; turn != 14 {
		t.Errorf("among fourteen heavier ones it has turn %d", turn)
	}
	turns := func(weight uint32) (turns []uint8) {
		s.tells("comer", 7, tree.Standing{Delay: 10 * ms, Weight: weight, Room: 3, At: at(3)})
		for _, m := range s.sent("comer", tree.Path) {
			turns = append(turns, m.Turn)
		}
		return slices.Compact(turns)
	}
	if got := turns(195); !slices.Equal(got, []uint8{3}) {
		t.Errorf("with three heavier ones it was told %v", got)
	}
	if got := turns(300); len(got) > 0 {
		t.Errorf("a turn that is little sooner was told: %v", got)
	}
	if got := turns(60); !slices.Equal(got, []uint8{14}) {
		t.Errorf("as the lightest it was told %v", got)
	}

	s = alone(t, tree.Config{}, &chart{rtt: 4 * ms})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	for i := range 12 {
		s.child(overlay.ID(fmt.Sprint("leaf ", i)), 1, time.Duration(90-i)*ms, 0)
	}
	s.among(5 * time.Second)
	s.receive("leaf 0", tree.Message{Type: tree.Load, Group: group, Edge: 7, RTT: ms, Self: &tree.Standing{Weight: 1, Room: 15, At: at(3)}})
	if paths := s.sent("leaf 0", tree.Path); len(paths) > 0 {
		t.Errorf("in a star it was told turn %d", paths[0].Turn)
	}
}

// The turn is part of the way: 150 µs for each copy that leaves before.
func TestTheTurnIsPartOfTheWay(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * ms})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	m := tree.Message{Type: tree.Ack, Turn: 10, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"top", "parent"}, Posts: []tree.Standing{{Weight: 100, At: at(0)}, {Delay: 30 * ms, Weight: 50, At: at(1)}}}
	s.receive("parent", m)
	delay := func() time.Duration {
		s.receive("asker", tree.Message{Type: tree.Probe, Group: group})
		return s.one("asker", tree.Offer).Self.Delay
	}
	if d := delay(); d != 30*ms+2*ms+2*ms+1500*time.Microsecond {
		t.Errorf("with ten before it the way takes %v", d)
	}
	m.Type, m.Turn, m.Ver = tree.Path, 0, 2
	s.receive("parent", m)
	if d := delay(); d != 30*ms+2*ms+2*ms {
		t.Errorf("sent to first the way takes %v", d)
	}
}

// The way down to the last leaf counts turns too: here 5 + 2 + 10 ms and 14 copies before.
func TestTheLastLeafWaitsForItsTurn(t *testing.T) {
	s := late(t, 20*ms, 10, 0)
	for i := range 14 {
		s.child(overlay.ID(fmt.Sprint("child ", i)), 50, 10*ms, 100)
	}
	s.child("lightest", 1, 10*ms, 100)
	s.among(3 * time.Second)
	loads := s.sent("parent", tree.Load)
	if len(loads) == 0 || loads[len(loads)-1].Self.Far != 50+20+100+14*3/2 {
		t.Errorf("told its parent %+v", loads)
	}
}

// Who asks how one stands is told the turn that it would have there.
func TestWhoAsksIsToldItsTurn(t *testing.T) {
	s := late(t, 20*ms, 10, 0)
	for i := range 9 {
		s.child(overlay.ID(fmt.Sprint("child ", i)), 50, 10*ms, 0)
	}
	for _, c := range []struct {
		asker  overlay.ID
		weight uint32
		turn   uint8
	}{{"stranger", 1, 9}, {"stranger", 49, 9}, {"stranger", 60, 0}, {"child 3", 50, 8}} {
		own := tree.Standing{Delay: 90 * ms, Weight: c.weight, At: at(3)}
		s.receive(c.asker, tree.Message{Type: tree.Probe, Flags: tree.Better, Group: group, Self: &own, RTT: 10 * ms})
		if turn := s.one(c.asker, tree.Offer).Turn; turn != c.turn {
			t.Errorf("%s, with %d nodes, would have turn %d, want %d", c.asker, c.weight, turn, c.turn)
		}
	}
}

// Who searches counts the turn: one that is better off by two milliseconds is worth a move,
// unless it sends to fourteen others before.
func TestASearchCountsTheTurn(t *testing.T) {
	for turn, want := range map[uint8]bool{0: true, 14: false} {
		s := searching(t, &chart{rtt: 4 * ms}, 1, 0, 5*ms, 90*ms)
		s.link("other")
		offer := tree.Message{Type: tree.Offer, Flags: tree.Better, Group: group, Turn: turn,
			Self: &tree.Standing{Delay: 88 * ms, Weight: 1, At: at(2)}, Path: []overlay.ID{"top"}, Posts: []tree.Standing{{Weight: 256, At: at(0)}}}
		moves := false
		for end := s.now + 5*time.Minute; s.now < end && !moves; {
			s.pass(100 * ms)
			for sends := s.out.Sends; len(sends) > 0; sends = append(sends[1:], s.out.Sends...) {
				to, m := sends[0].To, sends[0].Msg
				s.out = tree.Outbox{}
				switch {
				case m.Type == tree.Ping:
					s.pong(to, m)
				case m.Type == tree.Probe && to == "other":
					s.receive(to, offer)
				}
				moves = moves || m.Type == tree.Join
			}
		}
		if st, _ := s.n.Status(group); moves != want {
			t.Errorf("with turn %d there it moves: %v; its parent is %s", turn, moves, st.Parent)
		}
	}
}

// A full node counts the turn that who wants to come would have there: two milliseconds
// less of way are worth a swap to one with thirty nodes that is sent to first, and nothing
// to one that fourteen others are before.
func TestASwapCountsTheTurn(t *testing.T) {
	for weight, want := range map[uint32]bool{2: true, 900: false} {
		s := late(t, 20*ms, 10, 0)
		for i := range 14 {
			s.child(overlay.ID(fmt.Sprint("child ", i)), weight, 10*ms, 0)
		}
		s.child("light", 1, 10*ms, 0)
		own := tree.Standing{Delay: 20*ms + 5*ms + 2*ms + 2*ms, Weight: 30, Height: 1, Room: 5, At: at(3)}
		s.receive("comer", tree.Message{Type: tree.Join, Group: group, Edge: 77, Flags: tree.Better, Self: &own, RTT: 10 * ms,
			Peers: []overlay.ID{"old"}, Posts: []tree.Standing{{Delay: 25 * ms, Weight: 40, At: at(3)}}})
		if got := len(s.asked()) > 0; got != want {
			t.Errorf("beside fourteen with %d each: children are asked to make room: %v", weight, got)
		}
	}
}

// Whom a full node sends on, it names first the child that has to send to the fewest
// others, of two that are as far away.
func TestABusyChildIsNamedAfterAnIdleOne(t *testing.T) {
	s := late(t, 20*ms, 10, 0)
	for i := range 15 {
		c := tree.Standing{Delay: 27 * ms, Weight: 201, Room: 3, At: at(3)}
		if i == 5 {
			c.Weight, c.Room = 2, 14
		}
		s.receive(overlay.ID(fmt.Sprint("child ", i)), tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &c, RTT: 10 * ms})
	}
	own := tree.Standing{Weight: 1, Room: 15, At: at(3)}
	s.receive("comer", tree.Message{Type: tree.Join, Group: group, Edge: 77, Flags: tree.Detached, Self: &own, RTT: 10 * ms})
	if r := s.one("comer", tree.Refuse); len(r.Peers) < 2 || r.Peers[0] != "child 5" {
		t.Errorf("sent on to %v", r.Peers)
	}
}

// Who measures where else it could be counts the turn that it may expect there: with twelve
// children that have eight nodes each below them, a leaf waits for most of them.
func TestWhoMakesRoomCountsTheTurnElsewhere(t *testing.T) {
	would := func(room uint8) time.Duration {
		s := late(t, 20*ms, 10, 0)
		s.receive("parent", tree.Message{Type: tree.Drop, Flags: tree.Confirm, Group: group, Edge: edgeOf(s), Reason: tree.Moved,
			Peers: []overlay.ID{"there"}, Posts: []tree.Standing{{Delay: 10 * ms, Room: room, At: at(3)}}})
		s.one("there", tree.Probe)
		s.receive("there", tree.Message{Type: tree.Offer, Flags: tree.Better, Group: group, Path: []overlay.ID{"top"},
			Self: &tree.Standing{Delay: 10 * ms, Weight: 97, Room: room, At: at(3)}, Posts: []tree.Standing{{Weight: 4096, At: at(10)}}})
		return s.one("parent", tree.Load).Posts[0].Delay
	}
	if more := would(3) - would(15); more < 8*150*time.Microsecond || more > 12*150*time.Microsecond {
		t.Errorf("that is %v more than where nobody is", more)
	}
}
