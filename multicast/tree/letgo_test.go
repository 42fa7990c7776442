package tree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

const asksAway = tree.Confirm // in a Drop that is Full: the child stays until another has it

// tops makes the node the top of a feed.
func (s *solo) tops(g multicast.Group) {
	s.step(tree.Input{Kind: tree.JoinGroup, Group: g})
	s.step(tree.Input{Kind: tree.Looked, Group: g, OK: true})
}

// brings lets somebody join who has nodes below it.
func (s *solo) brings(from overlay.ID, g multicast.Group) {
	s.t.Helper()
	s.receive(from, tree.Message{Type: tree.Join, Group: g, Edge: 7, Flags: tree.Detached, Self: &tree.Standing{Weight: 9, Room: 9}})
	s.one(from, tree.Ack)
}

// overfull keeps two neighbours and has three: a parent, needed in one group for the child
// there, a child, needed below the top of another one, and one that is needed in two.
func overfull(t *testing.T) (*solo, *chart) {
	s, c := packed(t)
	c.hop = ""
	for i, from := range []overlay.ID{"child", "needed", "needed"} {
		s.tops(feed(1 + i))
		s.asksToJoin(from, feed(1+i), tree.Detached)
		s.one(from, tree.Ack)
	}
	if n := neighboursOf(s.n); n != 3 {
		t.Fatalf("%d neighbours", n)
	}
	return s, c
}

// until lets time pass among neighbours that are alive until a message goes to a node.
func (s *solo) until(to overlay.ID, what tree.Type, within time.Duration) *tree.Message {
	s.t.Helper()
	for end := s.now + within; s.now < end; {
		s.among(10 * time.Millisecond)
		if ms := s.sent(to, what); len(ms) > 0 {
			return ms[0]
		}
	}
	s.t.Fatalf("no %v to %s within %v", what, to, within)
	return nil
}

// answer answers a Join.
func (s *solo) answer(from overlay.ID, join *tree.Message, a tree.Message) {
	a.Group, a.Edge, a.Ver = join.Group, join.Edge, 1
	s.receive(from, a)
}

// One that is a parent where others hang below is let go by way of another parent, which is
// a neighbour already. The old one is asked who that may be, and kept as long.
func TestOneTooManyIsLetGoOncePlacesAreFound(t *testing.T) {
	s, _ := overfull(t)
	join := s.until("parent", tree.Join, 4*time.Second)
	if join.Group != group || join.Flags != tree.Crowded {
		t.Fatalf("the parent is asked with %b", join.Flags)
	}
	s.answer("parent", join, names("stranger", "needed"))
	join = s.one("needed", tree.Join)
	if join.Flags != tree.Crowded|tree.Confirm {
		t.Errorf("a neighbour is asked with %b", join.Flags)
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" || !st.Attached {
		t.Errorf("meanwhile: %+v", st)
	}
	s.answer("needed", join, adopted("top", "needed"))
	s.one("parent", tree.Leave)
	if n := neighboursOf(s.n); n != 2 {
		t.Errorf("%d neighbours", n)
	}
	if n := s.count(tree.Join, 5*time.Minute); n > 0 {
		t.Errorf("asked %d times more", n)
	}
}

// Where all whom it knows hang below it one of them goes up first.
func TestAChildGoesUpToTheParentFirst(t *testing.T) {
	s, _ := overfull(t)
	s.answer("parent", s.until("parent", tree.Join, 4*time.Second), names())
	d := s.one("child", tree.Drop)
	if d.Group != group || d.Reason != tree.Full || d.Flags != asksAway || !slices.Equal(d.Peers, []overlay.ID{"parent"}) {
		t.Fatalf("the child is told %v, %b, %v", d.Reason, d.Flags, d.Peers)
	}
	s.receive("child", tree.Message{Type: tree.Leave, Group: group, Edge: d.Edge})
	s.answer("parent", s.until("parent", tree.Join, 4*time.Second), names("child"))
	s.answer("child", s.one("child", tree.Join), adopted("parent", "child"))
	if st, _ := s.n.Status(group); st.Parent != "child" || neighboursOf(s.n) != 2 {
		t.Errorf("it hangs below %q, with %d neighbours", st.Parent, neighboursOf(s.n))
	}
}

// Who is being let go counts as a stranger, or the two would find each other again.
func TestWhoIsBeingLetGoIsAStranger(t *testing.T) {
	s, _ := overfull(t)
	s.asksToJoin("parent", feed(1), tree.Detached)
	s.one("parent", tree.Ack)
	s, _ = overfull(t)
	s.until("parent", tree.Join, 4*time.Second)
	s.asksToJoin("parent", feed(1), tree.Detached)
	s.one("parent", tree.Refuse)
}

