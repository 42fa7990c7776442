package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

func world(seed uint64, nodes int, latency oversim.Latency) (*sim.Trees, multicast.Group) {
	var cfg sim.TreesConfig
	cfg.Nodes, cfg.Net.Seed, cfg.Net.Latency = nodes, seed, latency
	w := sim.NewTrees(cfg)
	return w, w.GroupNamed("news")
}

func whole(t *testing.T, w *sim.Trees, g multicast.Group, grace time.Duration) {
	t.Helper()
	for i, h := range w.Missed(g, grace) {
		if i == 10 {
			t.Errorf("… %d missed in all of %d", len(w.Missed(g, grace)), w.Owed(g, grace))
			break
		}
		t.Errorf("missed: %v", h)
	}
	for _, h := range w.Doubled(g) {
		t.Errorf("doubled: %v", h)
	}
}

func settled(t *testing.T, w *sim.Trees, within time.Duration) {
	t.Helper()
	if faults := w.Settle(within); len(faults) > 0 {
		t.Errorf("%d faults after %v, the first: %s", len(faults), w.Now(), faults[0])
	}
}

func TestEveryMemberGetsEveryItemOnce(t *testing.T) {
	for _, nodes := range []int{1, 2, 10, 200} {
		w, g := world(1, nodes, oversim.Uniform(10*time.Millisecond, 80*time.Millisecond))
		w.Join(g, w.IDs()...)
		settled(t, w, time.Minute)
		for i := range 10 {
			w.Publish(g, w.IDs()[i%nodes], 0)
			w.RunFor(time.Second)
		}
		w.RunFor(10 * time.Second)
		whole(t, w, g, 0)
		if got := len(w.Lags(g)); got != 10*(nodes-1) || w.Owed(g, 0) != got {
			t.Errorf("%d nodes: %d deliveries, %d owed", nodes, got, w.Owed(g, 0))
		}
		if roots := w.Roots(g); len(roots) != 1 || roots[0] != w.Nearest(g, roots[0]) {
			t.Errorf("%d nodes: roots %v, nearest to the key is %s", nodes, roots, w.Nearest(g, "n0"))
		}
	}
}

// A world in which everything happens runs the same again, message by message.
func TestSameSeedSameWorld(t *testing.T) {
	run := func(seed uint64) *sim.Trees {
		w, g := world(seed, 60, oversim.Plane(5*time.Millisecond, 80*time.Millisecond))
		ids := w.IDs()
		other := w.GroupNamed("weather")
		w.Join(g, ids[:50]...)
		w.Join(other, ids[20:]...)
		w.SetFaults(oversim.Faults{Loss: 0.02, Duplicate: 0.02})
		w.At(10*time.Second, func() { w.Crash(ids[3]); w.Shut(ids[30]) })
		w.At(50*time.Second, func() { w.Restart(ids[3]); w.Partition(ids[:25]) })
		w.At(100*time.Second, w.Heal)
		for i := range 50 {
			w.Publish(g, ids[40], 0)
			w.Publish(other, ids[41+i%5], 2)
			w.RunFor(3 * time.Second)
		}
		return w
	}
	a, b, c := run(7), run(7), run(8)
	if a.Hash() != b.Hash() || a.Dump() != b.Dump() || !slices.Equal(a.Messages(), b.Messages()) {
		t.Errorf("same seed, hashes %x and %x", a.Hash(), b.Hash())
	}
	if a.Hash() == c.Hash() {
		t.Error("another seed, same run")
	}
}

// A member that crashed and comes back gets what it missed, from its cursor on,
// and nothing twice.
func TestRestartCatchesUp(t *testing.T) {
	var cfg sim.TreesConfig
	cfg.Nodes, cfg.Net.Seed, cfg.Recent = 30, 3, 1
	w := sim.NewTrees(cfg)
	g, ids := w.GroupNamed("news"), w.IDs()
	w.Join(g, ids...)
	settled(t, w, time.Minute)
	w.Publish(g, ids[0], 0)
	w.RunFor(5 * time.Second)
	w.Crash(ids[9])
	if w.Node(ids[9]) != nil {
		t.Error("a crashed node still has a protocol")
	}
	for range 5 {
		w.Publish(g, ids[0], 0)
		w.RunFor(5 * time.Second)
	}
	w.Restart(ids[9])
	w.RunFor(30 * time.Second)
	w.Publish(g, ids[0], 0)
	w.RunFor(5 * time.Second)
	whole(t, w, g, 0)
	r := w.Record(g, ids[9])
	if r.Joins != 2 || len(r.Deliveries) != 7 {
		t.Errorf("%d joins, %d deliveries, want 2 and 7: the first and six later ones", r.Joins, len(r.Deliveries))
	}
}

