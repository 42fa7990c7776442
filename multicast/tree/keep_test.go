package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// A child that leaves may say that somebody was sent to its place. Then nobody who has one
// and looks for a better one gets it for a second, unless there is another; who was sent
// gets it, and so does who has none.
func TestAPlaceIsKeptForWhoWasSentToIt(t *testing.T) {
	for _, row := range []struct {
		name  string
		flags tree.Flags // of the child that leaves
		more  bool       // another one leaves
		first tree.Flags // of who joins then; Better: nobody
		since time.Duration
		want  bool // who looks for a better place would be taken
	}{
		{"left, nobody sent", 0, false, tree.Better, 0, true},
		{"left for somebody", tree.Confirm, false, tree.Better, 0, false},
		{"left for somebody a moment ago", tree.Confirm, false, tree.Better, 900 * time.Millisecond, false},
		{"left for somebody who did not come", tree.Confirm, false, tree.Better, 1100 * time.Millisecond, true},
		{"two left, somebody was sent", tree.Confirm, true, tree.Better, 0, true},
		{"two left, and who was sent has come", tree.Confirm, true, 0, 0, true},
		{"two left, and one without a parent has come", tree.Confirm, true, tree.Detached, 0, false},
	} {
		s, _ := full(t, 1000, 1)
		s.receive("child 3", tree.Message{Type: tree.Leave, Flags: row.flags, Group: group, Edge: 4})
		if row.more {
			s.receive("child 5", tree.Message{Type: tree.Leave, Group: group, Edge: 6})
		}
		own := tree.Standing{Delay: 500 * time.Millisecond, Weight: 1, Room: 15, At: at(80)}
		if row.first != tree.Better {
			heavy := tree.Standing{Delay: 44 * time.Millisecond, Weight: 1000, Height: 1, At: at(80)}
			s.receive("comes", tree.Message{Type: tree.Join, Group: group, Edge: 99, Flags: row.first, Self: &heavy})
			s.one("comes", tree.Ack)
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
	for flags, want := range map[tree.Flags]tree.Type{0: tree.Ack, tree.Detached: tree.Ack, tree.Better: tree.Refuse} {
		s, _ := full(t, 1000, 1)
		s.receive("child 3", tree.Message{Type: tree.Leave, Flags: tree.Confirm, Group: group, Edge: 4})
		own := tree.Standing{Delay: 500 * time.Millisecond, Weight: 1, Room: 15, At: at(80)}
		s.receive("comes", tree.Message{Type: tree.Join, Group: group, Edge: 99, Flags: flags, Self: &own})
		s.one("comes", want)
	}
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
		}
	}
	for _, row := range []struct {
		flags  tree.Flags
		reason tree.Reason
		want   tree.Flags
	}{{0, 0, 0}, {tree.Confirm, 0, 0}, {tree.Confirm, tree.Moved, tree.Confirm}} {
		s := moving(t)
		s.receive("member", tree.Message{Type: tree.Ack, Flags: row.flags, Reason: row.reason, Group: group, Ver: 1,
			Edge: s.one("member", tree.Join).Edge, Path: []overlay.ID{"above 0", "member"}})
		if got := s.one("parent", tree.Leave).Flags; got != row.want {
			t.Errorf("adopted with %v, %v it leaves with %v", row.flags, row.reason, got)
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
