package tree_test

import (
	"fmt"
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
	s.receive("child 9", staying(s, "child 9"))
	if next := s.sentAway(t); next != "" {
		t.Fatalf("%s was asked because one stays that was not", next)
	}
	s.receive(victim, staying(s, victim))
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

// Where every child that is asked stays, one after the other is told to take any other place while
// it still has this one, the lightest first. If there is none nobody is cut, and it begins
// again a while later; until then the node makes room for nobody.
func TestNobodyIsCutToMakeRoom(t *testing.T) {
	const left = -1
	for _, goes := range []int{1, 3, 0, left} { // which of those that are told goes; 0: none
		s, victim := swapping(t)
		weight := func(i int) uint32 { return uint32(40 - (7*i)%15) }
		for i := range 15 { // they have room, so that there is always a place to send one to
			s.tells(overlay.ID(fmt.Sprint("child ", i)), uint64(i+1), tree.Standing{Delay: 50 * time.Millisecond, Weight: weight(i), Room: 3, At: at(40)})
		}
		edge := func(child overlay.ID) uint64 { return answer(s, child, 0).Edge }
		stays := func(child overlay.ID) {
			m := answer(s, child, 0)
			m.Peers, m.Posts, m.Self.Weight = nil, nil, weight(int(m.Edge)-1)
			s.receive(child, m)
		}
		var told []overlay.ID
		for steps := 0; victim != ""; steps++ {
			if steps > 20 {
				t.Fatal("children are asked for ever")
			}
			if len(told) > 0 && len(told) == goes {
				s.receive(victim, tree.Message{Type: tree.Leave, Group: group, Edge: edge(victim)})
			} else {
				stays(victim)
			}
			victim = ""
			for _, send := range s.out.Sends {
				d := send.Msg
				if d.Type != tree.Drop || len(d.Peers) == 0 {
					continue
				}
				victim = send.To
				if d.Reason == tree.Full && d.Flags == tree.Crowded {
					told = append(told, victim)
				}
			}
		}
		// of the 15 four were asked before
		if want := map[int]int{1: 1, 3: 3, 0: 11, left: 11}[goes]; len(told) != want {
			t.Errorf("goes %d: %v were told to go", goes, told)
		}
		for i := 1; i < len(told); i++ {
			var a, b int
			_, _ = fmt.Sscanf(string(told[i-1])+" "+string(told[i]), "child %d child %d", &a, &b)
			if weight(a) > weight(b) {
				t.Errorf("%s with %d nodes below it was told before %s with %d", told[i-1], weight(a), told[i], weight(b))
			}
		}
		s.receive("other", tree.Message{Type: tree.Probe, Flags: tree.Better, Group: group, Self: better(90).Self, RTT: better(90).RTT})
		if takes := s.one("other", tree.Offer).Flags&tree.Better != 0; takes != (goes > 0) {
			t.Errorf("goes %d: another one would be taken: %v", goes, takes)
		}
		if goes == left { // a child of its own accord
			s.receive("child 2", tree.Message{Type: tree.Leave, Group: group, Edge: edge("child 2")})
			s.receive("other", tree.Message{Type: tree.Probe, Flags: tree.Better, Group: group, Self: better(90).Self, RTT: better(90).RTT})
			if s.one("other", tree.Offer).Flags&tree.Better == 0 {
				t.Error("a child has left, and still nobody would be taken")
			}
			continue
		}
		drops := map[tree.Reason]int{}
		for end := s.now + 13*time.Second; s.now < end; {
			s.pass(100 * time.Millisecond)
			for _, send := range s.out.Sends {
				switch send.Msg.Type {
				case tree.Drop:
					drops[send.Msg.Reason]++
				case tree.Ping:
					s.pong(send.To, send.Msg)
				}
			}
		}
		st, _ := s.n.Status(group)
		if want := map[bool]int{true: 15, false: 16}[goes > 0]; len(st.Children) != want {
			t.Errorf("goes %d: it has %d children, want %d", goes, len(st.Children), want)
		}
		if again := drops[tree.Moved] > 0; again != (goes == 0) {
			t.Errorf("goes %d: within 13 s children were sent away as %v", goes, drops)
		}
	}
}

// Who is told to go anywhere asks one after the other, says that it has a parent, and has one
// all the time. It takes no place that is much too deep, nor one that is plainly bad.
func TestWhoMustGoHasAParentAllTheTime(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	edge := edgeOf(s)
	s.receive("parent", tree.Message{Type: tree.Drop, Flags: tree.Crowded, Group: group, Edge: edge, Reason: tree.Full, Peers: []overlay.ID{"here", "there", "far", "near"}})
	join := s.one("here", tree.Join)
	if join.Flags&tree.Detached != 0 {
		t.Error("it says that it has no parent")
	}
	s.receive("here", tree.Message{Type: tree.Refuse, Group: group, Edge: join.Edge, Reason: tree.Busy})
	if st, _ := s.n.Status(group); st.Parent != "parent" || !st.Attached {
		t.Fatalf("its parent is %q while it looks for one", st.Parent)
	}
	deep := ackAt("there", 6, 45*time.Millisecond)
	deep.Edge = s.one("there", tree.Join).Edge
	s.receive("there", deep)
	if st, _ := s.n.Status(group); st.Parent != "parent" || len(s.sent("there", tree.Leave)) != 1 {
		t.Fatalf("its parent is %q, and there it would hang two hops too deep", st.Parent)
	}
	far := ackAt("far", 2, 200*time.Millisecond)
	far.Edge = s.one("far", tree.Join).Edge
	s.receive("far", far)
	if st, _ := s.n.Status(group); st.Parent != "parent" || len(s.sent("far", tree.Leave)) != 1 {
		t.Fatalf("its parent is %q, and there it would hang plainly badly", st.Parent)
	}
	near := ackAt("near", 5, 45*time.Millisecond)
	near.Edge = s.one("near", tree.Join).Edge
	s.receive("near", near)
	if st, _ := s.n.Status(group); st.Parent != "near" {
		t.Errorf("its parent is %q, and there was a place", st.Parent)
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
	if m := s.one("parent", tree.Load); m.Flags&tree.Confirm == 0 || len(m.Peers) > 0 {
		t.Errorf("it told its parent %+v", m)
	}
}

// Its parent takes nobody else until it knows, so it asks eight and no more, whoever those
// that refuse it name.
func TestWhoMustGoDoesNotLookForLong(t *testing.T) {
	for _, why := range []tree.Message{{Flags: tree.Crowded, Reason: tree.Full}, {Reason: tree.Moved}} {
		s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
		why.Type, why.Group, why.Edge, why.Peers = tree.Drop, group, edgeOf(s), []overlay.ID{"place 0"}
		s.receive("parent", why)
		asked := 0
		for len(s.sent("parent", tree.Load)) == 0 {
			at := overlay.ID(fmt.Sprint("place ", asked))
			if asked++; asked > 30 {
				t.Fatal("it asks for ever")
			}
			s.receive(at, tree.Message{Type: tree.Refuse, Group: group, Edge: s.one(at, tree.Join).Edge, Reason: tree.Full,
				Peers: []overlay.ID{overlay.ID(fmt.Sprint("place ", asked))}})
		}
		if asked != 8 {
			t.Errorf("%v: it asked %d", why.Reason, asked)
		}
	}
}

// Who was asked to make room goes where it is sent, however deep that is, for its parent has
// weighed it; and on from there if that place is taken, but not where it would hang plainly
// badly, nor too deep by more than a hop and deeper than others below its parent do: then it
// stays and tells its parent.
func TestWhoFindsNoPlaceStays(t *testing.T) {
	for _, row := range []struct {
		name  string
		delay time.Duration // of the place found, 2 ms away; the node's own is 42 ms
		depth int           // of that place; the tree may be four deep
		below uint8         // how deep the tree is below the parent, which hangs below two
		on    bool          // the place that it was sent to names this one
		stays bool
	}{
		{"the place meant", 45 * time.Millisecond, 2, 1, false, false},
		{"a little worse", 48 * time.Millisecond, 2, 1, false, false},
		{"deep", 45 * time.Millisecond, 7, 1, false, false},
		{"plainly bad", 120 * time.Millisecond, 2, 1, false, true},
		{"sent on, good", 45 * time.Millisecond, 2, 1, true, false},
		{"sent on, a hop too deep", 45 * time.Millisecond, 5, 1, true, false},
		{"sent on, two hops too deep", 45 * time.Millisecond, 6, 1, true, true},
		{"sent on, two hops too deep, as others are", 45 * time.Millisecond, 6, 4, true, false},
		{"sent on, deeper than others", 45 * time.Millisecond, 7, 4, true, true},
		{"sent on, plainly bad", 120 * time.Millisecond, 2, 1, true, true},
	} {
		s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
		edge := edgeOf(s)
		way := ackAt("parent", 3, 40*time.Millisecond)
		way.Type, way.Edge, way.Ver, way.Posts[0].Weight, way.Posts[2].Height = tree.Path, edge, 2, 4096, row.below
		s.receive("parent", way)
		s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Moved, Peers: []overlay.ID{"there"}})
		at := overlay.ID("there")
		if row.on {
			s.receive(at, tree.Message{Type: tree.Refuse, Group: group, Edge: s.one(at, tree.Join).Edge, Reason: tree.Full, Peers: []overlay.ID{"on"}})
			at = "on"
		}
		ack := ackAt(at, row.depth, row.delay)
		ack.Edge = s.one(at, tree.Join).Edge
		s.receive(at, ack)
		st, _ := s.n.Status(group)
		if stays := st.Parent == "parent"; stays != row.stays || st.Parent == "" {
			t.Fatalf("%s: its parent is %s", row.name, st.Parent)
		}
		if !row.stays {
			continue
		}
		s.saysThatItStays(edge)
		if len(s.sent(at, tree.Leave)) == 0 {
			t.Errorf("%s: it did not leave who would have taken it", row.name)
		}
	}
}

