package tree_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

var (
	hostileSeeds = flag.Int("hostile.seeds", 40, "how many seeds TestHostileNetwork runs")
	hostileFrom  = flag.Uint64("hostile.from", 1, "the first of them")
)

// Whatever happens to a few dozen nodes (messages lost, doubled and overtaking
// each other, lookups that fail, crashes, shutdowns, restarts, partitions):
// once it stops, there is one sound tree, every member holds every event it is
// owed, and none was delivered twice.
func TestHostileNetwork(t *testing.T) {
	seeds := *hostileSeeds
	if testing.Short() {
		seeds = min(seeds, 8)
	}
	for i := range uint64(seeds) {
		hostile(t, *hostileFrom+i)
	}
}

func hostile(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 99))
	nodes := 30 + int(seed%4)*20
	w := sim.NewTrees(sim.TreesConfig{
		Nodes: nodes,
		Net: oversim.Config[*tree.Message]{Seed: seed, LookupFailure: 0.05,
			Latency: oversim.Uniform(10*time.Millisecond, 150*time.Millisecond)},
		Tree:   tree.Config{Buffer: 256},
		Recent: 256,
		TTL:    time.Duration(seed%3) * 15 * time.Second, // with one, sources claim the top
	})
	g := w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	ids := w.IDs()
	w.Join(g, ids...)
	w.RunFor(20 * time.Second)
	sources := ids[:3]
	w.SetFaults(oversim.Faults{Loss: 0.03, Duplicate: 0.03, Reorder: 0.1, By: 300 * time.Millisecond})
	for range 40 {
		disturb(w, rng, ids)
		for range 2 {
			if id := sources[rng.IntN(len(sources))]; w.Alive(id) {
				w.Publish(g, id, 0)
			}
			w.RunFor(time.Duration(rng.IntN(3000)) * time.Millisecond)
		}
	}
	w.Heal()
	w.ClearFaults()
	for _, id := range ids {
		if !w.Alive(id) {
			w.Restart(id)
		}
	}
	w.RunFor(30 * time.Second)
	if faults := w.Settle(120 * time.Second); len(faults) > 0 {
		t.Errorf("seed %d, %d nodes: %d faults, first: %s", seed, nodes, len(faults), faults[0])
	}
	for _, id := range sources {
		w.Publish(g, id, 0)
	}
	w.RunFor(60 * time.Second)
	if holes := w.Missed(g, 0); len(holes) > 0 {
		t.Errorf("seed %d, %d nodes: %d of %d missed, first: %v", seed, nodes, len(holes), w.Owed(g, 0), holes[0])
	}
	if doubled := w.Doubled(g); len(doubled) > 0 {
		t.Errorf("seed %d, %d nodes: %d doubled, first: %v", seed, nodes, len(doubled), doubled[0])
	}
}

// disturb does one thing to the world, or none.
func disturb(w *sim.Trees, rng *rand.Rand, ids []overlay.ID) {
	victim := ids[3+rng.IntN(len(ids)-3)]
	switch rng.IntN(6) {
	case 0:
		if w.Alive(victim) {
			w.Crash(victim)
		}
	case 1:
		if w.Alive(victim) {
			w.Shut(victim)
		}
	case 2, 3:
		if i := slices.IndexFunc(ids, func(id overlay.ID) bool { return !w.Alive(id) }); i >= 0 {
			w.Restart(ids[i])
		}
	case 4:
		half := slices.Clone(ids)
		rng.Shuffle(len(half), func(i, j int) { half[i], half[j] = half[j], half[i] })
		w.Partition(half[:len(half)/2])
	case 5:
		w.Heal()
	}
}

// The same seed gives the same run, over every event's time, from, to, type
// and bytes; another seed gives another.
func TestSameSeedSameTrace(t *testing.T) {
	run := func(seed uint64) uint64 {
		w := sim.NewTrees(sim.TreesConfig{Nodes: 60, TTL: 10 * time.Second,
			Net: oversim.Config[*tree.Message]{Seed: seed, Latency: oversim.Uniform(10*time.Millisecond, 90*time.Millisecond)}})
		groups := []multicast.Group{w.GroupNamed("a"), w.GroupNamed("b")}
		for i, g := range groups {
			w.Join(g, w.IDs()[i*20:]...)
		}
		w.RunFor(10 * time.Second)
		w.Crash(w.Roots(groups[0])[0])
		for range 5 {
			for _, g := range groups {
				w.Publish(g, w.Live()[45], 0)
			}
			w.RunFor(3 * time.Second)
		}
		return w.Hash()
	}
	first := run(7)
	for range 3 {
		if again := run(7); again != first {
			t.Fatalf("same seed, another trace: %x, then %x", first, again)
		}
	}
	if run(8) == first {
		t.Fatal("another seed, the same trace")
	}
}

// The parent of a publisher that joined moments ago dies without a word, and
// the transport does not tell: the next item is everywhere within two seconds
// all the same, over lazy links.
func TestNewcomersParentDies(t *testing.T) {
	for seed := range uint64(12) {
		w, g := world(21, seed, tree.Config{})
		ids := w.IDs()
		author := ids[20]
		w.Join(g, ids[:20]...)
		w.RunFor(2 * time.Second)
		w.Join(g, author)
		w.RunFor(1700 * time.Millisecond)
		st, _ := w.Node(author).Status(g)
		if st.Parent == "" {
			continue // it is the root
		}
		w.Crash(st.Parent)
		w.Publish(g, author, 0)
		w.RunFor(2 * time.Second)
		for _, h := range w.Missed(g, 0) {
			t.Errorf("seed %d, %d lazy links: %v", seed, len(st.Lazy), h)
		}
	}
}
