package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// at is a known coordinate on a line.
func at(ms int32) tree.Coord { return tree.Coord{At: [4]int32{ms * 1000}, Height: 100, Err: 50} }

// crowded is a node below a parent with as many children as it takes, all with
// nobody below them, as far away as told.
func crowded(t *testing.T, away int32) *solo {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	for i := range 15 {
		own := tree.Standing{Delay: 50 * time.Millisecond, Weight: 1, Room: 15, At: at(away)}
		s.receive(overlay.ID(fmt.Sprint("child ", i)), tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &own})
	}
	return s
}

// better is the Join of a node that would gain by moving below self.
func better(weight uint32) tree.Message {
	own := tree.Standing{Delay: 500 * time.Millisecond, Weight: weight, Height: 1, Room: 5, At: at(3)}
	return tree.Message{Type: tree.Join, Group: group, Edge: 77, Flags: tree.Better, Self: &own, RTT: 6 * time.Millisecond,
		Peers: []overlay.ID{"old"}, Posts: []tree.Standing{{Delay: 400 * time.Millisecond, Weight: 40, At: at(200)}}}
}

// asked lists the children that were asked where else they could be if "heavy" came.
func asked(t *testing.T, s *solo) []overlay.ID {
	t.Helper()
	ids := s.asked()
	for _, id := range ids {
		if m := s.one(id, tree.Drop); m.Reason != tree.Moved || len(m.Peers) == 0 || len(m.Posts) != len(m.Peers) || m.Peers[0] != "heavy" {
			t.Fatalf("%s was asked %+v", id, m)
		}
	}
	return ids
}

// answer is what a child says that measured one place.
func answer(s *solo, child overlay.ID, delay time.Duration) tree.Message {
	own := tree.Standing{Delay: 50 * time.Millisecond, Weight: 1, Room: 15, At: at(40)}
	st, _ := s.n.Status(group)
	return tree.Message{Type: tree.Load, Flags: tree.Confirm, Group: group, Edge: uint64(slices.Index(st.Children, child) + 1), Self: &own,
		Peers: []overlay.ID{"heavy"}, Posts: []tree.Standing{{Delay: delay}}}
}

// A full node takes a heavier one in when a child has measured that it loses less elsewhere
// than is gained, and only when the newcomer has come that child is asked to make room: at
// no time has anybody no parent.
func TestASwapLeavesNobodyWithoutAParent(t *testing.T) {
	s := crowded(t, 40)
	s.receive("heavy", better(30))
	ids := asked(t, s)
	if len(ids) < 2 {
		t.Fatalf("asked are %v", ids)
	}
	for i, id := range ids {
		if n := len(s.sent("heavy", tree.Ack)) + len(s.sent("heavy", tree.Refuse)); n > 0 {
			t.Fatal("the newcomer was answered before the children")
		}
		s.receive(id, answer(s, id, time.Duration(100-10*i)*time.Millisecond))
	}
	if a := s.one("heavy", tree.Ack); a.Flags&tree.Confirm == 0 {
		t.Fatal("the newcomer is not asked to say that it has come")
	}
	victim := ids[len(ids)-1] // who loses least
	own := tree.Standing{Delay: 20 * time.Millisecond, Weight: 30, Height: 1, Room: 5, At: at(3)}
	s.receive("heavy", tree.Message{Type: tree.Load, Group: group, Edge: 77, Self: &own})
	if d := s.one(victim, tree.Drop); d.Reason != tree.Moved || d.Flags != 0 || d.Peers[0] != "heavy" {
		t.Fatalf("%s was told %+v", victim, d)
	}
	if st, _ := s.n.Status(group); !slices.Contains(st.Children, victim) {
		t.Fatal("the child that makes room was cut before it had another parent")
	}
	// None of those asked in its stead goes or says anything: then one is told to go wherever it
	// can, and still nobody is cut.
	s.pass(18 * time.Second)
	st, _ := s.n.Status(group)
	if len(st.Children) != 16 {
		t.Fatalf("%d children in the end, want 16", len(st.Children))
	}
	var told []overlay.ID
	asked := []overlay.ID{victim}
	for _, send := range s.out.Sends {
		switch m := send.Msg; {
		case m.Type != tree.Drop || m.Flags == tree.Confirm:
		case m.Reason == tree.Moved && m.Flags == 0 && !slices.Contains(asked, send.To) && send.To != "heavy":
			asked = append(asked, send.To)
		case m.Reason == tree.Full && m.Flags == tree.Crowded && !slices.Contains(asked, send.To) && !slices.Contains(m.Peers, send.To) && len(m.Peers) >= 4:
			told = append(told, send.To)
		default:
			t.Errorf("%s was told %v, to go to %v", send.To, m.Reason, m.Peers)
		}
	}
	if len(asked) != 4 || len(told) != 1 {
		t.Fatalf("asked were %v, and told to go %v", asked, told)
	}
}