// A child that is asked to go looks for another parent, and stays until it has one. Who has
// room takes anybody, who has none only neighbours.
func TestAChildThatIsAskedToGoStaysUntilItHasAnotherParent(t *testing.T) {
	for most, want := range map[int]tree.Flags{9: 0, 1: tree.Crowded} {
		s := alone(t, tree.Config{Neighbours: most}, &chart{hop: "parent"})
		edge := s.joins(group, "parent", adopted("top", "parent")).Edge
		s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Full, Flags: asksAway})
		join := s.one("parent", tree.Join)
		if join.Flags != tree.Crowded {
			t.Errorf("the parent is asked with %b", join.Flags)
		}
		s.answer("parent", join, names("other"))
		join = s.one("other", tree.Join)
		if st, _ := s.n.Status(group); join.Flags != want || st.Parent != "parent" || !st.Attached {
			t.Errorf("of %d neighbours: asked with %b, want %b; meanwhile %+v", most, join.Flags, want, st)
		}
		if most == 1 {
			s.answer("other", join, names())
			s.answer("top", s.one("top", tree.Join), names())
		} else {
			s.answer("other", join, adopted("top", "other"))
			s.one("parent", tree.Leave)
		}
		st, _ := s.n.Status(group)
		if moved := st.Parent == "other"; moved != (most > 1) || !st.Attached {
			t.Errorf("of %d neighbours: in the end %+v", most, st)
		}
	}
}

// Where it was told whom to ask it asks nobody else, and says so if it stays.
func TestAChildThatFindsNoOtherParentSaysThatItStays(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	edge := s.joins(group, "parent", adopted("grand", "parent")).Edge
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edge, Reason: tree.Full, Flags: asksAway, Peers: []overlay.ID{"grand"}})
	s.answer("grand", s.one("grand", tree.Join), names("parent"))
	if l := s.one("parent", tree.Load); l.Flags&tree.Confirm == 0 {
		t.Error("it does not say that it stays")
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" {
		t.Errorf("it hangs below %q", st.Parent)
	}
}

// three is the top of three feeds, as one of two neighbours at most: both are below it in the
// first, and each is alone in another.
func three(t *testing.T) *solo {
	s := alone(t, tree.Config{Neighbours: 2}, &chart{})
	for i, below := range [][]overlay.ID{{"a", "b"}, {"a"}, {"b"}} {
		s.tops(feed(i))
		for _, from := range below {
			s.asksToJoin(from, feed(i), tree.Detached)
			s.one(from, tree.Ack)
		}
	}
	return s
}

// A top takes another tree's top, as one neighbour too many. That one is not let go of at
// once: it would have nowhere to go, and come again for ever. It is asked, and as long as others
// are below it never cut, or there would be two trees.
func TestATreeThatHadToBeTakenIsAskedAndNotCut(t *testing.T) {
	s := three(t)
	s.brings("other top", feed(0))
	if len(s.sent("other top", tree.Drop)) > 0 {
		t.Fatal("it is taken and cut in one step")
	}
	if d := s.until("other top", tree.Drop, 4*time.Second); d.Reason != tree.Full || d.Flags != asksAway {
		t.Errorf("it is told %v, %b", d.Reason, d.Flags)
	}
	if n := s.cuts(10 * time.Minute); n > 0 {
		t.Errorf("%d were cut", n)
	}
	s.receive("other top", tree.Message{Type: tree.Load, Group: feed(0), Edge: 7, Self: &tree.Standing{Weight: 1}})
	if s.cuts(10*time.Minute) != 1 || neighboursOf(s.n) != 2 {
		t.Errorf("alone it keeps its place; %d neighbours", neighboursOf(s.n))
	}
}

// cuts counts the children that are told to go at once.
func (s *solo) cuts(d time.Duration) (n int) {
	for end := s.now + d; s.now < end; {
		s.among(time.Second)
		for _, send := range s.out.Sends {
			if send.Msg.Type == tree.Drop && send.Msg.Flags&asksAway == 0 {
				n++
			}
		}
	}
	return n
}

// Where a member would stand apart a neighbour is asked to find other places: one that can
// be done without, but is not cut.
func TestRoomIsMadeForWhoWouldStandApart(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	if st, _ := s.n.Status(feed(1)); !st.Apart {
		t.Fatalf("not apart: %+v", st)
	}
	d := s.until("child", tree.Drop, 4*time.Second)
	if d.Reason != tree.Full || d.Flags != asksAway {
		t.Fatalf("the child is told %v, %b", d.Reason, d.Flags)
	}
	s.receive("child", tree.Message{Type: tree.Leave, Group: group, Edge: d.Edge})
	if j := s.until("hop", tree.Join, time.Second); j.Flags != tree.Detached {
		t.Errorf("asked with %b", j.Flags)
	}
}

// If all stay they are left in peace, and none is cut.
func TestForWhoWouldStandApartNobodyIsCut(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	asked := 0
	for minute := range 20 {
		s.among(time.Minute)
		if minute >= 10 {
			asked += len(s.sent("child", tree.Drop)) + len(s.sent("parent", tree.Join))
		}
		for _, m := range append(s.sent("child", tree.Drop), s.sent("parent", tree.Leave)...) {
			if m.Flags != asksAway {
				t.Fatalf("%v, %v", m.Type, m.Reason)
			}
		}
		for _, join := range s.sent("hop", tree.Join) {
			s.answer("hop", join, names())
		}
	}
	if asked > 0 {
		t.Errorf("asked %d times in the last ten minutes", asked)
	}
}

