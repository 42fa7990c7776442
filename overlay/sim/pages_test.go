package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// A node that a whole network connects to has its connections as any other has: messages come
// in order, who closes is noticed once and by nobody else, and who stays is still connected.
func TestAHubOfThousands(t *testing.T) {
	const peers, stay = 12_000, 10
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	ids := names(peers)
	w := newWorld(sim.Config[note]{}, plain, append(slices.Clone(ids), "hub")...)
	w.Run(time.Second)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(peers, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		w.send(id, "hub", 1, 2)
	}
	w.Run(10 * time.Second)
	hub, got := w.toys["hub"], map[overlay.ID][]note{}
	for i, from := range hub.from {
		got[from] = append(got[from], hub.got[i])
	}
	for _, id := range ids {
		if !slices.Equal(got[id], []note{1, 2}) {
			t.Fatalf("the hub got %v from %s", got[id], id)
		}
		w.send("hub", id, 3)
	}
	dials := w.Counts().Dials
	w.Run(20 * time.Second)
	if more := w.Counts().Dials - dials; more > 0 {
		t.Errorf("the hub dialled %d times those that were connected", more)
	}

	for _, id := range ids[stay:] {
		w.Close(id)
	}
	w.Run(time.Minute)
	gone, want := slices.Sorted(slices.Values(hub.gone)), slices.Sorted(slices.Values(ids[stay:]))
	if !slices.Equal(gone, want) {
		t.Errorf("the hub noticed that %d had gone, want each of %d once", len(gone), len(want))
	}
	w.Close("hub")
	w.Run(2 * time.Minute)
	for _, id := range ids[:stay] {
		if toy := w.toys[id]; !slices.Equal(toy.got, []note{3}) || !slices.Equal(toy.gone, []overlay.ID{"hub"}) {
			t.Errorf("%s got %v of the hub and noticed that %v had gone", id, toy.got, toy.gone)
		}
	}
}
