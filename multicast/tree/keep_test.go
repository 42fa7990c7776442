package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// A child that leaves may say who was sent to its place. Then nobody else who has one gets it
// for a second, unless there is another; who was sent gets it, and so does who has none.
func TestAPlaceIsKeptForWhoWasSentToIt(t *testing.T) {
	for _, row := range []struct {
		name  string
		heir  overlay.ID // of the child that leaves
		more  bool       // another one leaves
		first overlay.ID // who joins then
		flags tree.Flags // and how
		since time.Duration
		want  bool // who looks for a better place would be taken
	}{
		{"left, nobody sent", "", false, "", 0, 0, true},
		{"left for somebody", "heir", false, "", 0, 0, false},
		{"left for somebody a moment ago", "heir", false, "", 0, 900 * time.Millisecond, false},
		{"left for somebody who did not come", "heir", false, "", 0, 1100 * time.Millisecond, true},
		{"two left, somebody was sent", "heir", true, "", 0, 0, true},
		{"two left, and who was sent has come", "heir", true, "heir", 0, 0, true},
		{"two left, and one has come that was sent elsewhere", "heir", true, "other", 0, 0, false},
		{"two left, and one without a parent has come", "heir", true, "other", tree.Detached, 0, false},
	} {
		s, _ := full(t, 1000, 1)
		s.receive("child 3", leftFor(row.heir, 4))
		if row.more {
			s.receive("child 5", tree.Message{Type: tree.Leave, Group: group, Edge: 6})
		}
		own := tree.Standing{Delay: 500 * time.Millisecond, Weight: 1, Room: 15, At: at(80)}
		if row.first != "" {
			heavy := tree.Standing{Delay: 44 * time.Millisecond, Weight: 1000, Height: 1, At: at(80)}
			s.receive(row.first, tree.Message{Type: tree.Join, Group: group, Edge: 99, Flags: row.flags, Self: &heavy})
			s.one(row.first, tree.Ack)
		}
		s.now += row.since
		s.receive("asks", tree.Message{Type: tree.Probe, Flags: tree.Better, Group: group, Self: &own})
		if got := s.one("asks", tree.Offer).Flags&tree.Better != 0; got != row.want {
			t.Errorf("%s: taken: %v", row.name, got)
		}
	}
}

// The last free place is for who was sent to it, or for who has none.
func TestWhoWasSentGetsThePlace(t *testing.T) {
	for _, row := range []struct {
		who   overlay.ID
		flags tree.Flags
		want  tree.Type
	}{
		{"heir", 0, tree.Ack},
		{"other", 0, tree.Refuse},
		{"other", tree.Better, tree.Refuse},
		{"other", tree.Detached, tree.Ack},
	} {
		s, _ := full(t, 1000, 1)
		s.receive("child 3", leftFor("heir", 4))
		own := tree.Standing{Delay: 500 * time.Millisecond, Weight: 1, Room: 15, At: at(80)}
		s.receive(row.who, tree.Message{Type: tree.Join, Group: group, Edge: 99, Flags: row.flags, Self: &own})
		s.one(row.who, row.want)
	}
}

// leftFor is the Leave of a child whose place somebody was sent to; empty: nobody was.
func leftFor(heir overlay.ID, edge uint64) tree.Message {
	if heir == "" {
		return tree.Message{Type: tree.Leave, Group: group, Edge: edge}
	}
	return tree.Message{Type: tree.Leave, Flags: tree.Confirm, Group: group, Edge: edge, Peers: []overlay.ID{heir}}
}

