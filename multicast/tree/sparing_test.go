package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

func (s *solo) adopts(child overlay.ID, room uint8) {
	s.t.Helper()
	s.receive(child, tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 1, Room: room}})
	s.one(child, tree.Ack)
}

func (s *solo) spare(on bool) { s.step(tree.Input{Kind: tree.Spare, OK: on}) }

// Whoever may send no more tells its children where else to go, and lets nobody fall:
// they keep their parent until they have another, and who has none after a while is
// cut with the names of others.
func TestWhoMustSpareSendsItsChildrenAway(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.adopts("one", 9)
	s.adopts("two", 9)
	s.spare(true)
	for _, c := range []overlay.ID{"one", "two"} {
		if d := s.one(c, tree.Drop); d.Reason != tree.Moved || !slices.Contains(d.Peers, "parent") {
			t.Errorf("%s is told %v, %v", c, d.Reason, d.Peers)
		}
	}
	if st, _ := s.n.Status(group); len(st.Children) != 2 {
		t.Fatalf("cut before they had another parent: %v", st.Children)
	}
	s.push("parent", event(1))
	s.one("one", tree.Data)
	s.receive("two", tree.Message{Type: tree.Leave, Group: group, Edge: 1})
	s.pass(5 * time.Second)
	if d := s.one("one", tree.Drop); d.Reason != tree.Full || !slices.Contains(d.Peers, "parent") {
		t.Errorf("the one that found nobody is told %v, %v", d.Reason, d.Peers)
	}
	if st, _ := s.n.Status(group); len(st.Children) != 0 || st.Parent != "parent" || !st.Member {
		t.Errorf("in the end: %+v", st)
	}
	if n := s.n.Counters().Spared; n != 3 {
		t.Errorf("%d counted, want two asked and one cut", n)
	}
}

// It takes nobody in, and says who else might.
func TestWhoMustSpareTakesNobodyIn(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.spare(true)
	join := tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &tree.Standing{Weight: 40, At: at(1)}}
	s.receive("late", join)
	if r := s.one("late", tree.Refuse); r.Reason != tree.Full || !slices.Contains(r.Peers, "parent") {
		t.Errorf("refused as %v and sent to %v", r.Reason, r.Peers)
	}
	s.receive("late", tree.Message{Type: tree.Probe, Group: group, Self: &tree.Standing{Weight: 1, At: at(1)}})
	if o := s.one("late", tree.Offer); o.Flags&tree.Better != 0 {
		t.Error("it offers a place")
	}
	s.spare(false)
	s.receive("late", join)
	s.one("late", tree.Ack)
}

// The top has no parent to send its children to: the one with most room takes the
// others, and goes last.
func TestTheTopSpares(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	s.adopts("small", 1)
	s.adopts("large", 9)
	s.spare(true)
	if d := s.one("small", tree.Drop); d.Reason != tree.Moved || !slices.Equal(d.Peers, []overlay.ID{"large"}) {
		t.Errorf("small is told %v, %v", d.Reason, d.Peers)
	}
	if ds := s.sent("large", tree.Drop); len(ds) != 0 {
		t.Errorf("large is told %v", ds[0].Reason)
	}
	s.receive("small", tree.Message{Type: tree.Leave, Group: group, Edge: 1})
	s.pass(5 * time.Second)
	if d := s.one("large", tree.Drop); d.Reason != tree.Full {
		t.Errorf("large is told %v", d.Reason)
	}
}

// What it publishes itself it still hands out, and sends again to who asks; what
// others published it does not.
func TestWhoMustSpareStillPublishes(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.push("parent", event(1))
	s.spare(true)
	s.step(tree.Input{Kind: tree.Publish, Group: group, Event: *by(7, 1)})
	s.one("parent", tree.Data)
	s.receive("far", tree.Message{Type: tree.Pull, Group: group, Span: &tree.Span{Stamp: by(7, 1).Stamp, From: 1, To: 1}})
	s.one("far", tree.Data)
	s.receive("far", tree.Message{Type: tree.Pull, Group: group, Span: &tree.Span{Stamp: event(1).Stamp, From: 1, To: 1}})
	s.one("far", tree.Lack)
	if len(s.sent("far", tree.Data)) != 0 {
		t.Error("it sends what others published")
	}
	s.spare(false)
	s.receive("far", tree.Message{Type: tree.Pull, Group: group, Span: &tree.Span{Stamp: event(1).Stamp, From: 1, To: 1}})
	s.one("far", tree.Data)
}

// A root that spares keeps its own items with the nodes that would be root after it,
// and nobody else's.
func TestWhoMustSpareReplicatesItsOwn(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{closest: []overlay.ID{"next"}})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	s.spare(true)
	s.push("far", event(1))
	if len(s.sent("next", tree.Data)) != 0 {
		t.Error("it keeps what others published elsewhere")
	}
	s.step(tree.Input{Kind: tree.Publish, Group: group, Event: *by(7, 1)})
	s.one("next", tree.Data)
	s.spare(false)
	s.push("far", event(2))
	s.one("next", tree.Data)
}
