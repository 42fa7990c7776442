package tree

import (
	"math/rand/v2"
	"testing"

	"github.com/feedtree/feedtree/overlay"
)

// A sharing is how many ask in a tree of some size, after some searches in vain.
type sharing struct {
	size     uint32
	slow     uint8   // since it searches more seldom,
	vain     uint8   // from this place
	from, to float64 // a part of those that could
}

func (s sharing) check(t *testing.T, asks func(*Node, *group) bool) {
	t.Helper()
	const all = 20_000
	n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2))}
	g := &group{place: place{parent: "a", path: []overlay.ID{"a"}, stands: []Standing{{Weight: s.size}}}}
	g.tune.slow, g.tune.vain = s.slow, s.vain
	g.tune.near = []nearby{{id: "b", way: 1, exact: true, weight: 1}}
	asked := 0
	for range all {
		if asks(n, g) {
			asked++
		}
	}
	if part := float64(asked) / all; part < s.from || part > s.to {
		t.Errorf("of %d nodes, after %d and %d searches in vain, %.3f ask; want %.3f to %.3f", s.size, s.slow, s.vain, part, s.from, s.to)
	}
}

// In a large tree a place that many have heard of, and that nobody's coin forbids, is asked
// for by a part of them; by more the longer they searched in vain, even if they do not slow
// down. Elsewhere all may ask. The same holds for the one that is the nearest to a region.
func TestShare(t *testing.T) {
	inviting := candidate{id: "b", stand: Standing{Weight: 1, Room: 15}, depth: 4}
	for _, s := range []sharing{
		{shareFrom - 1, 0, 0, 1, 1},
		{shareFrom, 0, 0, 0.24, 0.26},
		{1_000_000, 0, 0, 0.115, 0.135},
		{1_000_000, 1, 1, 0.115, 0.135},
		{1_000_000, 2, 2, 0.24, 0.26},
		{1_000_000, 0, 2, 0.24, 0.26},
		{1_000_000, 0, 6, 0.9, 1},
		{1_000_000, 6, 0, 1, 1},
		{1_000_000, searchSlow, searchSlow, 1, 1},
	} {
		s.check(t, func(n *Node, g *group) bool { return n.rng.Float64() < n.odds(g, &inviting) })
		s.check(t, func(n *Node, g *group) bool { _, ok := n.friend(g); return ok })
	}
}
