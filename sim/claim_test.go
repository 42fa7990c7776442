package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

// Anybody can say that it publishes to a group and take the top of its tree: here
// with an ID to which other publishers yield, to forward nothing from there. It delays
// items, and can keep none back: lazy links and the publisher's own children bring them.
func TestAFalseTopHoldsNothingBack(t *testing.T) {
	const liar, publisher = overlay.ID("n0"), overlay.ID("n7")
	cfg := sim.TreesConfig{Nodes: 100, TTL: time.Minute, Dropper: func(id overlay.ID) bool { return id == liar }}
	cfg.Net.Seed = 5
	w := sim.NewTrees(cfg)
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	settled(t, w, time.Minute)
	w.Publish(g, publisher, 0)
	w.RunFor(2 * time.Minute)
	promise := multicast.Event{Group: g, Stamp: multicast.Stamp{Source: sim.SourceOf(liar), Epoch: 1, Seq: 1}, TTL: time.Minute}
	// Nothing is due of what the liar says, so it is told to no ledger.
	w.Input(liar, tree.Input{Kind: tree.Publish, Group: g, Event: promise})
	onTop := 0
	for range 20 {
		w.RunFor(10 * time.Second)
		if st, _ := w.Node(liar).Status(g); st.Root {
			onTop++
		}
		w.Publish(g, publisher, 0)
	}
	w.RunFor(30 * time.Second)
	if onTop == 0 {
		t.Error("the liar was never the top: nothing was shown")
	}
	whole(t, w, g, 0)
	lags := w.Lags(g)
	slices.Sort(lags)
	if worst := lags[len(lags)-1]; worst > 10*time.Second {
		t.Errorf("an item took %v", worst)
	}
	t.Logf("on top %d of 20 times; lags %v median, %v worst", onTop, lags[len(lags)/2], lags[len(lags)-1])
}
