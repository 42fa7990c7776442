package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// A node that cannot be dialled is never a root.
func TestLeaf(t *testing.T) {
	far := named(false)
	s := alone(t, tree.Config{Leaf: true}, &chart{closest: []overlay.ID{far}})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.one(far, tree.Join)
	s.step(tree.Input{Kind: tree.Gone, From: far})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	s.pass(time.Minute)
	if st, _ := s.n.Status(group); st.Root {
		t.Fatal("a leaf is root")
	}
}

// Whoever asks a leaf has a direct connection to it: it may be a parent. But it
// offers no room, so that nobody is sent to it.
func TestLeafAdoptsWhoGotThrough(t *testing.T) {
	s := alone(t, tree.Config{Leaf: true}, &chart{closest: []overlay.ID{"parent"}})
	s.below("parent")
	s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached})
	s.one("child", tree.Ack)
	if st, _ := s.n.Status(group); !slices.Equal(st.Children, []overlay.ID{"child"}) {
		t.Fatalf("children %v", st.Children)
	}
}

// A full node names no child that offers no place and has nobody below it.
func TestNobodyIsSentToALeaf(t *testing.T) {
	s := alone(t, tree.Config{Children: 3}, &chart{hop: "parent"})
	s.below("parent")
	s.receive("leaf", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1}})
	s.receive("open", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, Room: 9}})
	for i := 0; ; i++ {
		late := overlay.ID("late" + string(rune('a'+i)))
		s.receive(late, tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1}})
		if refused := s.sent(late, tree.Refuse); len(refused) > 0 {
			if r := refused[0]; r.Reason != tree.Full || !slices.Contains(r.Peers, "open") || slices.Contains(r.Peers, "leaf") {
				t.Fatalf("refused as %v and sent to %v, want only to whom has room", r.Reason, r.Peers)
			}
			return
		}
		if i > 5 {
			t.Fatal("never full")
		}
	}
}

// Nor is one named to who tells where it is in the network: to be behind a NAT near by
// makes nobody a better parent.
func TestNobodyNearIsSentToALeaf(t *testing.T) {
	s := alone(t, tree.Config{Children: 3}, &chart{hop: "parent"})
	s.below("parent")
	here := tree.Coord{Height: 100, Err: 100}
	far := tree.Coord{At: [4]int32{90_000}, Height: 100, Err: 100}
	s.receive("leaf", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, At: here}})
	s.receive("open", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, Room: 9, At: far}})
	s.receive("third", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, At: here}})
	s.receive("late", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, At: here}})
	if r := s.one("late", tree.Refuse); !slices.Equal(r.Peers, []overlay.ID{"open", "parent"}) {
		t.Errorf("a joiner is sent to %v", r.Peers)
	}
	s.receive("late", tree.Message{Type: tree.Probe, Group: group, Self: &tree.Standing{Weight: 1, At: here}})
	if o := s.one("late", tree.Offer); !slices.Equal(o.Peers, []overlay.ID{"open"}) {
		t.Errorf("a prober is told of %v", o.Peers)
	}
}

// A root that nobody can dial any more joins somebody who can be; one that can be
// dialled again may be root.
func TestReachabilityChanges(t *testing.T) {
	far := named(false)
	routes := &chart{}
	s := alone(t, tree.Config{}, routes)
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	root := func() bool { st, _ := s.n.Status(group); return st.Root }
	if !root() {
		t.Fatal("alone, it is no root")
	}
	routes.closest = []overlay.ID{far}
	s.step(tree.Input{Kind: tree.Dialable})
	s.pass(time.Second)
	join := s.one(far, tree.Join)
	s.receive(far, tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{far}})
	if root() {
		t.Fatal("nobody can dial it, and it is still the root")
	}
	routes.closest = nil
	s.step(tree.Input{Kind: tree.Gone, From: far})
	s.pass(time.Minute)
	if root() {
		t.Fatal("a leaf became root")
	}
	s.step(tree.Input{Kind: tree.Dialable, OK: true})
	s.pass(time.Second)
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	if !root() {
		t.Fatal("it can be dialled again, is alone, and is no root")
	}
}
