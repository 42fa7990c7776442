package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// walks lets time pass among neighbours that are alive, and counts the walks sent.
func (s *solo) walks(d time.Duration) int { return s.count(tree.Walk, d) }

// In a tree of two there is nobody to link to. When it has grown there is.
func TestLazyLinksAreSoughtWhenTheTreeGrows(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	edge := s.one("parent", tree.Join).Edge
	of := func(ver uint64, size uint32) tree.Message {
		return tree.Message{Type: tree.Path, Group: group, Edge: edge, Ver: ver, Path: []overlay.ID{"parent"},
			Posts: []tree.Standing{{Weight: size, At: at(1)}}}
	}
	ack := of(1, 2)
	ack.Type = tree.Ack
	s.receive("parent", ack)
	if n := s.walks(time.Minute); n != 0 {
		t.Errorf("%d walks in a tree of two", n)
	}
	s.receive("parent", of(2, 1000))
	if n := s.walks(time.Minute); n == 0 {
		t.Error("no walk within a minute in a tree of a thousand")
	}
}

// Without lazy links a member is at its parent's mercy: it does not give up.
func TestWalksInVainGoOn(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"parent"}, Posts: []tree.Standing{{Weight: 1000, At: at(1)}}})
	s.walks(20 * time.Minute)
	if n := s.walks(2 * time.Minute); n < 2 {
		t.Errorf("%d walks in two minutes after twenty in vain", n)
	}
}

// Who shares a parent loses it at the same moment. In a large tree there are better
// links; in a small one, of nodes behind NATs around one that can be dialled, a member
// without such links would miss that its parent is dead for as long as nothing is sent
// to it.
func TestSiblingsLinkInASmallTree(t *testing.T) {
	for size, want := range map[uint32]tree.Type{4: tree.Linked, 1000: tree.Unlink} {
		s := alone(t, tree.Config{}, &chart{hop: "hub"})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		path := []overlay.ID{"publisher", "hub"}
		s.receive("hub", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("hub", tree.Join).Edge, Ver: 1, Path: path,
			Posts: []tree.Standing{{Weight: size, At: at(1)}, {Weight: 3, At: at(1)}}})
		s.receive("sibling", tree.Message{Type: tree.Link, Group: group, Path: path})
		if got := s.all(); len(s.sent("sibling", want)) != 1 {
			t.Errorf("in a tree of %d a sibling is sent %v, want %v", size, got, want)
		}
	}
}

// The item whose way ended with the parent comes over the link, at once and not when the
// parent's silence is noticed.
func TestASiblingHasWhatTheDeadParentDidNotForward(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "hub"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	path := []overlay.ID{"publisher", "hub"}
	s.receive("hub", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("hub", tree.Join).Edge, Ver: 1, Path: path,
		Posts: []tree.Standing{{Weight: 4, At: at(1)}, {Weight: 3, At: at(1)}}})
	s.push("hub", event(1))
	s.receive("sibling", tree.Message{Type: tree.Link, Group: group, Path: path})
	s.receive("sibling", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{event(2).Stamp}}}})
	s.pass(time.Second)
	s.one("sibling", tree.Pull)
	s.receive("sibling", tree.Message{Type: tree.Data, Group: group, Via: multicast.ViaLazy, Event: event(2)})
	if len(s.out.Deliveries) != 1 {
		t.Fatalf("%d deliveries", len(s.out.Deliveries))
	}
}

// Where everybody has as many links as it takes, who comes late still finds some: one that
// holds many gives one of them up for it, and goes on holding as many.
func TestALinkIsGivenUpForWhoSeeksOne(t *testing.T) {
	s := alone(t, tree.Config{Lazy: 6}, &chart{hop: "parent"})
	s.below("parent")
	for i := range 12 {
		s.link(overlay.ID(fmt.Sprint("member ", i)))
	}
	s.receive("parent", tree.Message{Type: tree.Walk, Group: group, Hops: 2, Peers: []overlay.ID{"late"}})
	s.one("late", tree.Link)
	s.link("late")
	var lost []overlay.ID
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Unlink {
			lost = append(lost, send.To)
		}
	}
	st, _ := s.n.Status(group)
	if len(lost) != 1 || len(st.Lazy) != 12 || !slices.Contains(st.Lazy, "late") || slices.Contains(st.Lazy, lost[0]) {
		t.Errorf("given up: %v; held: %v", lost, st.Lazy)
	}
}

