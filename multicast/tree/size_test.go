package tree_test

import (
	"fmt"
	"testing"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// How many follow a feed is what its polls are divided by (Corona §3.1), and all know it
// to within a factor of two, whoever came first: also where nobody but the top has children.
func TestTheFirstOfAStarHearsHowManyCame(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	told := map[overlay.ID]uint32{}
	const members = 12
	for i := range members {
		s.receive(overlay.ID(fmt.Sprint("member ", i)), joinOf(uint64(i+1), 0))
		for _, send := range s.out.Sends {
			if m := send.Msg; (m.Type == tree.Ack || m.Type == tree.Path) && len(m.Posts) > 0 {
				told[send.To] = m.Posts[0].Weight
			}
		}
	}
	for id, size := range told {
		if size < (members+1)/2 || size > 2*(members+1) {
			t.Errorf("%s was told of a tree of %d, there are %d", id, size, members+1)
		}
	}
	if len(told) != members {
		t.Errorf("%d of %d were told anything", len(told), members)
	}
}