// By its coordinate each child seems to lose little. All measure that they lose more
// than the joiner gains: it is refused, and so it is if none of them answers.
func TestASwapThatCostsMoreThanItGainsIsNone(t *testing.T) {
	for _, answers := range []bool{true, false} {
		s := crowded(t, 40)
		s.receive("heavy", better(1))
		ids := asked(t, s)
		if len(ids) == 0 {
			t.Fatal("nobody was asked")
		}
		for _, id := range ids {
			if answers {
				s.receive(id, answer(s, id, 550*time.Millisecond))
			}
		}
		if !answers {
			s.pass(1500 * time.Millisecond)
		}
		if r := s.one("heavy", tree.Refuse); r.Reason != tree.Full {
			t.Errorf("refused because %v", r.Reason)
		}
	}
}

// The other side: who is asked where else it could be measures it, says so, and moves
// nowhere. Whoever comes is counted with the delay it will have then.
func TestWhoIsAskedMeasuresAndStays(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	posts := []tree.Standing{{Delay: 20 * time.Millisecond, Room: 3}, {Delay: 30 * time.Millisecond, Room: 1, Weight: 1},
		{Delay: time.Millisecond, Weight: 1}, {Delay: time.Millisecond, Room: 2, Weight: 1}}
	s.receive("parent", tree.Message{Type: tree.Drop, Flags: tree.Confirm, Group: group, Edge: edgeOf(s), Reason: tree.Moved,
		Peers: []overlay.ID{"comer", "sibling", "full", "busy"}, Posts: posts})
	s.one("comer", tree.Probe)
	s.one("sibling", tree.Probe)
	if len(s.sent("full", tree.Probe)) > 0 {
		t.Error("measured a place that there is not")
	}
	s.receive("busy", tree.Message{Type: tree.Offer, Group: group, Path: []overlay.ID{"top"}, Posts: []tree.Standing{{}},
		Self: &tree.Standing{Delay: time.Millisecond}}) // it has work enough with other groups
	s.now += 8 * time.Millisecond
	s.receive("sibling", tree.Message{Type: tree.Offer, Flags: tree.Better, Group: group, Path: []overlay.ID{"top"}, Posts: []tree.Standing{{}},
		Self: &tree.Standing{Delay: 60 * time.Millisecond}})
	s.now += 8 * time.Millisecond
	s.receive("comer", tree.Message{Type: tree.Offer, Group: group, Path: []overlay.ID{"top"}, Posts: []tree.Standing{{}},
		Self: &tree.Standing{Delay: 400 * time.Millisecond}})
	l := s.one("parent", tree.Load)
	if l.Flags&tree.Confirm == 0 || !slices.Equal(l.Peers, []overlay.ID{"comer", "sibling"}) || len(l.Posts) != 2 {
		t.Fatalf("told %+v", l)
	}
	for i, want := range []time.Duration{30 * time.Millisecond, 66 * time.Millisecond} { // half the round trip, and a hop's cost
		if got := l.Posts[i].Delay; got != want {
			t.Errorf("%s: %v, want %v", l.Peers[i], got, want)
		}
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" || len(s.sent("comer", tree.Join)) > 0 {
		t.Errorf("moved although it was only asked: below %s", st.Parent)
	}
}

// The other side: who is asked to make room moves, and leaves its parent only
// when the next one has it.
func TestWhoMakesRoomKeepsItsParentMeanwhile(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Moved, Peers: []overlay.ID{"next"}})
	join := s.one("next", tree.Join)
	if st, _ := s.n.Status(group); st.Parent != "parent" || join.Flags&tree.Detached != 0 {
		t.Fatalf("without its parent before it had another: %+v", st)
	}
	s.receive("next", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"top", "next"}})
	s.one("parent", tree.Leave)
	if st, _ := s.n.Status(group); st.Parent != "next" {
		t.Fatalf("below %s", st.Parent)
	}
}