// A member that has no place yet wants no links, as there is nobody. As soon as it has one
// it seeks them.
func TestLinksAreSoughtOnceThereIsATree(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	edge := s.one("parent", tree.Join).Edge
	s.pass(1900 * time.Millisecond)
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: edge, Ver: 1,
		Path: []overlay.ID{"parent"}, Posts: []tree.Standing{{Weight: 1000, At: at(1)}}})
	if n := s.walks(time.Second); n == 0 {
		t.Error("no walk within a second of finding a tree of a thousand")
	}
}

// What a new lazy link has comes with the link: two that have the same tell each other no
// more, and what only one has the other asks for.
func TestALinkBringsHeads(t *testing.T) {
	for _, seq := range []uint64{1, 2} {
		s := alone(t, tree.Config{}, &chart{hop: "parent"})
		s.below("parent")
		s.push("parent", event(1))
		s.pass(time.Second)
		s.receive("member", tree.Message{Type: tree.Link, Group: group, Path: []overlay.ID{"elsewhere", "far"}, Heads: []multicast.Stamp{event(seq).Stamp}})
		if m := s.one("member", tree.Linked); len(m.Heads) != 1 || m.Heads[0] != event(1).Stamp {
			t.Errorf("it was told %v", m.Heads)
		}
		s.pass(2 * time.Second)
		if n := len(s.sent("member", tree.Heads)); n != 0 {
			t.Errorf("%d messages that tell heads, which the link brought", n)
		}
		if asked := len(s.sent("member", tree.Pull)) > 0; asked != (seq > 1) {
			t.Errorf("a member that has %d items was asked for one: %v", seq, asked)
		}
	}
}

// Half of its links a member seeks at once, the others after half a minute: by then others
// that sought theirs have brought most of them. Who loses one of them is in no hurry either.
func TestHalfOfTheLinksAreSoughtAtOnce(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"parent"}, Posts: []tree.Standing{{Weight: 1000, At: at(1)}}})
	for i := range 3 {
		s.link(overlay.ID(fmt.Sprint("member ", i)))
	}
	if n := s.walks(3 * time.Second); n == 0 {
		t.Error("three links, and no walk within three seconds")
	}
	s.link("member 3")
	if n := s.walks(15 * time.Second); n != 0 {
		t.Errorf("four links, and %d walks within 15 s", n)
	}
	s.link("member 4")
	s.receive("member 4", tree.Message{Type: tree.Unlink, Group: group})
	if n := s.walks(15 * time.Second); n != 0 {
		t.Errorf("one of five links lost, and %d walks within 15 s", n)
	}
	if n := s.walks(45 * time.Second); n == 0 {
		t.Error("four links, and no walk within a minute")
	}
	s.receive("member 0", tree.Message{Type: tree.Unlink, Group: group})
	if n := s.walks(3 * time.Second); n == 0 {
		t.Error("one of four links lost, and no walk within three seconds")
	}
}

// Of the members that a parent names to a newcomer no more are asked than it seeks at once.
func TestANewcomerMeetsAsManyAsItSeeksAtOnce(t *testing.T) {
	s := alone(t, tree.Config{Lazy: 4}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	edge := s.one("parent", tree.Join).Edge
	s.link("member 0")
	s.link("member 1")
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: edge, Ver: 1, Path: []overlay.ID{"parent"},
		Peers: []overlay.ID{"named 1", "named 2"}, Posts: []tree.Standing{{Weight: 1000, At: at(1)}}})
	if n := len(s.sent("named 1", tree.Link)) + len(s.sent("named 2", tree.Link)); n > 0 {
		t.Errorf("it has two links of four, and asked %d for more", n)
	}
}
