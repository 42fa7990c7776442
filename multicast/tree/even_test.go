package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// A node that serves one feed to the full takes no child of another feed for a better
// delay alone. Who has no place at all it takes.
func TestWhoServesAFeedToTheFullServesNoOtherSo(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	other := multicast.GroupOf("https://example.org/other.xml")
	s.step(tree.Input{Kind: tree.JoinGroup, Group: other})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: other, Edge: s.one("parent", tree.Join).Edge, Ver: 1, Path: []overlay.ID{"parent"}})
	join := func(g multicast.Group, id string, f tree.Flags) tree.Type {
		own := tree.Standing{Delay: time.Second, Weight: 1, Room: 9, At: at(3)}
		s.receive(overlay.ID(id), tree.Message{Type: tree.Join, Group: g, Edge: 7, Flags: f, Self: &own, RTT: time.Millisecond})
		return s.out.Sends[0].Msg.Type
	}
	for i := range 15 {
		if got := join(other, fmt.Sprint("child ", i), tree.Detached); got != tree.Ack {
			t.Fatalf("child %d: %v", i, got)
		}
	}
	for _, c := range []struct {
		id   string
		f    tree.Flags
		want tree.Type
	}{{"first", tree.Better, tree.Ack}, {"mover", tree.Better, tree.Refuse}, {"homeless", tree.Detached, tree.Ack}} {
		if got := join(group, c.id, c.f); got != c.want {
			t.Errorf("%s is answered %v, want %v", c.id, got, c.want)
		}
	}
}

// Routes to the root of a small feed lead through nodes that do not want it. Once members
// know of each other these get no item of it any more.
func TestASmallFeedComesToHangOnItsMembers(t *testing.T) {
	const nodes = 300
	for seed := uint64(1); seed <= 3; seed++ {
		w := sim.NewTrees(sim.TreesConfig{Nodes: nodes, TTL: time.Minute, Net: oversim.Config[*tree.Message]{Seed: seed}})
		w.RunFor(2 * time.Second)
		g := w.GroupNamed(fmt.Sprint("feed ", seed))
		members := w.IDs()[10:28]
		w.Join(g, members...)
		w.RunFor(5 * time.Second)
		w.Publish(g, members[0], 0)
		w.RunFor(3 * time.Minute)
		for _, id := range w.Live() {
			st, ok := w.Node(id).Status(g)
			if ok && !slices.Contains(members, id) && (st.Parent != "" || len(st.Children) > 0) {
				t.Errorf("seed %d: %s is no member and has the parent %q and the children %v", seed, id, st.Parent, st.Children)
			}
		}
		if m := w.Missed(g, time.Minute); len(m) > 0 {
			t.Errorf("seed %d: %v", seed, m)
		}
	}
}

// What a forwarder does for that: it sends its children to the top, but keeps them until they
// are there. In a large tree it would only be one node of many, and stays where it is.
func TestAForwarderOfASmallFeedSendsItsChildrenOn(t *testing.T) {
	for size, want := range map[uint32]bool{20: true, 1000: false} {
		s := alone(t, tree.Config{}, &chart{hop: "parent"})
		own := tree.Standing{Weight: 1, Room: 9, At: at(3)}
		s.receive("member", tree.Message{Type: tree.Join, Group: group, Edge: 5, Flags: tree.Detached, Self: &own})
		s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
			Path: []overlay.ID{"top", "parent"}, Posts: []tree.Standing{{Weight: size, At: at(1)}, {Weight: 3, At: at(1)}}})
		s.pass(8 * time.Second)
		drops := s.sent("member", tree.Drop)
		if !want && len(drops) > 0 || want && (len(drops) == 0 || drops[0].Reason != tree.Moved || drops[0].Peers[0] != "top") {
			t.Errorf("in a tree of %d the child is sent %v", size, drops)
		}
		if st, _ := s.n.Status(group); len(st.Children) != 1 {
			t.Errorf("in a tree of %d the child is cut before it has another parent", size)
		}
	}
}
