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