// A swap has to serve the tree: a light node does not push away a child that
// would lose as much as it gains.
func TestNoSwapThatGainsNothing(t *testing.T) {
	s := crowded(t, 4)
	m := better(1)
	m.Self.Delay = 30 * time.Millisecond
	s.receive("light", m)
	if r := s.one("light", tree.Refuse); r.Reason != tree.Full {
		t.Fatalf("refused because %v", r.Reason)
	}
}

// A node asks nobody below itself, whoever proposes it.
func TestNoCandidateBelowOneself(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	join := s.one("parent", tree.Join)
	far := tree.Standing{Delay: time.Second, Weight: 100, At: at(100)}
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1,
		Path: []overlay.ID{"top", "parent"}, Posts: []tree.Standing{{Weight: 1000, At: at(0)}, far}})
	s.link("lazy")
	for range 40 {
		s.pass(time.Second)
		for _, p := range s.sent("lazy", tree.Probe) {
			_ = p
			near := tree.Standing{Delay: time.Millisecond, Weight: 9, Room: 9, At: at(1)}
			s.receive("lazy", tree.Message{Type: tree.Offer, Group: group, Flags: tree.Better, Self: &near,
				Path: []overlay.ID{"top", self}, Posts: []tree.Standing{{Weight: 1000}, {Weight: 50}}})
			if n := len(s.sent("lazy", tree.Join)); n > 0 {
				t.Fatal("asked a node below itself to be its parent")
			}
		}
	}
}

// A publisher that promises heartbeats becomes the top of its tree, the root
// stays where routes end, and the tree outlives the publisher.
func TestThePublisherIsTheTop(t *testing.T) {
	for seed := range uint64(8) {
		w := sim.NewTrees(sim.TreesConfig{Nodes: 60, TTL: 20 * time.Second, Net: oversim.Config[*tree.Message]{Seed: seed}})
		g := w.GroupNamed("feed")
		ids := w.IDs()
		w.Join(g, ids...)
		w.RunFor(10 * time.Second)
		root := w.Roots(g)[0]
		author := ids[int(seed)*7]
		if author == root {
			continue
		}
		w.Publish(g, author, 0)
		w.RunFor(20 * time.Second)
		for range 20 { // longer than a root's term
			if tops := w.Roots(g); len(tops) != 1 || tops[0] != author {
				t.Fatalf("seed %d: tops %v at %v, want the publisher %s", seed, tops, w.Now(), author)
			}
			w.RunFor(13 * time.Second)
		}
		if st, _ := w.Node(root).Status(g); !st.Meets {
			t.Errorf("seed %d: %s is no longer where routes end", seed, root)
		}
		w.Publish(g, author, 0)
		w.RunFor(time.Second)
		w.Crash(author)
		w.RunFor(40 * time.Second)
		other := ids[int(seed)*7+1]
		w.Publish(g, other, 0)
		w.RunFor(30 * time.Second)
		if faults := w.Settle(time.Minute); len(faults) > 0 {
			t.Errorf("seed %d: %s", seed, faults[0])
		}
		if holes := w.Missed(g, 0); len(holes) > 0 {
			t.Errorf("seed %d: %v", seed, holes[0])
		}
		if twice := w.Doubled(g); len(twice) > 0 {
			t.Errorf("seed %d: %v", seed, twice[0])
		}
	}
}

// Two publishers of one feed: one of them is the top, and they agree on it.
func TestTwoPublishersOneTop(t *testing.T) {
	for seed := range uint64(6) {
		w := sim.NewTrees(sim.TreesConfig{Nodes: 40, TTL: 20 * time.Second, Net: oversim.Config[*tree.Message]{Seed: seed}})
		g := w.GroupNamed("feed")
		ids := w.IDs()
		w.Join(g, ids...)
		w.RunFor(10 * time.Second)
		for range 4 {
			w.Publish(g, ids[3], 0)
			w.Publish(g, ids[30], 0)
			w.RunFor(15 * time.Second)
		}
		if faults := w.Settle(time.Minute); len(faults) > 0 {
			t.Errorf("seed %d: %s", seed, faults[0])
		}
		if top := w.Roots(g); len(top) != 1 || top[0] != ids[3] && top[0] != ids[30] {
			t.Errorf("seed %d: tops %v", seed, top)
		}
		if holes := w.Missed(g, 0); len(holes) > 0 {
			t.Errorf("seed %d: %v", seed, holes[0])
		}
	}
}