// A node of which a child is to make room itself keeps the place all the same: it has as many
// to make room for as before, and goes on until one has gone. If who was sent does not come,
// nobody need.
func TestAPlaceIsKeptInTheMiddleOfASwap(t *testing.T) {
	const leaver = "child 9"
	for _, row := range []struct {
		name    string
		comes   bool          // who was sent
		since   time.Duration // its place is kept
		another bool          // if the child that was asked stays, another one is
	}{
		{"it has come", true, 0, true},
		{"it may still come", false, 0, true},
		{"it has not come", false, 1100 * time.Millisecond, false},
	} {
		s, victim := swapping(t)
		if victim == leaver {
			t.Fatal("the one that is to leave was asked to make room")
		}
		stays := staying(s, victim)
		s.tells("child 14", 15, tree.Standing{Delay: 50 * time.Millisecond, Weight: 2, Room: 3, At: at(40)})
		s.receive(leaver, leftFor("heir", edgeOfChild(leaver)))
		if row.comes {
			s.receive("heir", sentHere())
			s.one("heir", tree.Ack)
			if st, _ := s.n.Status(group); len(st.Children) != 16 {
				t.Fatalf("it has %d children", len(st.Children))
			}
		}
		s.now += row.since
		s.receive(victim, stays)
		if another := s.sentAway(t); (another != "") != row.another {
			t.Errorf("%s: in the stead of %s it asked %q", row.name, victim, another)
		}
	}
}

// sentHere is the Join of a node that was asked to make room and sent here.
func sentHere() tree.Message {
	own := tree.Standing{Delay: 50 * time.Millisecond, Weight: 9, At: at(40)}
	return tree.Message{Type: tree.Join, Group: group, Edge: 99, Self: &own}
}

// staying is the answer of a child that was told to go, and stays.
func staying(s *solo, child overlay.ID) tree.Message {
	m := answer(s, child, 0)
	m.Edge, m.Peers, m.Posts, m.Self.Room = edgeOfChild(child), nil, nil, 0
	return m
}

// edgeOfChild is the number of a child's edge, as a crowded node has them.
func edgeOfChild(child overlay.ID) (edge uint64) {
	_, _ = fmt.Sscanf(string(child), "child %d", &edge)
	return edge + 1
}

// Where the very child that was to make room leaves its place to somebody, another one has to.
func TestWhoLeavesItsPlaceToAnotherMakesNoRoom(t *testing.T) {
	s, victim := swapping(t)
	s.tells("child 14", 15, tree.Standing{Delay: 50 * time.Millisecond, Weight: 2, Room: 3, At: at(40)})
	s.receive(victim, leftFor("heir", edgeOfChild(victim)))
	if s.sentAway(t) == "" {
		t.Error("nobody was asked in its stead")
	}
	for s.sentAway(t) != "" { // until it is told that it may go anywhere
		next := s.sentAway(t)
		s.receive(next, staying(s, next))
	}
	told := s.pressed()
	if told == "" {
		t.Fatal("nobody was told to go")
	}
	other := overlay.ID("child 3")
	if told == other {
		other = "child 4"
	}
	s.receive("heir", sentHere())
	s.receive(other, leftFor("second", edgeOfChild(other)))
	s.receive(told, staying(s, told))
	if s.pressed() == "" {
		t.Error("a place that is kept was taken for room, and nobody else was told to go")
	}
}

// pressed is the child that the last step told to go anywhere; empty: none.
func (s *solo) pressed() overlay.ID {
	for _, send := range s.out.Sends {
		if m := send.Msg; m.Type == tree.Drop && m.Reason == tree.Full && m.Flags&tree.Crowded != 0 {
			return send.To
		}
	}
	return ""
}

