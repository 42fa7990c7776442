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

func feed(i int) multicast.Group {
	return multicast.GroupOf(fmt.Sprintf("https://example.org/%d.xml", i))
}

// joins makes the node a member of another feed and answers its first question: by an
// adoption, or if the path is empty by names.
func (s *solo) joins(g multicast.Group, asked overlay.ID, answer tree.Message) *tree.Message {
	s.t.Helper()
	s.step(tree.Input{Kind: tree.JoinGroup, Group: g})
	return s.answers(g, asked, answer)
}

func (s *solo) answers(g multicast.Group, asked overlay.ID, answer tree.Message) *tree.Message {
	s.t.Helper()
	join := s.one(asked, tree.Join)
	answer.Group, answer.Edge, answer.Ver = g, join.Edge, 1
	s.receive(asked, answer)
	return join
}

func adopted(path ...overlay.ID) tree.Message { return tree.Message{Type: tree.Ack, Path: path} }
func names(ids ...overlay.ID) tree.Message {
	return tree.Message{Type: tree.Refuse, Reason: tree.Full, Peers: ids}
}

func (s *solo) asksToJoin(from overlay.ID, g multicast.Group, f tree.Flags) {
	own := tree.Standing{Weight: 1, Room: 9, At: at(3)}
	s.receive(from, tree.Message{Type: tree.Join, Group: g, Edge: 7, Flags: f, Self: &own})
}

// packed has two neighbours, as many as it keeps: a parent and a child.
func packed(t *testing.T) (*solo, *chart) {
	c := &chart{hop: "parent"}
	s := alone(t, tree.Config{Neighbours: 2}, c)
	s.below("parent")
	s.adopts("child", 9)
	return s, c
}

// DESIGN.md, the tree, 6: neighbours are capped. One more is named those below and above;
// one that is a neighbour already is welcome, in any feed.
func TestWhoHasNeighboursEnoughTakesNobodyNew(t *testing.T) {
	s, _ := packed(t)
	s.asksToJoin("stranger", group, tree.Detached)
	if r := s.one("stranger", tree.Refuse); r.Reason != tree.Full || !slices.Equal(r.Peers, []overlay.ID{"child", "parent"}) {
		t.Errorf("refused as %v and sent to %v", r.Reason, r.Peers)
	}
	s.receive("stranger", tree.Message{Type: tree.Probe, Group: group, Self: &tree.Standing{Weight: 1, At: at(1)}})
	if o := s.one("stranger", tree.Offer); o.Flags&tree.Better != 0 {
		t.Error("a stranger that asks is offered a place")
	}
	s.receive("stranger", tree.Message{Type: tree.Link, Group: group})
	s.one("stranger", tree.Unlink)
	s.asksToJoin("child", feed(1), tree.Detached)
	s.one("child", tree.Ack)
}

// A lazy link is one of several: it goes for a parent or a child.
func TestALazyLinkGoesForAChild(t *testing.T) {
	s := alone(t, tree.Config{Neighbours: 2}, &chart{hop: "parent"})
	s.below("parent")
	s.link("lazy")
	s.asksToJoin("mover", group, tree.Better)
	s.one("mover", tree.Refuse) // it has a place
	s.asksToJoin("child", group, tree.Detached)
	s.one("child", tree.Ack)
	s.one("lazy", tree.Unlink)
}

// At the upper end somebody has to be taken, or the feed is cut in two: the first, and
// another tree's top.
func TestATopWithoutChildrenTakesAStranger(t *testing.T) {
	s, c := packed(t)
	c.hop = ""
	s.step(tree.Input{Kind: tree.JoinGroup, Group: feed(1)})
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	s.asksToJoin("first", feed(1), tree.Detached)
	s.one("first", tree.Ack)
	s.asksToJoin("second", feed(1), tree.Detached)
	if r := s.one("second", tree.Refuse); !slices.Equal(r.Peers, []overlay.ID{"first"}) {
		t.Errorf("the second one is sent to %v", r.Peers)
	}
	s.receive("other top", tree.Message{Type: tree.Join, Group: feed(1), Edge: 8, Flags: tree.Detached, Self: &tree.Standing{Weight: 2}})
	s.one("other top", tree.Ack)
}

