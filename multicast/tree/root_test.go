package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// named makes the node, which is no member, the root of a tree below a publisher.
func (s *solo) named(top overlay.ID, weight uint32) {
	s.receive(top, tree.Message{Type: tree.Crown, Group: group, Flags: tree.Rendezvous, Peers: []overlay.ID{top},
		Self: &tree.Standing{Weight: weight}})
}

func joinOf(edge, vain uint64) tree.Message {
	return tree.Message{Type: tree.Join, Group: group, Edge: edge, Ver: vain, Flags: tree.Detached, Self: &tree.Standing{Weight: 1}}
}

// A root that is no member costs nobody a payload: it sends joiners to the top, and
// takes only those who did not get in there.
func TestARootThatIsNoMemberStandsAside(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.named("top", 12)
	if len(s.sent("top", tree.Join)) != 0 {
		t.Error("it joins a tree of twelve that needs it for nothing but to be found")
	}
	s.receive("new", joinOf(5, 0))
	if m := s.one("new", tree.Refuse); m.Reason != tree.Full || len(m.Peers) != 1 || m.Peers[0] != "top" {
		t.Errorf("a joiner is told %v %v, want to try the top", m.Reason, m.Peers)
	}
	s.receive("new", joinOf(6, 1))
	s.one("new", tree.Ack)
	if len(s.out.Lookups) != 1 {
		t.Error("with a child it does not look for the tree")
	}
}

// In a tree of a few nodes the root holds copies of what is said.
func TestTheRootOfAFewStaysInTheTree(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.named("top", 4)
	s.one("top", tree.Join)
}

// A top that names the root no more has gone: the root serves joiners itself.
func TestARootStandsAsideNoLongerThanItIsTold(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.named("top", 12)
	s.pass(4 * time.Minute)
	s.receive("new", joinOf(5, 0))
	s.one("new", tree.Ack)
}

// Children that came to the root of a small group are sent on, and keep it until
// they hang elsewhere.
func TestARootThatStandsAsideSendsItsChildrenOn(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.receive("child", joinOf(5, 0))
	s.one("child", tree.Ack)
	s.named("top", 12)
	if m := s.one("child", tree.Drop); m.Reason != tree.Moved || len(m.Peers) != 1 || m.Peers[0] != "top" {
		t.Errorf("the child is told %v %v", m.Reason, m.Peers)
	}
	if st, _ := s.n.Status(group); len(st.Children) != 1 {
		t.Errorf("children %v before it has gone", st.Children)
	}
	s.receive("child", tree.Message{Type: tree.Leave, Group: group, Edge: 5})
	if st, ok := s.n.Status(group); !ok || st.Parent != "" || st.Root {
		t.Errorf("without children it is still in the tree: %+v", st)
	}
	s.receive("new", joinOf(6, 0))
	if m := s.one("new", tree.Refuse); len(m.Peers) != 1 || m.Peers[0] != "top" {
		t.Errorf("a joiner is sent to %v", m.Peers)
	}
}
