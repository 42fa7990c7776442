package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Who asks nodes what they know of a group hears from each, from one that knows
// nothing too; and what one has more is had from it.
func TestAskedNodesAnswer(t *testing.T) {
	g := multicast.GroupOf("https://example.org/feed")
	ahead := multicast.Stamp{Source: multicast.Source{7}, Epoch: 3, Seq: 2}

	asker := alone(t, tree.Config{}, &chart{})
	asker.step(tree.Input{Kind: tree.JoinGroup, Group: g})
	asker.step(tree.Input{Kind: tree.Ask, Group: g, Nearest: []overlay.ID{"stranger", "member", self}})
	if sent := asker.sent(self, tree.Heads); len(sent) > 0 {
		t.Error("it asks itself")
	}
	question := asker.one("stranger", tree.Heads)

	stranger := alone(t, tree.Config{}, &chart{})
	stranger.receive("asker", *question)
	asker.receive("stranger", *stranger.one("asker", tree.Heads))
	asker.told("stranger")
	if len(asker.out.Sends) > 0 {
		t.Errorf("an answer is answered: %v", asker.all())
	}

	member := alone(t, tree.Config{}, &chart{})
	member.step(tree.Input{Kind: tree.JoinGroup, Group: g, Cursor: []multicast.Stamp{ahead}})
	member.receive("asker", *question)
	asker.receive("member", *member.one("asker", tree.Heads))
	asker.told("member")
	if st, _ := asker.n.Status(g); !slices.ContainsFunc(st.Heard, func(h multicast.Stamp) bool { return h.Compare(ahead) == 0 }) {
		t.Errorf("it heard of %v, want %v", st.Heard, ahead)
	}
	asker.pass(time.Second)
	if pulls := asker.sent("member", tree.Pull); len(pulls) == 0 || pulls[0].Span.To != ahead.Seq {
		t.Errorf("it does not ask for what is new: %v", asker.all())
	}

	stranger.step(tree.Input{Kind: tree.Ask, Group: g, Nearest: []overlay.ID{"member"}})
	if len(stranger.out.Sends) > 0 {
		t.Error("a node asks about a group that it does not serve")
	}
}

// told checks that one node's answer was told of.
func (s *solo) told(by overlay.ID) {
	s.t.Helper()
	if ns := s.out.Notices; len(ns) != 1 || ns[0].Kind != tree.Told || !slices.Equal(ns[0].Peers, []overlay.ID{by}) {
		s.t.Errorf("notices %+v, want that %s told", ns, by)
	}
}
