package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Copies leave in turn: with equal copies the sum of all delays is least if the child
// with the most nodes below comes first (Smith's rule), and of leaves the farthest
// one, so that the last delivery is early.
func TestTheHeaviestChildIsSentToFirst(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	for i, c := range []struct {
		weight uint32
		delay  time.Duration
	}{{1, 30}, {5, 10}, {1, 90}, {700, 20}} {
		own := tree.Standing{Delay: c.delay * time.Millisecond, Weight: c.weight, At: at(1)}
		s.receive(overlay.ID(fmt.Sprint(i)), tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &own})
	}
	s.push("parent", event(1))
	var order []overlay.ID
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Data {
			order = append(order, send.To)
		}
	}
	if !slices.Equal(order, []overlay.ID{"3", "1", "2", "0"}) {
		t.Errorf("sent to %v", order)
	}
}