func TestDeliveriesAndTrafficAreRecorded(t *testing.T) {
	w, g := world(1, 5, oversim.Constant(50*time.Millisecond))
	w.Join(g, w.IDs()...)
	settled(t, w, time.Minute)
	at := w.Now()
	stamp := w.Publish(g, "n2", 0)
	w.RunFor(5 * time.Second)
	if p := w.Published(g); len(p) != 1 || p[0] != (sim.Published{Stamp: stamp, By: "n2", At: at}) {
		t.Errorf("published %+v", p)
	}
	for _, id := range slices.DeleteFunc(w.IDs(), func(id overlay.ID) bool { return id == "n2" }) {
		d := w.Record(g, id).Deliveries
		if len(d) != 1 || d[0].Stamp != stamp || d[0].At < at || d[0].At > at+time.Second || d[0].Join != 1 {
			t.Errorf("%s: %+v", id, d)
		}
	}
	i := slices.IndexFunc(w.Messages(), func(c sim.Traffic) bool { return c.Type == tree.Data })
	if i < 0 || w.Messages()[i].Messages < 4 || w.Messages()[i].Bytes < 4*4096 {
		t.Errorf("messages %+v", w.Messages())
	}
	if w.Notices(tree.Attached) < 5 {
		t.Errorf("%d nodes said that they are attached", w.Notices(tree.Attached))
	}
}

// A member that was away for longer than anybody's buffer lasts is told what
// it has to get elsewhere.
func TestToldWhatNobodyHas(t *testing.T) {
	var cfg sim.TreesConfig
	cfg.Nodes, cfg.Tree.Buffer = 10, 5
	w := sim.NewTrees(cfg)
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	settled(t, w, time.Minute)
	w.Publish(g, "n0", 0)
	w.RunFor(5 * time.Second)
	w.Crash("n3")
	for range 10 {
		w.Publish(g, "n0", 0)
		w.RunFor(5 * time.Second)
	}
	w.Restart("n3")
	w.RunFor(time.Minute)
	holes := w.Missed(g, 0)
	if len(holes) != 5 {
		t.Errorf("five of ten events are out of every buffer, %d missed", len(holes))
	}
	for _, h := range holes {
		if h.Member != "n3" || !h.Told {
			t.Errorf("missed in silence: %v", h)
		}
	}
}

// What a member is owed: events of its membership, if it is alive, after the
// grace.
func TestMissedAndOwed(t *testing.T) {
	w, g := world(1, 4, nil)
	w.Join(g, "n0", "n1", "n2")
	settled(t, w, time.Minute)
	w.SetFaults(oversim.Faults{Loss: 1})
	w.Publish(g, "n0", 0)
	w.Join(g, "n3")
	w.Crash("n2")
	if h := w.Missed(g, 0); len(h) != 1 || h[0].Member != "n1" || h[0].By != "n0" || h[0].Stamp.Seq != 1 {
		t.Errorf("n1 alone misses the event, not %v", h)
	}
	if got := w.Owed(g, 0); got != 1 {
		t.Errorf("owed %d, want one: n1's", got)
	}
	if h := w.Missed(g, time.Second); h != nil {
		t.Errorf("within the grace nothing is missed, not %v", h)
	}
}

func Example() {
	var cfg sim.TreesConfig
	cfg.Nodes = 3
	w := sim.NewTrees(cfg)
	news := w.GroupNamed("news")
	w.Join(news, w.IDs()...)
	if faults := w.Settle(time.Minute); len(faults) > 0 {
		fmt.Println(faults)
	}
	w.Publish(news, "n1", 0)
	w.RunFor(time.Second)
	fmt.Println(w.Owed(news, 0), "owed,", len(w.Missed(news, 0)), "missed,", len(w.Doubled(news)), "doubled")
	fmt.Print(w.Dump())
	// Output:
	// 2 owed, 0 missed, 0 doubled
	// news
	//   n1 root
	//     n0
	//     n2
}
