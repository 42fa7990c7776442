package sim_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// Every fifth node drops: no event leaves it and no head, and yet it answers.
// Lazy links bring everybody else all items.
func TestDroppers(t *testing.T) {
	drops := func(id overlay.ID) bool { return id != "n0" && id[len(id)-1]%5 == 0 }
	var cfg sim.TreesConfig
	cfg.Nodes, cfg.Net.Seed, cfg.Dropper = 100, 2, drops
	sent := map[tree.Type]int{}
	cfg.Sent = func(_ time.Duration, from, _ overlay.ID, m *tree.Message) {
		if !drops(from) {
			return
		}
		sent[m.Type]++
		told := len(m.Heads)
		for _, e := range m.Entries {
			told += len(e.Heads)
		}
		if m.Event != nil || told > 0 {
			t.Errorf("%s sends a %v with news", from, m.Type)
		}
	}
	w := sim.NewTrees(cfg)
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	settled(t, w, time.Minute)
	for range 5 {
		w.Publish(g, "n1", 0)
		w.RunFor(10 * time.Second)
	}
	w.RunFor(20 * time.Second)
	whole(t, w, g, 0)
	if sent[tree.Ack] == 0 || sent[tree.Pong] == 0 {
		t.Errorf("droppers are to acknowledge and keep alive, they sent %v", sent)
	}
	late := 0
	for _, lag := range w.Lags(g) {
		if lag > 400*time.Millisecond {
			late++
		}
	}
	if late == 0 {
		t.Error("nobody noticed the droppers: do they drop?")
	}
}

// Nodes that cannot be dialled get everything and are never a root.
func TestUnreachable(t *testing.T) {
	hidden := func(id overlay.ID) bool { return id[len(id)-1]%2 == 0 }
	var cfg sim.TreesConfig
	cfg.Nodes, cfg.Net.Seed, cfg.Unreachable = 60, 3, hidden
	w := sim.NewTrees(cfg)
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	settled(t, w, 2*time.Minute)
	for i := range 6 {
		w.Publish(g, w.IDs()[i], 0)
		w.RunFor(5 * time.Second)
	}
	w.RunFor(20 * time.Second)
	whole(t, w, g, 0)
	for _, id := range w.IDs() {
		if st, ok := w.Node(id).Status(g); !ok || hidden(id) && (st.Root || st.Meets) {
			t.Errorf("%s, which nobody can dial, is root", id)
		}
	}
	if r := w.Roots(g); len(r) != 1 || r[0] != w.Nearest(g, "n0") {
		t.Errorf("roots %v, nearest of those that can be dialled %s", r, w.Nearest(g, "n0"))
	}
}

// A tenth of the time away: ten elevenths of the nodes are up in the mean, and
// as many sessions end as their median says.
func TestChurn(t *testing.T) {
	run := func(c sim.Churn) (*sim.Trees, int) {
		deaths := 0
		var cfg sim.TreesConfig
		cfg.Nodes, cfg.Net.Seed, cfg.Lean = 200, 4, true
		cfg.Net.Trace = func(e oversim.Event[*tree.Message]) {
			if e.What == oversim.Crashed || e.What == oversim.Closed {
				deaths++
			}
		}
		w := sim.NewTrees(cfg)
		g := w.GroupNamed("news")
		w.Join(g, w.IDs()...)
		w.RunFor(10 * time.Second)
		stop := w.Churn(c, w.IDs()...)
		w.RunFor(10 * time.Minute)
		members := 0
		for _, id := range w.Live() {
			if w.Record(g, id).Member {
				members++
			}
		}
		if live := len(w.Live()); members != live || live < 165 || live > 195 {
			t.Errorf("%+v: %d live, %d of them members", c, live, members)
		}
		stop()
		return w, deaths
	}
	c := sim.Churn{Session: 5 * time.Minute, Silent: 0.3, Hangup: 0.3, Seed: 1}
	a, deaths := run(c)
	// Rate per node: ln 2 / median, for the part of the time it is up.
	want := 200 * 10 / 5 * math.Ln2 / 1.1
	if d := float64(deaths); d < want*0.8 || d > want*1.2 {
		t.Errorf("%d deaths, want about %.0f", deaths, want)
	}
	if b, _ := run(c); a.Hash() != b.Hash() {
		t.Error("the same churn runs otherwise")
	}
	c.Replace = true
	b, _ := run(c)
	if len(a.IDs()) != 200 || len(b.IDs()) < 250 {
		t.Errorf("%d nodes where they come back, %d where others replace them", len(a.IDs()), len(b.IDs()))
	}
	b.RunFor(5 * time.Minute)
	if live := len(b.Live()); live != 200 {
		t.Errorf("the churn is over and %d of 200 are up", live)
	}
}

func TestKillPart(t *testing.T) {
	w, g := world(1, 100, nil)
	w.Join(g, w.IDs()...)
	w.RunFor(10 * time.Second)
	dead := w.KillPart(sim.Hangup, 0.7, 9, "n1", "n2")
	if len(dead) != 69 || len(w.Live()) != 31 || slices.Contains(dead, "n1") || slices.Contains(dead, "n2") {
		t.Errorf("0.7 of 98 are 69; dead %d, live %d", len(dead), len(w.Live()))
	}
	w.Kill(sim.Silent, w.Live()...)
	if len(w.Live()) != 0 {
		t.Error("somebody survives")
	}
}
