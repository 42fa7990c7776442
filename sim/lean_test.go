package sim_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// A lean world is the same world: what is kept of it changes nothing in it,
// nor in what is missed.
func TestLeanWorldIsTheSame(t *testing.T) {
	type seen struct{ deliveries, sends int }
	run := func(lean bool) (w *sim.Trees, s seen, g multicast.Group) {
		var cfg sim.TreesConfig
		cfg.Nodes, cfg.Net.Seed, cfg.Recent, cfg.Lean, cfg.Tree.Buffer = 40, 5, 8, lean, 4
		cfg.Delivered = func(time.Duration, overlay.ID, multicast.Delivery) { s.deliveries++ }
		cfg.Sent = func(_ time.Duration, from, to overlay.ID, m *tree.Message) {
			if from == to || !m.Type.Known() {
				t.Errorf("%s sends a %v to %s", from, m.Type, to)
			}
			s.sends++
		}
		w = sim.NewTrees(cfg)
		g = w.GroupNamed("news")
		ids := w.IDs()
		w.Join(g, ids...)
		w.RunFor(30 * time.Second)
		w.At(40*time.Second, func() { w.Crash(ids[7]); w.Crash(ids[8]) })
		w.At(60*time.Second, func() { w.SetFaults(oversim.Faults{Loss: 0.1}) })
		w.At(100*time.Second, func() { w.Restart(ids[7]); w.ClearFaults() })
		for range 30 {
			w.Publish(g, ids[3], 0)
			w.RunFor(5 * time.Second)
		}
		w.RunFor(5 * time.Minute) // what nobody has is given up
		w.Publish(g, ids[3], 0)
		w.RunFor(5 * time.Second)
		return w, s, g
	}
	full, saw, g := run(false)
	lean, leanSaw, _ := run(true)
	if full.Hash() != lean.Hash() || saw != leanSaw {
		t.Errorf("hashes %x and %x, seen %+v and %+v", full.Hash(), lean.Hash(), saw, leanSaw)
	}
	kept, counted := 0, 0
	for _, id := range full.IDs() {
		kept += len(full.Record(g, id).Deliveries)
		counted += lean.Record(g, id).Count
		if lean.Record(g, id).Deliveries != nil {
			t.Fatalf("a lean record of %s keeps deliveries", id)
		}
	}
	if kept != saw.deliveries || counted != kept || kept < 1000 {
		t.Errorf("%d deliveries kept, %d counted, %d seen", kept, counted, saw.deliveries)
	}
	if sent := full.Counts().Sent; sent != uint64(saw.sends) {
		t.Errorf("%d messages sent, %d seen", sent, saw.sends)
	}
	if a, b := full.Missed(g, 0), lean.Missed(g, 0); len(a) != len(b) || len(a) == 0 {
		t.Errorf("missed %v, lean %v: want the same, and some", a, b)
	}
	if full.Owed(g, 0) != lean.Owed(g, 0) {
		t.Errorf("owed %d, lean %d", full.Owed(g, 0), lean.Owed(g, 0))
	}
}

// Messages are used again where nobody looks at them: that changes nothing, neither in them
// nor in those that came twice.
func TestMessagesUsedAgainAreTheSame(t *testing.T) {
	run := func(watched bool) *sim.Trees {
		var cfg sim.TreesConfig
		cfg.Nodes, cfg.Net.Seed = 300, 5
		if watched {
			cfg.Net.Trace = func(oversim.Event[*tree.Message]) {}
		}
		w := sim.NewTrees(cfg)
		w.SetFaults(oversim.Faults{Duplicate: 0.2, Reorder: 0.1, By: time.Second})
		g, ids := w.GroupNamed("news"), w.IDs()
		w.Join(g, ids...)
		for range 6 {
			w.RunFor(10 * time.Second)
			w.Publish(g, ids[3], 0)
		}
		return w
	}
	if watched, not := run(true), run(false); watched.Hash() != not.Hash() {
		t.Errorf("hashes %x and %x", watched.Hash(), not.Hash())
	}
}

func TestLeanWorldHasNoLags(t *testing.T) {
	w := sim.NewTrees(sim.TreesConfig{Lean: true})
	g := w.GroupNamed("news")
	for name, f := range map[string]func(){"Lags": func() { w.Lags(g) }, "Doubled": func() { w.Doubled(g) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s answers without knowing", name)
				}
			}()
			f()
		}()
	}
}

// Names that say where a node stands, that lie and that say nothing lead to
// the node all the same.
func TestNamesAreOnlyGuesses(t *testing.T) {
	w := sim.NewTrees(sim.TreesConfig{Nodes: 3})
	for _, id := range []overlay.ID{"n1x", "n007", "n9", "alice", "n", "n3"} {
		w.Add(id)
	}
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	settled(t, w, time.Minute)
	for _, id := range w.IDs() {
		w.Publish(g, id, 0)
		w.RunFor(time.Second)
	}
	w.RunFor(5 * time.Second)
	for _, id := range w.IDs() {
		if got := w.Node(id).Counters().Delivered; got != 8 {
			t.Errorf("%q delivered %d events of 8 others", id, got)
		}
	}
	whole(t, w, g, 0)
	if len(w.Lags(g)) != 9*8 {
		t.Errorf("%d deliveries", len(w.Lags(g)))
	}
}