// A claim to the top is heeded from a publisher only as far as the trees meet: a
// top that publishes itself and has the lower ID says so.
func TestTheLowerPublisherKeepsTheTop(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	ev := *event(1)
	ev.TTL = time.Minute
	s.step(tree.Input{Kind: tree.Publish, Group: group, Event: ev})
	s.receive("zebra", tree.Message{Type: tree.Crown, Group: group, Peers: []overlay.ID{"zebra"}})
	if c := s.one("zebra", tree.Crown); !slices.Equal(c.Peers, []overlay.ID{self}) {
		t.Fatalf("told %v", c.Peers)
	}
	s.now += time.Minute
	s.receive("ant", tree.Message{Type: tree.Crown, Group: group, Peers: []overlay.ID{"ant"}})
	s.one("ant", tree.Join)
}

// A parent that tells no way to the top, or one that does not end with itself, is
// no parent: what relies on the way would fall over it.
func TestAWayThatDoesNotEndWithTheParentIsNone(t *testing.T) {
	for _, path := range [][]overlay.ID{nil, {"top", "other"}} {
		s := alone(t, tree.Config{}, &chart{hop: "parent"})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		join := s.one("parent", tree.Join)
		s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: path})
		s.receive("claimer", tree.Message{Type: tree.Crown, Group: group, Peers: []overlay.ID{"claimer"}})
		if st, _ := s.n.Status(group); st.Parent != "" {
			t.Errorf("below a parent whose way is %v", path)
		}
		s = alone(t, tree.Config{}, &chart{hop: "parent"})
		s.below("parent")
		s.receive("parent", tree.Message{Type: tree.Path, Group: group, Edge: edgeOf(s), Ver: 2, Path: path})
		s.receive("claimer", tree.Message{Type: tree.Crown, Group: group, Peers: []overlay.ID{"claimer"}})
		if st, _ := s.n.Status(group); st.Parent != "" {
			t.Errorf("still below a parent whose way became %v", path)
		}
	}
}

// Who joined right below the top of a small tree looks for no other place. It does once the
// tree is large, or has another top: else it would be left where it is for ever.
func TestAStarThatGrowsIsSearched(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	edge := s.one("parent", tree.Join).Edge
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: edge, Ver: 1, Path: []overlay.ID{"parent"},
		Posts: []tree.Standing{{Weight: 10, At: at(1)}}})
	s.link("member")
	probes := func(d time.Duration) (n int) {
		for end := s.now + d; s.now < end; {
			s.pass(time.Second)
			n += len(s.sent("member", tree.Probe)) + len(s.sent("parent", tree.Probe)) + len(s.sent("top", tree.Probe))
			for _, id := range []overlay.ID{"parent", "member"} {
				for _, m := range s.sent(id, tree.Ping) {
					s.pong(id, m)
				}
			}
		}
		return n
	}
	if n := probes(time.Minute); n != 0 {
		t.Errorf("%d probes in a star", n)
	}
	s.receive("parent", tree.Message{Type: tree.Path, Group: group, Edge: edge, Ver: 2, Path: []overlay.ID{"top", "parent"},
		Posts: []tree.Standing{{Weight: 1000, At: at(1)}, {Delay: 100 * time.Millisecond, Weight: 10, At: at(1)}}})
	if n := probes(10 * time.Second); n == 0 {
		t.Error("no probe within ten seconds of hearing that the tree is large")
	}
}

// A node that hangs too deep asks for a place above every few seconds. If there is none
// for minutes, there is no room: it goes on asking, ever less often.
func TestWhoHangsTooDeepDoesNotAskForEverAtTheSamePace(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	path := []overlay.ID{"top", "one", "two", "parent"}
	var posts []tree.Standing
	for i := range path {
		posts = append(posts, tree.Standing{Delay: time.Duration(i) * time.Millisecond, Weight: uint32(20 - 4*i), At: at(int32(i))})
	}
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1, Path: path, Posts: posts})
	probes := func(span time.Duration) int { return s.count(tree.Probe, span) }
	early := probes(4 * time.Minute)
	probes(4 * time.Minute)
	late := probes(4 * time.Minute)
	if late == 0 || late > early/3 {
		t.Errorf("%d probes in the first four minutes, %d in the last", early, late)
	}
}