// A member asks who is in the tree, and hangs below the one that it knows.
func TestAPlaceIsFoundBelowANeighbour(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	join := s.joins(feed(1), "hop", names("far", "child"))
	if want := tree.Detached | tree.Crowded; join.Flags != want {
		t.Errorf("a stranger is asked with %b, want %b", join.Flags, want)
	}
	join = s.answers(feed(1), "child", adopted("far", "child"))
	if want := tree.Detached | tree.Crowded | tree.Confirm; join.Flags != want {
		t.Errorf("a neighbour is asked with %b, want %b", join.Flags, want)
	}
	if st, _ := s.n.Status(feed(1)); st.Parent != "child" || st.Apart {
		t.Errorf("in the end: %+v", st)
	}
}

// Who is asked names those in the tree, or who is next on the way to them, and takes nobody
// in that it may not: neither a stranger, nor a neighbour of a feed that it only forwards.
func TestWhoIsAskedByOneWithNeighboursEnoughOnlyNames(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.adopts("child", 9)
	s.asksToJoin("full", group, tree.Detached|tree.Crowded)
	if r := s.one("full", tree.Refuse); !slices.Equal(r.Peers, []overlay.ID{"parent", "child"}) {
		t.Errorf("in the tree it names %v", r.Peers)
	}
	for _, f := range []tree.Flags{tree.Crowded, tree.Crowded | tree.Confirm} {
		s.asksToJoin("child", feed(1), tree.Detached|f)
		if r := s.one("child", tree.Refuse); !slices.Equal(r.Peers, []overlay.ID{"parent"}) {
			t.Errorf("elsewhere it names %v", r.Peers)
		}
		if _, ok := s.n.Status(feed(1)); ok {
			t.Error("it serves the feed because it was asked")
		}
	}
	s.asksToJoin("child2", group, tree.Detached|tree.Crowded|tree.Confirm)
	s.one("child2", tree.Ack)
}

// Whom nobody of the neighbours can be a parent stays apart, says so once, and looks around
// again, the later the longer. A neighbour that goes is a reason to do so at once.
func TestWhoKnowsNobodyInTheTreeStaysApart(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names("far"))
	s.answers(feed(1), "far", names("hop"))
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	if st, _ := s.n.Status(feed(1)); !st.Apart || st.Attached || st.Parent != "" {
		t.Fatalf("not apart: %+v", st)
	}
	if n := len(s.out.Notices); n != 1 || s.out.Notices[0].Kind != tree.Apart || s.n.Counters().Apart != 1 {
		t.Errorf("told: %v; counted: %d", s.out.Notices, s.n.Counters().Apart)
	}
	s.among(9 * time.Second)
	if len(s.sent("hop", tree.Join)) > 0 {
		t.Error("it asks again at once")
	}
	s.receive("child", tree.Message{Type: tree.Leave, Group: group, Edge: 1})
	s.among(time.Second)
	s.answers(feed(1), "hop", adopted("hop"))
	if st, _ := s.n.Status(feed(1)); st.Apart || st.Parent != "hop" {
		t.Errorf("with room for one more: %+v", st)
	}
	if len(s.noticed(tree.Found)) != 1 {
		t.Error("nobody is told that there is a place")
	}
}

// What changes in the routing table changes nothing for who stands apart: at each change a
// reader of thousands of feeds would ask for hundreds of them.
func TestRoutesDoNotWakeWhoStandsApart(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	s.step(tree.Input{Kind: tree.Routes})
	s.among(5 * time.Second)
	if n := len(s.sent("hop", tree.Join)); n > 0 {
		t.Errorf("%d questions", n)
	}
}

