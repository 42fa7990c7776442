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
	n, g := searcherAmong(s.size)
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

// searcherAmong is a leaf right below the top of a tree of that size.
func searcherAmong(size uint32) (*Node, *group) {
	n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2))}
	return n, &group{place: place{parent: "a", path: []overlay.ID{"a"}, stands: []Standing{{Weight: size}}}}
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

// Whom all of a region know to have many nodes below it is asked by fewer of them in a large
// tree than the share and the coin each let ask, and not by who has just asked it.
func TestTheHeavyOfALargeTreeAreSpared(t *testing.T) {
	const all, heavy = 20_000, searchMany
	for _, c := range []struct {
		what     string
		size     uint32
		weight   uint32
		asked    bool
		from, to float64
	}{
		{"the coin alone", shareFrom - 1, heavy, false, 0.42, 0.46}, // 7/16
		{"the share alone", 1_000_000, 1, false, 0.115, 0.135},
		{"both", 1_000_000, heavy, false, 0.045, 0.065},
		{"just asked, in a small tree", shareFrom - 1, heavy, true, 0.42, 0.46},
		{"just asked, with few below", 1_000_000, heavy - 1, true, 0.045, 0.07},
		{"just asked", 1_000_000, heavy, true, 0, 0},
	} {
		n, g := searcherAmong(c.size)
		g.tune.near = []nearby{{id: "b", way: 1, exact: true, weight: c.weight}}
		if c.asked {
			g.tune.asked.add(short("b"), 1)
		}
		asked := 0
		for range all {
			if _, ok := n.friend(g); ok {
				asked++
			}
		}
		if part := float64(asked) / all; part < c.from || part > c.to {
			t.Errorf("%s: %.3f ask, want %.3f to %.3f", c.what, part, c.from, c.to)
		}
	}
}

// What is said of somebody by others is no place that could be asked for.
func TestARumourIsNoCandidate(t *testing.T) {
	for _, rumour := range []bool{false, true} {
		n, g := searcherAmong(1_000_000)
		g.tune.s = &search{}
		n.hear(g, candidate{id: "b", stand: Standing{Weight: 2}, depth: 3, rumour: rumour})
		if got := len(g.tune.s.pool) == 0; got != rumour {
			t.Errorf("a rumour: %v; candidates: %+v", rumour, g.tune.s.pool)
		}
	}
}