// A place that is kept counts as taken: it is not offered, and a swap begins or goes on only
// where the one that swaps use is free beside it.
func TestAPlaceThatIsKeptIsNoRoom(t *testing.T) {
	s := crowded(t, 40)
	s.receive("child 9", leftFor("heir", 10))
	s.pass(100 * time.Millisecond)
	s.receive("asks", tree.Message{Type: tree.Probe, Flags: tree.Better, Group: group, Self: better(1).Self, RTT: time.Second})
	if room := s.one("asks", tree.Offer).Self.Room; room != 0 {
		t.Errorf("it offers %d places", room)
	}

	own := tree.Standing{Delay: 50 * time.Millisecond, Weight: 1, At: at(40)}
	s = crowded(t, 40)
	s.receive("heavy", better(30))
	ids := asked(t, s)
	s.receive("child 9", leftFor("heir", 10))
	s.receive("lost", tree.Message{Type: tree.Join, Group: group, Edge: 98, Flags: tree.Detached, Self: &own})
	s.one("lost", tree.Ack)
	s.pass(100 * time.Millisecond)
	for _, id := range ids {
		m := answer(s, id, 90*time.Millisecond)
		m.Edge = edgeOfChild(id)
		s.receive(id, m)
	}
	s.one("heavy", tree.Refuse)

	s = crowded(t, 40)
	s.receive("heavy", better(30))
	for _, id := range asked(t, s) {
		s.receive(id, answer(s, id, 90*time.Millisecond))
	}
	s.pass(5 * time.Second) // it never says that it has come, and nobody is asked to go
	if st, _ := s.n.Status(group); len(st.Children) != 16 {
		t.Fatalf("it has %d children", len(st.Children))
	}
	s.receive("child 9", leftFor("heir", 10))
	s.receive("heavier", better(60))
	s.one("heavier", tree.Refuse)
}

// Who comes by a swap is told where the child that makes room goes, and says so to the
// parent that it leaves if it goes there.
func TestTheOldParentHearsThatItsPlaceIsWanted(t *testing.T) {
	for _, to := range []overlay.ID{"old", "heavy"} {
		s := crowded(t, 40)
		s.receive("heavy", better(30))
		for _, id := range asked(t, s) {
			m := answer(s, id, 90*time.Millisecond)
			m.Peers = []overlay.ID{to}
			s.receive(id, m)
		}
		ack := s.one("heavy", tree.Ack)
		if moved := ack.Reason == tree.Moved; ack.Flags&tree.Confirm == 0 || moved != (to == "old") {
			t.Errorf("the child goes to %s; the newcomer is told %v, %v", to, ack.Flags, ack.Reason)
		} else if moved {
			s.tells("heavy", 77, tree.Standing{Delay: 300 * time.Millisecond, Weight: 30, Room: 5, At: at(3)})
			if victim := s.sentAway(t); len(ack.Peers) == 0 || ack.Peers[0] != victim {
				t.Errorf("%s goes to the old place; the newcomer is told %v", victim, ack.Peers)
			}
		}
	}
	for _, row := range []struct {
		flags  tree.Flags
		reason tree.Reason
		want   overlay.ID
	}{{0, 0, ""}, {tree.Confirm, 0, ""}, {tree.Confirm, tree.Moved, "heir"}} {
		s := moving(t)
		s.receive("member", tree.Message{Type: tree.Ack, Flags: row.flags, Reason: row.reason, Group: group, Ver: 1, Peers: []overlay.ID{"heir", "met"},
			Edge: s.one("member", tree.Join).Edge, Path: []overlay.ID{"above 0", "member"}})
		got, want := s.one("parent", tree.Leave), leftFor(row.want, 0)
		if got.Flags != want.Flags || !slices.Equal(got.Peers, want.Peers) {
			t.Errorf("adopted with %v, %v it leaves with %v for %v", row.flags, row.reason, got.Flags, got.Peers)
		}
	}
}

// moving is a node that has just asked "member" to be a better parent than its own.
func moving(t *testing.T) *solo {
	t.Helper()
	s := searching(t, &chart{rtt: 20 * time.Millisecond}, 1, 0, 300*time.Millisecond)
	s.link("member")
	for range 600 {
		s.probes(100*time.Millisecond, func(overlay.ID) *tree.Message {
			o := stands(nil)
			o.Flags |= tree.Better
			o.Self.Delay = 10 * time.Millisecond
			return o
		})
		if len(s.sent("member", tree.Join)) > 0 {
			return s
		}
	}
	t.Fatal("it does not move")
	return nil
}