// Who answers a Join may have been sent down since it was probed, and who moves below it
// would be deeper than the tree may be, with all below. It stays where it is.
func TestNobodyMovesTooDeep(t *testing.T) {
	for depth, moves := range map[int]bool{2: true, 3: true, 4: false, 6: false} {
		s := moving(t) // 256 nodes: three deep
		ack := ackAt("member", depth, 20*time.Millisecond)
		ack.Edge = s.one("member", tree.Join).Edge
		s.receive("member", ack)
		st, _ := s.n.Status(group)
		if moved := st.Parent == "member"; moved != moves {
			t.Errorf("to depth %d: its parent is %q", depth, st.Parent)
		}
		if left := s.sent("member", tree.Leave); len(left) != 1 != moves || !moves && left[0].Edge != ack.Edge {
			t.Errorf("to depth %d: who would have taken it was told %v", depth, left)
		}
	}
}

// Below one with many nodes some leaf is too deep for as long as a tree is young. It finds a
// place for itself, and all the others have theirs sooner by a better parent at the same
// depth. Who has few below it has to come up.
func TestALeafTooDeepDoesNotHoldWhoHasManyBelow(t *testing.T) {
	for _, c := range []struct {
		weight uint32 // of the child, which has children that are too deep
		depth  int    // of the place that is better
		moves  bool
	}{
		{20, 2, true},
		{3, 2, false},
		{3, 1, true},
		{20, 3, false},
	} {
		s := searching(t, &chart{rtt: 20 * time.Millisecond}, 1, 0, 50*time.Millisecond, 300*time.Millisecond) // 4096 nodes: four deep
		s.link("member")
		s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 7, Flags: tree.Detached,
			Self: &tree.Standing{Delay: 310 * time.Millisecond, Weight: c.weight, Height: 1, Room: 3, At: at(3)}})
		moved := false
		for range 600 {
			s.probes(100*time.Millisecond, func(overlay.ID) *tree.Message {
				o := stands(nil)
				o.Flags |= tree.Better
				o.Self.Delay = 40 * time.Millisecond
				o.Posts[0].Weight = 4096
				for i := 1; i < c.depth; i++ {
					o.Path, o.Posts = append(o.Path, overlay.ID(fmt.Sprint("beside ", i))), append(o.Posts, tree.Standing{Weight: 16, At: at(1)})
				}
				return o
			})
			moved = moved || len(s.sent("member", tree.Join)) > 0
		}
		if moved != c.moves {
			t.Errorf("%d nodes below, to below one %d deep: it moves: %v", c.weight, c.depth, moved)
		}
	}
}

// Who hangs badly goes on searching every few seconds. Where there is only a handful of
// nodes to ask, none of them is a better parent after the third time either. At another
// place it begins anew.
func TestInASmallTreeAllAreAskedSoon(t *testing.T) {
	late := func(weight uint32) (late, moved int) {
		s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * time.Millisecond})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		ack := ackAt("parent", 2, 300*time.Millisecond)
		ack.Posts[0].Weight = weight
		ack.Edge = s.one("parent", tree.Join).Edge
		s.receive("parent", ack)
		s.link("member")
		s.probes(3*time.Minute, silent)
		late = len(s.probes(2*time.Minute, silent))
		s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Full, Peers: []overlay.ID{"there"}})
		ack.Path[1], ack.Edge = "there", s.one("there", tree.Join).Edge
		s.receive("there", ack)
		s.probes(2*time.Minute, silent)
		return late, len(s.probes(2*time.Minute, silent))
	}
	few, _ := late(20)
	many, _ := late(256)
	if many < 8 || few > many/2 {
		t.Errorf("in the fourth and fifth minute %d probes in a tree of 20, %d in one of 256", few, many)
	}
	if _, moved := late(60); moved < 8 {
		t.Errorf("at another place in a tree of 60, %d probes in the third and fourth minute", moved)
	}
}