// saysThatItStays checks that the node has just told its parent so.
func (s *solo) saysThatItStays(edge uint64) {
	s.t.Helper()
	if m := s.one("parent", tree.Load); m.Flags&tree.Confirm == 0 || m.Edge != edge || len(m.Peers) > 0 {
		s.t.Errorf("it told its parent %+v", m)
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" {
		s.t.Errorf("its parent is %q", st.Parent)
	}
}

// Where the place is taken and nobody names another one it stays, and so does one that is
// moving when it is told to go, at once: whoever waits takes nobody in meanwhile.
func TestWhoCannotGoSaysSoAtOnce(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	edge := edgeOf(s)
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Moved, Peers: []overlay.ID{"there"}})
	s.receive("there", tree.Message{Type: tree.Refuse, Group: group, Edge: s.one("there", tree.Join).Edge, Reason: tree.Full})
	s.saysThatItStays(edge)

	for _, drop := range []tree.Message{
		{Type: tree.Drop, Group: group, Reason: tree.Moved, Peers: []overlay.ID{"there"}},
		{Type: tree.Drop, Group: group, Reason: tree.Full, Flags: tree.Crowded, Peers: []overlay.ID{"there"}},
	} {
		s := moving(t)
		drop.Edge = edgeOf(s)
		s.receive("parent", drop)
		s.saysThatItStays(drop.Edge)
		if len(s.sent("there", tree.Join)) > 0 {
			t.Errorf("%v: it asks there although it is moving", drop.Reason)
		}
	}
}

// Who keeps a place may be moving itself, and cannot be followed until it has: it is asked
// once more a moment later, and nobody else meanwhile.
func TestWhoIsBusyIsAskedOnceMore(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 40*time.Millisecond)
	edge := edgeOf(s)
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Moved, Peers: []overlay.ID{"there", "next"}})
	busy := func() {
		s.receive("there", tree.Message{Type: tree.Refuse, Group: group, Edge: s.one("there", tree.Join).Edge, Reason: tree.Busy})
	}
	busy()
	if len(s.out.Sends) > 0 {
		t.Fatalf("it goes on with %v", s.all())
	}
	asked := s.now
	for len(s.sent("there", tree.Join)) == 0 {
		if s.pass(50 * time.Millisecond); s.now-asked > time.Second || len(s.sent("next", tree.Join)) > 0 {
			t.Fatalf("after %v it has sent %v", s.now-asked, s.all())
		}
	}
	if wait := s.now - asked; wait < 200*time.Millisecond {
		t.Errorf("it asks again after %v", wait)
	}
	busy()
	s.one("next", tree.Join)
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
