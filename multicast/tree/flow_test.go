package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
)

// A parent that is slow is not helped by asking others for what it is about to send:
// each answer is one more copy on a network that is busy. Who has what is claimed is
// asked when the flow ends, or lags for too long.
func TestWhatIsOnItsWayIsNotAskedFor(t *testing.T) {
	const apart = 200 * time.Millisecond
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("top", "parent")
	s.link("lazy")
	pulls := func(from, to uint64) (n int) {
		for seq := from; seq <= to; seq++ {
			s.push("parent", event(seq))
			s.pass(apart)
			n += len(s.sent("lazy", tree.Pull))
		}
		return n
	}
	pulls(1, 1)
	s.receive("lazy", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{event(200).Stamp}}}})
	if n := pulls(2, 20); n != 0 {
		t.Errorf("%d pulls while events came every %v", n, apart)
	}
	if s.pass(time.Second); len(s.sent("lazy", tree.Pull)) == 0 {
		t.Error("no pull within a second of the end of the flow")
	}

	s = alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("top", "parent")
	s.link("lazy")
	pulls(1, 1)
	s.receive("lazy", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{event(200).Stamp}}}})
	if n := pulls(2, 40); n == 0 {
		t.Error("no pull from who has had it for eight seconds")
	}
}
