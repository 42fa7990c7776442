package tree

import (
	"math/rand/v2"
	"testing"

	"github.com/feedtree/feedtree/overlay"
)

// In a large tree a place that many have heard of, and that nobody's coin forbids, is asked
// for by a part of them; by more the longer they searched in vain. Elsewhere all may ask.
func TestShare(t *testing.T) {
	const asks = 20_000
	inviting := candidate{id: "b", stand: Standing{Weight: 1, Room: 15}, depth: 4}
	for _, tc := range []struct {
		size     uint32
		slow     uint8
		from, to float64
	}{
		{shareFrom - 1, 0, 1, 1},
		{shareFrom, 0, 0.24, 0.26},
		{1_000_000, 0, 0.12, 0.13},
		{1_000_000, 1, 0.12, 0.13},
		{1_000_000, 2, 0.24, 0.26},
		{1_000_000, 6, 1, 1},
		{1_000_000, searchSlow, 1, 1},
	} {
		n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2))}
		g := &group{place: place{parent: "a", path: []overlay.ID{"a"}, stands: []Standing{{Weight: tc.size}}}}
		g.tune.slow = tc.slow
		asked := 0
		for range asks {
			if n.rng.Float64() < n.odds(g, &inviting) {
				asked++
			}
		}
		if part := float64(asked) / asks; part < tc.from || part > tc.to {
			t.Errorf("of %d nodes, after %d searches in vain, %.3f ask; want %.2f to %.2f", tc.size, tc.slow, part, tc.from, tc.to)
		}
	}
}

// Nor do all go to the one that is the nearest to a whole region, which nothing else forbids.
func TestShareOfTheNearest(t *testing.T) {
	const asks = 20_000
	for _, tc := range []struct {
		size     uint32
		slow     uint8
		from, to float64
	}{
		{shareFrom - 1, 0, 1, 1},
		{shareFrom, 0, 0.12, 0.13},
		{1_000_000, 0, 0.058, 0.067},
		{1_000_000, 4, 0.24, 0.26},
		{1_000_000, searchSlow, 0.48, 0.52},
	} {
		n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(3, 4))}
		g := &group{place: place{parent: "a", path: []overlay.ID{"a"}, stands: []Standing{{Weight: tc.size}}}}
		g.tune.slow = tc.slow
		g.tune.near = []nearby{{id: "b", way: 1, exact: true, weight: 1}}
		asked := 0
		for range asks {
			if _, ok := n.friend(g); ok {
				asked++
			}
		}
		if part := float64(asked) / asks; part < tc.from || part > tc.to {
			t.Errorf("of %d nodes, after %d searches in vain, %.3f ask; want %.3f to %.3f", tc.size, tc.slow, part, tc.from, tc.to)
		}
	}
}