// Who begins to publish is in the tree at once, and who leaves a feed is apart from nothing.
func TestAPublisherDoesNotStayApart(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	ev := *event(1)
	ev.Group, ev.TTL = feed(1), time.Minute
	s.step(tree.Input{Kind: tree.Publish, Group: feed(1), Event: ev})
	s.among(time.Second)
	if j := s.answers(feed(1), "hop", adopted("hop")); j.Flags != tree.Detached {
		t.Errorf("a parent is asked with %b", j.Flags)
	}
	if st, _ := s.n.Status(feed(1)); st.Apart || st.Parent != "hop" {
		t.Errorf("it hangs below %q; apart: %v", st.Parent, st.Apart)
	}

	s, c = packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	s.step(tree.Input{Kind: tree.Lease, Group: feed(1)})
	s.step(tree.Input{Kind: tree.LeaveGroup, Group: feed(1)})
	if st, _ := s.n.Status(feed(1)); st.Apart {
		t.Error("it stays apart from a feed that it has left")
	}
}

// Who stands apart adopts those who know it, and must not keep them apart: it has to be in the
// tree then, as a publisher has.
func TestWhoHasChildrenDoesNotStayApart(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.joins(feed(1), "hop", names())
	s.step(tree.Input{Kind: tree.Looked, Group: feed(1), OK: true})
	s.asksToJoin("child", feed(1), tree.Detached)
	s.one("child", tree.Ack)
	s.among(time.Second)
	if j := s.one("hop", tree.Join); j.Flags != tree.Detached {
		t.Errorf("asked with %b", j.Flags)
	}
}

// Two that were asked while there was room for one say yes: the second one is left again,
// and asked for names.
func TestRoomForOneIsNotTakenTwice(t *testing.T) {
	c := &chart{hop: "a"}
	s := alone(t, tree.Config{Neighbours: 2}, c)
	s.below("a")
	c.hop = "b"
	s.step(tree.Input{Kind: tree.JoinGroup, Group: feed(1)})
	first := s.one("b", tree.Join).Edge
	c.hop = "c"
	s.joins(feed(2), "c", adopted("c"))
	s.receive("b", tree.Message{Type: tree.Ack, Group: feed(1), Edge: first, Ver: 1, Path: []overlay.ID{"b"}})
	s.one("b", tree.Leave)
	if j := s.one("b", tree.Join); j.Flags != tree.Detached|tree.Crowded {
		t.Errorf("asked again with %b", j.Flags)
	}
}

// One with too many neighbours that is not in the tree passes a stranger on along the route,
// and stays out of it.
func TestAStrangerIsPassedOnAlongTheRoute(t *testing.T) {
	s, c := packed(t)
	c.hop = "hop"
	s.asksToJoin("stranger", feed(1), tree.Detached)
	if r := s.one("stranger", tree.Refuse); !slices.Equal(r.Peers, []overlay.ID{"hop"}) {
		t.Errorf("sent to %v", r.Peers)
	}
	if _, ok := s.n.Status(feed(1)); ok {
		t.Error("it serves the feed")
	}
}

// The only child of a top is not let go for another feed's: it would not know where to go.
func TestTheOnlyChildOfATopStays(t *testing.T) {
	s := alone(t, tree.Config{Neighbours: 1}, &chart{})
	for i, child := range []overlay.ID{"one", "two"} {
		s.step(tree.Input{Kind: tree.JoinGroup, Group: feed(i)})
		s.step(tree.Input{Kind: tree.Looked, Group: feed(i), OK: true})
		s.asksToJoin(child, feed(i), tree.Detached)
		s.one(child, tree.Ack)
	}
	if len(s.sent("one", tree.Drop)) > 0 {
		t.Error("it was cut")
	}
}

