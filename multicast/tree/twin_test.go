package tree_test

import (
	"testing"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// What is used again once a message is spent may be written over while its twin is still
// under way: the twin says what was said.
func TestTwin(t *testing.T) {
	for _, typ := range []tree.Type{tree.Probe, tree.Offer} {
		m := &tree.Message{Type: typ, Self: &tree.Standing{Weight: 7}}
		if typ == tree.Offer {
			m.Peers, m.Posts = []overlay.ID{"a"}, []tree.Standing{{Weight: 8}}
		}
		twin := m.Twin()
		*m.Self = tree.Standing{}
		for i := range m.Peers {
			m.Peers[i], m.Posts[i] = "b", tree.Standing{}
		}
		if twin.Type != typ || twin.Self.Weight != 7 || typ == tree.Offer && (twin.Peers[0] != "a" || twin.Posts[0].Weight != 8) {
			t.Errorf("%v: the twin became %+v, its sender %+v", typ, twin, twin.Self)
		}
	}
}
