package live

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// told makes a carrier, has its node give notices and returns what its owner hears.
func told(t *testing.T, notices ...tree.Notice) (heard []multicast.Notice) {
	t.Helper()
	c := NewCarrier(&desk{}, Config{}, multicast.Callbacks[*signing.Envelope]{
		Notice: func(n multicast.Notice) { heard = append(heard, n) },
	})
	for _, n := range notices {
		c.config.Notice(n)
	}
	return heard
}

// Every notice of the tree has a word of its own among those of carriers, but for the one
// that the loop acts on.
func TestEveryNoticeIsTold(t *testing.T) {
	words := map[multicast.NoticeKind]tree.NoticeKind{}
	for kind := tree.Attached; kind <= tree.Forked; kind++ {
		heard := told(t, tree.Notice{Kind: kind, Events: make([]multicast.Event, 2)})
		if kind == tree.Contradiction {
			if len(heard) > 0 {
				t.Errorf("what two events contradict is told, as %+v", heard)
			}
			continue
		}
		if len(heard) != 1 || heard[0].Kind == 0 {
			t.Errorf("notice %d is told as %+v", kind, heard)
			continue
		}
		if other, ok := words[heard[0].Kind]; ok {
			t.Errorf("notices %d and %d are both told as %d", other, kind, heard[0].Kind)
		}
		words[heard[0].Kind] = kind
	}
}

// A notice comes whole, and is its owner's: the node keeps what it points to.
func TestANoticeIsItsOwners(t *testing.T) {
	peers := []overlay.ID{"a", "b"}
	stamp := multicast.Stamp{Epoch: 2, Seq: 9}
	n := told(t, tree.Notice{Kind: tree.Receipt, Group: groupA, Stamp: stamp, From: 3, To: 7, Root: true, Peers: peers, After: time.Minute})[0]
	if n.Kind != multicast.Receipt || n.Group != groupA || n.Stamp != stamp || n.From != 3 || n.To != 7 || !n.Root ||
		!slices.Equal(n.Peers, peers) || n.After != time.Minute {
		t.Errorf("told %+v", n)
	}
	n.Peers[0] = "x"
	if peers[0] != "a" {
		t.Error("its owner changed what the node holds")
	}
}
