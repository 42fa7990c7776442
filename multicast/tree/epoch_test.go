package tree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

// began is the first event of an epoch that begins behind an event.
func began(g multicast.Group, source multicast.Source, epoch uint64, prev multicast.Tag) multicast.Event {
	return multicast.Event{Group: g, Stamp: multicast.Stamp{Source: source, Epoch: epoch, Seq: 1},
		Tag: multicast.Tag{byte(epoch)}, Prev: prev, Body: []byte("x")}
}

// A program that is killed and started again opens epoch after epoch. Whoever is
// away for some of them gets the events of all, also where the latest comes first.
func TestEventsOfSkippedEpochsAreTaken(t *testing.T) {
	for seed := range uint64(8) {
		w, g := world(12, 40+seed, tree.Config{})
		ids := w.IDs()
		w.Join(g, ids...)
		w.RunFor(20 * time.Second)
		source := sim.SourceOf("publisher")
		var prev multicast.Tag
		say := func(by overlay.ID, epoch uint64) {
			e := began(g, source, epoch, prev)
			prev = e.Tag
			w.Say(by, e)
			w.RunFor(time.Second)
		}
		say(ids[0], 1)
		say(ids[0], 2)
		away := ids[5:7]
		w.Partition(away)
		w.RunFor(5 * time.Second)
		say(ids[1], 3)
		say(ids[2], 4)
		say(ids[3], 5)
		w.Heal()
		say(ids[4], 6) // overtakes what is caught up with
		w.RunFor(30 * time.Second)
		for _, id := range ids {
			got := map[uint64]int{}
			for _, d := range w.Record(g, id).Deliveries {
				got[d.Stamp.Epoch]++
			}
			for epoch := uint64(1); epoch <= 6; epoch++ {
				own := map[uint64]overlay.ID{1: ids[0], 2: ids[0], 3: ids[1], 4: ids[2], 5: ids[3], 6: ids[4]}[epoch] == id
				if got[epoch] != 1 && !own {
					t.Errorf("seed %d: %s got the event of epoch %d %d times", seed, id, epoch, got[epoch])
				}
			}
		}
	}
}

// A source that began an epoch without knowing of its last one names an older event
// before it. Who was away for the one it passes over is not told by that name that
// anything is missing, and gets it all the same.
func TestAnEpochThatIsPassedOverIsTaken(t *testing.T) {
	for seed := range uint64(8) {
		w, g := world(12, 60+seed, tree.Config{})
		ids := w.IDs()
		w.Join(g, ids...)
		w.RunFor(20 * time.Second)
		source := sim.SourceOf("publisher")
		say := func(by overlay.ID, epoch, behind uint64) {
			w.Say(by, began(g, source, epoch, multicast.Tag{byte(behind)}))
			w.RunFor(time.Second)
		}
		say(ids[0], 1, 0)
		say(ids[0], 2, 1)
		away := ids[5:7]
		w.Partition(away)
		w.RunFor(5 * time.Second)
		say(ids[1], 3, 2)
		say(ids[1], 4, 3)
		w.Heal()
		say(ids[4], 5, 2)
		w.RunFor(30 * time.Second)
		for _, id := range away {
			got := map[uint64]int{}
			for _, d := range w.Record(g, id).Deliveries {
				got[d.Stamp.Epoch]++
			}
			for epoch := uint64(1); epoch <= 5; epoch++ {
				if got[epoch] != 1 {
					t.Errorf("seed %d: %s got the event of epoch %d %d times", seed, id, epoch, got[epoch])
				}
			}
		}
	}
}
