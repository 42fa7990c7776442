package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// swapping is a full node that has taken "heavy" in and has just asked a child to make room.
func swapping(t *testing.T) (s *solo, victim overlay.ID) {
	t.Helper()
	s = crowded(t, 40)
	s.receive("heavy", better(30))
	for _, id := range asked(t, s) {
		s.receive(id, answer(s, id, 90*time.Millisecond))
	}
	s.tells("heavy", 77, tree.Standing{Delay: 300 * time.Millisecond, Weight: 30, Room: 5, At: at(3)})
	return s, s.sentAway(t)
}

// tells says how a child stands.
func (s *solo) tells(child overlay.ID, edge uint64, own tree.Standing) {
	s.receive(child, tree.Message{Type: tree.Load, Group: group, Edge: edge, Self: &own})
}

// sentAway is the child that the last step asked to make room; empty: none.
func (s *solo) sentAway(t *testing.T) (id overlay.ID) {
	t.Helper()
	for _, send := range s.out.Sends {
		if m := send.Msg; m.Type == tree.Drop && m.Flags == 0 && m.Reason == tree.Moved {
			if id != "" || len(m.Peers) == 0 {
				t.Fatalf("%s and %s are to make room, to %v", id, send.To, m.Peers)
			}
			id = send.To
		}
	}
	return id
}

// A child that found no place says so: another one is asked at once, and when that one has
// gone the swap is over and nobody is cut.
func TestAnotherMakesRoomForOneThatStays(t *testing.T) {
	s, victim := swapping(t)
	if victim == "" {
		t.Fatal("nobody was asked to make room")
	}
	for i := range 14 { // only the last one has room
		s.tells(overlay.ID(fmt.Sprint("child ", i)), uint64(i+1), tree.Standing{Delay: 50 * time.Millisecond, Weight: 2, At: at(40)})
	}
	stays := func(id overlay.ID) tree.Message {
		m := answer(s, id, 0)
		m.Peers, m.Posts, m.Self.Room, m.Self.Weight = nil, nil, 0, 2
		return m
	}
	s.receive("child 9", stays("child 9"))
	if next := s.sentAway(t); next != "" {
		t.Fatalf("%s was asked because one stays that was not", next)
	}
	s.receive(victim, stays(victim))
	next := s.sentAway(t)
	if next == "" || next == victim || next == "heavy" {
		t.Fatalf("in the stead of %s it asked %q", victim, next)
	}
	if to := s.one(next, tree.Drop).Peers; to[0] == next || to[0] != "child 14" && to[0] != "heavy" {
		t.Fatalf("%s was sent to %v, where there is no room", next, to)
	}
	s.receive(next, tree.Message{Type: tree.Leave, Group: group, Edge: answer(s, next, 0).Edge})
	s.pass(20 * time.Second)
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Drop && send.Msg.Flags == 0 {
			t.Errorf("%s was told %v", send.To, send.Msg.Reason)
		}
	}
	if st, _ := s.n.Status(group); len(st.Children) != 15 {
		t.Errorf("%d children in the end, want 15", len(st.Children))
	}
}

// Where every child that is asked stays, the last one is told to take any other place while it
// still has this one. It is cut only once it has had the time for that, and not if it went.
func TestLastAskedMayStayUntilItHasAPlace(t *testing.T) {
	for _, goes := range []bool{true, false} {
		s, victim := swapping(t)
		for i := range 15 { // the others have room, so that there is always a place to send one to
			s.tells(overlay.ID(fmt.Sprint("child ", i)), uint64(i+1), tree.Standing{Delay: 50 * time.Millisecond, Weight: 2, Room: 3, At: at(40)})
		}
		var last *tree.Message
		for asked := 0; last == nil; asked++ {
			if asked > 10 {
				t.Fatal("children are asked for ever")
			}
			m := answer(s, victim, 0)
			m.Peers, m.Posts = nil, nil
			s.receive(victim, m)
			for _, send := range s.out.Sends {
				if d := send.Msg; d.Type == tree.Drop && d.Reason == tree.Moved && d.Flags == 0 {
					victim = send.To
				} else if d.Type == tree.Drop {
					last, victim = d, send.To
				}
			}
		}
		if last.Reason != tree.Full || last.Flags != tree.Crowded || len(last.Peers) < 2 {
			t.Fatalf("the last one, %s, was told %+v", victim, last)
		}
		st, _ := s.n.Status(group)
		if len(st.Children) != 16 || !slices.Contains(st.Children, victim) {
			t.Fatalf("it has %d children, and %s may be none", len(st.Children), victim)
		}
		if goes {
			s.receive(victim, tree.Message{Type: tree.Leave, Group: group, Edge: last.Edge})
		}
		s.pass(3 * time.Second)
		if st, _ := s.n.Status(group); slices.Contains(st.Children, victim) == goes {
			t.Errorf("goes %v: 3 s later it is a child: %v", goes, !goes)
		}
		var cut []overlay.ID
		for end := s.now + 3*time.Second; s.now < end; {
			s.pass(100 * time.Millisecond)
			for _, send := range s.out.Sends {
				if send.Msg.Type == tree.Drop {
					cut = append(cut, send.To)
				}
			}
		}
		if want := map[bool]int{true: 0, false: 1}[goes]; len(cut) != want || want == 1 && cut[0] != victim {
			t.Errorf("goes %v: %v were cut, and %s was asked last", goes, cut, victim)
		}
	}
}