// Nobody new is worth a swap then, however much would be gained, and no better place with
// somebody new worth a question.
func TestNoSwapAndNoSearchBringsAStranger(t *testing.T) {
	s, _ := fullBy(t, tree.Config{Neighbours: 16}, 1, 0)
	s.receive("heavy", better(100))
	s.one("heavy", tree.Refuse)

	for most, want := range map[int]bool{1: false, 9: true} {
		c := &chart{rtt: 20 * time.Millisecond}
		s := searchingBy(t, tree.Config{Neighbours: most}, c, 1, 0, 300*time.Millisecond)
		asked := s.probes(time.Minute, func(overlay.ID) *tree.Message {
			return stands([]overlay.ID{"better"}, tree.Standing{Delay: time.Millisecond, Weight: 1, Room: 9, At: at(2)})
		})
		if got := slices.Contains(asked, "better"); got != want || len(asked) == 0 {
			t.Errorf("of %d neighbours at most: asked %v", most, asked)
		}
	}
}

// Who had to be taken is let go once one of the neighbours comes, and hangs below that.
func TestWhoHadToBeTakenIsLetGo(t *testing.T) {
	s := alone(t, tree.Config{Neighbours: 1}, &chart{})
	for i, child := range []overlay.ID{"known", "stranger"} {
		s.step(tree.Input{Kind: tree.JoinGroup, Group: feed(i)})
		s.step(tree.Input{Kind: tree.Looked, Group: feed(i), OK: true})
		s.asksToJoin(child, feed(i), tree.Detached)
		s.one(child, tree.Ack)
	}
	s.asksToJoin("known", feed(1), tree.Detached)
	s.one("known", tree.Ack)
	if d := s.one("stranger", tree.Drop); d.Reason != tree.Full || !slices.Equal(d.Peers, []overlay.ID{"known"}) {
		t.Errorf("the stranger is told %v, %v", d.Reason, d.Peers)
	}
}

// A publisher is never apart: it takes a stranger for a parent, and lets go of the one with
// whom it has least in common.
func TestAPublisherIsNeverApart(t *testing.T) {
	c := &chart{hop: "one"}
	s := alone(t, tree.Config{Neighbours: 2}, c)
	s.joins(feed(1), "one", adopted("one"))
	s.joins(feed(2), "one", adopted("one"))
	c.hop = "two"
	s.joins(feed(3), "two", adopted("two"))
	c.hop = "three"
	ev := *event(1)
	ev.TTL = time.Minute
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	join := s.one("three", tree.Join)
	s.step(tree.Input{Kind: tree.Publish, Group: group, Event: ev})
	s.receive("three", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"three"}})
	if st, _ := s.n.Status(group); st.Parent != "three" {
		t.Fatalf("the publisher hangs below %q", st.Parent)
	}
	s.one("two", tree.Leave)
	if st, _ := s.n.Status(feed(1)); st.Parent != "one" {
		t.Error("it left the one with whom it shares two feeds")
	}
}

// In a world with many feeds of few, one of which a node reads them all, nobody ever has
// more neighbours than it keeps, whoever is not apart gets every item, and that are most.
func TestNobodyHasTooManyNeighbours(t *testing.T) {
	const nodes, feeds, most = 120, 150, 20
	for seed := uint64(1); seed <= 2; seed++ {
		w := sim.NewTrees(sim.TreesConfig{Nodes: nodes, TTL: time.Hour, Tree: tree.Config{Neighbours: most},
			Net: oversim.Config[*tree.Message]{Seed: seed}})
		rng := rand.New(rand.NewPCG(seed, 0))
		w.RunFor(2 * time.Second)
		ids := w.IDs()
		sources := map[multicast.Group]overlay.ID{}
		for i := range feeds {
			g := w.GroupNamed(fmt.Sprint("feed ", i))
			members := []overlay.ID{ids[0]}
			for _, k := range rng.Perm(nodes - 1)[:7] {
				members = append(members, ids[1+k])
			}
			sources[g] = members[1]
			w.Join(g, members...)
			w.RunFor(100 * time.Millisecond)
		}
		w.RunFor(2 * time.Minute)
		for i := range feeds {
			g := w.GroupNamed(fmt.Sprint("feed ", i))
			w.Publish(g, sources[g], 0)
		}
		w.RunFor(2 * time.Minute)
		apart := 0
		for i := range feeds {
			g := w.GroupNamed(fmt.Sprint("feed ", i))
			if st, _ := w.Node(ids[0]).Status(g); st.Apart {
				apart++
			}
			for _, m := range w.Missed(g, time.Minute) {
				if st, _ := w.Node(m.Member).Status(g); !st.Apart {
					t.Errorf("seed %d, feed %d: %v", seed, i, m)
				}
			}
		}
		if apart == 0 || apart > feeds/2 {
			t.Errorf("seed %d: the reader of everything is apart from %d of %d feeds", seed, apart, feeds)
		}
		for _, id := range ids {
			if n := neighboursOf(w.Node(id)); n > most {
				t.Errorf("seed %d: %s has %d neighbours", seed, id, n)
			}
		}
	}
}

