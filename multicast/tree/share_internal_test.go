package tree

import (
	"math/rand/v2"
	"testing"

	"github.com/feedtree/feedtree/overlay"
)

// A sharing is how many ask in a tree of some size, after some searches in vain.
type sharing struct {
	size     uint32
	slow     uint8
	from, to float64 // a part of those that could
}

func (s sharing) check(t *testing.T, asks func(*Node, *group) bool) {
	t.Helper()
	const all = 20_000
	n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2))}
	g := &group{place: place{parent: "a", path: []overlay.ID{"a"}, stands: []Standing{{Weight: s.size}}}}
	g.tune.slow = s.slow
	g.tune.near = []nearby{{id: "b", way: 1, exact: true, weight: 1}}
	asked := 0
	for range all {
		if asks(n, g) {
			asked++
		}
	}
	if part := float64(asked) / all; part < s.from || part > s.to {
		t.Errorf("of %d nodes, after %d searches in vain, %.3f ask; want %.3f to %.3f", s.size, s.slow, part, s.from, s.to)
	}
}

// In a large tree a place that many have heard of, and that nobody's coin forbids, is asked
// for by a part of them; by more the longer they searched in vain. Elsewhere all may ask.
func TestShare(t *testing.T) {
	inviting := candidate{id: "b", stand: Standing{Weight: 1, Room: 15}, depth: 4}
	for _, tc := range []sharing{
		{shareFrom - 1, 0, 1, 1},
		{shareFrom, 0, 0.24, 0.26},
		{1_000_000, 0, 0.12, 0.13},
		{1_000_000, 1, 0.12, 0.13},
		{1_000_000, 2, 0.24, 0.26},
		{1_000_000, 6, 1, 1},
		{1_000_000, searchSlow, 1, 1},
	} {
		tc.check(t, func(n *Node, g *group) bool { return n.rng.Float64() < n.odds(g, &inviting) })
	}
}

// Nor do all go to the one that is the nearest to a whole region, which nothing else forbids.
func TestShareOfTheNearest(t *testing.T) {
	for _, tc := range []sharing{
		{shareFrom - 1, 0, 1, 1},
		{shareFrom, 0, 0.12, 0.13},
		{1_000_000, 0, 0.058, 0.067},
		{1_000_000, 4, 0.24, 0.26},
		{1_000_000, searchSlow, 0.48, 0.52},
	} {
		tc.check(t, func(n *Node, g *group) bool { _, ok := n.friend(g); return ok })
	}
}