// Who is told to go anywhere asks one after the other, says that it has a parent, and has one
// all the time. It takes places that one may decline which is sent to a better one.
func TestWhoMustGoHasAParentAllTheTime(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	edge := edgeOf(s)
	s.receive("parent", tree.Message{Type: tree.Drop, Flags: tree.Crowded, Group: group, Edge: edge, Reason: tree.Full, Peers: []overlay.ID{"here", "there"}})
	join := s.one("here", tree.Join)
	if join.Flags&tree.Detached != 0 {
		t.Error("it says that it has no parent")
	}
	s.receive("here", tree.Message{Type: tree.Refuse, Group: group, Edge: join.Edge, Reason: tree.Busy})
	if st, _ := s.n.Status(group); st.Parent != "parent" || !st.Attached {
		t.Fatalf("its parent is %q while it looks for one", st.Parent)
	}
	ack := ackAt("there", 6, 200*time.Millisecond)
	ack.Edge = s.one("there", tree.Join).Edge
	s.receive("there", ack)
	if st, _ := s.n.Status(group); st.Parent != "there" {
		t.Errorf("its parent is %q, and there was one place", st.Parent)
	}
	if s.one("parent", tree.Leave).Edge != edge {
		t.Error("it left another edge")
	}
}

// If there is none, those above the parent are asked too, and it stays where it is.
func TestWhoMustGoAndCannotStays(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	s.receive("parent", tree.Message{Type: tree.Drop, Flags: tree.Crowded, Group: group, Edge: edgeOf(s), Reason: tree.Full, Peers: []overlay.ID{"there"}})
	for _, id := range []overlay.ID{"there", "above 1", "above 0"} {
		s.receive(id, tree.Message{Type: tree.Refuse, Group: group, Edge: s.one(id, tree.Join).Edge, Reason: tree.Full})
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" || !st.Attached {
		t.Errorf("its parent is %q", st.Parent)
	}
	if left := s.sent("parent", tree.Leave); len(left) > 0 {
		t.Error("it left its parent")
	}
}

// Who was asked to make room goes where it is sent, and on from there if that place is
// taken, but nowhere where it would hang plainly badly: then it stays and tells its parent.
func TestWhoFindsNoPlaceStays(t *testing.T) {
	for _, row := range []struct {
		name   string
		delay  time.Duration // of the place found, 2 ms away; the node's own is 42 ms
		depth  int           // of that place; the tree may be four deep
		refuse bool
		stays  bool
	}{
		{"the place meant", 45 * time.Millisecond, 2, false, false},
		{"a little worse", 48 * time.Millisecond, 2, false, false},
		{"a hop too deep", 45 * time.Millisecond, 5, false, false},
		{"two hops too deep", 45 * time.Millisecond, 6, false, true},
		{"plainly bad", 120 * time.Millisecond, 2, false, true},
		{"taken", 45 * time.Millisecond, 2, true, true},
	} {
		s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
		edge := edgeOf(s)
		s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Moved, Peers: []overlay.ID{"there"}})
		join := s.one("there", tree.Join).Edge
		if row.refuse {
			s.receive("there", tree.Message{Type: tree.Refuse, Group: group, Edge: join, Reason: tree.Full})
		} else {
			ack := ackAt("there", row.depth, row.delay)
			ack.Edge = join
			s.receive("there", ack)
		}
		st, _ := s.n.Status(group)
		if stays := st.Parent == "parent"; stays != row.stays || st.Parent == "" {
			t.Fatalf("%s: its parent is %s", row.name, st.Parent)
		}
		if !row.stays {
			continue
		}
		if m := s.one("parent", tree.Load); m.Flags&tree.Confirm == 0 || m.Edge != edge || len(m.Peers) > 0 {
			t.Errorf("%s: it told its parent %+v", row.name, m)
		}
		if left := len(s.sent("there", tree.Leave)) > 0; left == row.refuse {
			t.Errorf("%s: it left who would have taken it: %v", row.name, left)
		}
	}
}

// ackAt is the Ack of a parent that hangs so deep that who joins it comes to a depth.
func ackAt(parent overlay.ID, depth int, delay time.Duration) tree.Message {
	m := tree.Message{Type: tree.Ack, Group: group, Ver: 1}
	for i := range depth {
		m.Path = append(m.Path, overlay.ID(fmt.Sprint("above ", i)))
		m.Posts = append(m.Posts, tree.Standing{Weight: 256 >> i, At: at(0)})
	}
	m.Path[depth-1], m.Posts[depth-1] = parent, tree.Standing{Delay: delay, Weight: 16, At: at(2)}
	return m
}