func neighboursOf(n *tree.Node) int {
	all := map[overlay.ID]bool{}
	for _, g := range n.Groups() {
		st, _ := n.Status(g)
		for _, id := range slices.Concat([]overlay.ID{st.Parent}, st.Children, st.Lazy) {
			all[id] = true
		}
	}
	delete(all, "")
	return len(all)
}

// Who has neighbours enough walks in one group or the other, not in all of them every quarter
// of an hour: thousands of feeds would make it walk without a pause.
func TestWalksAreRareInManyGroups(t *testing.T) {
	walks := func(groups int) (n int) {
		s, c := packed(t)
		c.hop = "parent"
		for i := range groups {
			large := adopted("far", "parent")
			large.Posts = []tree.Standing{{Weight: 1000}, {Weight: 10}}
			s.joins(feed(i), "parent", large)
		}
		s.count(tree.Walk, time.Hour) // each looks around at first
		return s.count(tree.Walk, 24*time.Hour)
	}
	few, many := walks(4), walks(160)
	if few == 0 || many > 6*few {
		t.Errorf("%d walks in a day in 4 groups, %d in 160", few, many)
	}
}

// A tree below a top that was let go of for want of room may find nobody else to hang below:
// it would be another tree. The top looks for that soon, and not when it would have anyway.
func TestATopLooksForTheTreeThatItLetGoOf(t *testing.T) {
	s := alone(t, tree.Config{Neighbours: 2}, &chart{})
	tops := func(g multicast.Group) {
		s.step(tree.Input{Kind: tree.JoinGroup, Group: g})
		s.step(tree.Input{Kind: tree.Looked, Group: g, OK: true})
	}
	asks := func(from overlay.ID, g multicast.Group, weight uint32) {
		s.receive(from, tree.Message{Type: tree.Join, Group: g, Edge: 7, Flags: tree.Detached, Self: &tree.Standing{Weight: weight, Room: 9}})
		s.one(from, tree.Ack)
	}
	tops(feed(0))
	asks("branch", feed(0), 9)
	asks("known", feed(0), 1)
	tops(feed(1))
	asks("known", feed(1), 1)
	s.looksWithin(feed(0), 20*time.Minute)
	tops(feed(2))
	asks("new", feed(2), 1)
	if d := s.one("branch", tree.Drop); d.Group != feed(0) || !slices.Equal(d.Peers, []overlay.ID{"known"}) {
		t.Fatalf("who is let go of is told %v", d.Peers)
	}
	if !s.looksWithin(feed(0), 8*time.Second) {
		t.Error("nobody looks whether there are two trees now")
	}
	if s.looksWithin(feed(0), 30*time.Second) {
		t.Error("it looks again and again")
	}
}

// looksWithin lets time pass where nobody is nearer to any root, and reports whether one of
// the group was looked for.
func (s *solo) looksWithin(g multicast.Group, d time.Duration) (looks bool) {
	for end := s.now + d; s.now < end; {
		s.pass(100 * time.Millisecond)
		out := s.out
		for _, send := range out.Sends {
			if send.Msg.Type == tree.Ping {
				s.pong(send.To, send.Msg)
			}
		}
		for _, l := range out.Lookups {
			looks = looks || l == g
			s.step(tree.Input{Kind: tree.Looked, Group: l, OK: true})
		}
	}
	return looks
}