// Who comes again in vain has nobody else: room is made for that one too.
func TestRoomIsMadeForWhoComesAgainInVain(t *testing.T) {
	for round, want := range []bool{false, true} {
		s, _ := packed(t)
		own := tree.Standing{Weight: 1, Room: 9, At: at(3)}
		s.receive("stranger", tree.Message{Type: tree.Join, Group: group, Edge: 7, Ver: uint64(round), Flags: tree.Detached, Self: &own})
		s.one("stranger", tree.Refuse)
		s.among(4 * time.Second)
		if asked := len(s.sent("child", tree.Drop)) > 0; asked != want {
			t.Errorf("after %d rounds in vain: room is made: %v", round, asked)
		}
	}
}

// A stranger that takes this node in although it was asked for names alone is left again: it
// would be one neighbour too many as well.
func TestNobodyMovesBelowAStranger(t *testing.T) {
	s, _ := overfull(t)
	s.answer("parent", s.until("parent", tree.Join, 4*time.Second), names("stranger"))
	s.answer("stranger", s.one("stranger", tree.Join), adopted("top", "stranger"))
	s.one("stranger", tree.Leave)
	if st, _ := s.n.Status(group); st.Parent != "parent" {
		t.Errorf("it hangs below %q", st.Parent)
	}
}

// A place below one that has none itself is no place to move to.
func TestNobodyMovesBelowWhoIsDetached(t *testing.T) {
	s, _ := overfull(t)
	s.answer("parent", s.until("parent", tree.Join, 4*time.Second), names("needed"))
	detached := adopted("needed")
	detached.Flags = tree.Detached
	s.answer("needed", s.one("needed", tree.Join), detached)
	s.one("needed", tree.Leave)
	if st, _ := s.n.Status(group); st.Parent != "parent" {
		t.Errorf("it hangs below %q", st.Parent)
	}
}

// Of those that can be done without at once, one that has others below it goes after all others:
// without it there may be two trees.
func TestAWholeBranchGoesLast(t *testing.T) {
	s := alone(t, tree.Config{Neighbours: 3}, &chart{})
	s.tops(feed(0))
	s.brings("branch", feed(0))
	s.asksToJoin("known", feed(0), tree.Detached)
	s.tops(feed(1))
	for _, from := range []overlay.ID{"known", "leaf"} {
		s.asksToJoin(from, feed(1), tree.Detached)
	}
	s.asksToJoin("leaf", feed(0), tree.Detached)
	s.tops(feed(2))
	s.asksToJoin("new", feed(2), tree.Detached)
	if len(s.sent("branch", tree.Drop)) > 0 || len(s.sent("leaf", tree.Drop)) != 2 {
		t.Errorf("who goes: %v", s.all())
	}
}

// Where two nodes share dozens of feeds each neighbour is somebody's parent in one of them. The
// cap holds all the same once all have found their places, and next to nothing is lost.
func TestTheCapHoldsWhereEveryNeighbourIsNeeded(t *testing.T) {
	const nodes, feeds, readers, most = 30, 1000, 7, 17
	for seed := uint64(1); seed <= 2; seed++ {
		w := sim.NewTrees(sim.TreesConfig{Nodes: nodes, TTL: 24 * time.Hour, Lean: true, Tree: tree.Config{Neighbours: most},
			Net: oversim.Config[*tree.Message]{Seed: seed}})
		rng := rand.New(rand.NewPCG(seed, 0))
		w.RunFor(2 * time.Second)
		ids := w.IDs()
		sources := map[multicast.Group]overlay.ID{}
		var all []multicast.Group
		for i := range feeds {
			g := w.GroupNamed(fmt.Sprint("feed ", i))
			all = append(all, g)
			for k, m := range rng.Perm(nodes)[:readers] {
				if k == 0 {
					sources[g] = ids[m]
				}
				w.JoinAt(w.Now()+time.Duration(rng.Int64N(int64(30*time.Second))), g, ids[m])
			}
			w.At(w.Now()+31*time.Second, func() { w.Publish(g, sources[g], 0) })
		}
		w.RunFor(5 * time.Minute)
		for _, g := range all {
			w.Publish(g, sources[g], 0)
			w.RunFor(50 * time.Millisecond)
		}
		w.RunFor(time.Minute)
		missed := 0
		for _, g := range all {
			missed += len(w.Missed(g, 2*time.Minute))
		}
		if missed > feeds*readers/1000 {
			t.Errorf("seed %d: %d of %d items missed", seed, missed, feeds*(readers-1))
		}
		for _, id := range ids {
			if n := neighboursOf(w.Node(id)); n > most {
				t.Errorf("seed %d: %s has %d neighbours", seed, id, n)
			}
		}
	}
}
