package tree

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

func stampAt(epoch, seq uint64) multicast.Stamp {
	return multicast.Stamp{Source: multicast.Source{1}, Epoch: epoch, Seq: seq}
}

func TestAlarmsRingInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var as alarms
	type owner struct {
		group *group
		alarm alarm
		at    time.Duration
	}
	all := make([]*owner, 50)
	begin := func(i int) {
		g := &group{}
		all[i] = &owner{g, as.add(sleeper{group: g}), never}
	}
	for i := range all {
		begin(i)
	}
	for range 2000 {
		i := rng.IntN(len(all))
		at := time.Duration(rng.IntN(20))
		switch rng.IntN(8) {
		case 0:
			at = never
		case 1:
			as.drop(all[i].alarm)
			begin(i)
		}
		all[i].at = at
		as.set(all[i].alarm, at)
	}
	want := slices.DeleteFunc(slices.Clone(all), func(a *owner) bool { return a.at == never })
	slices.SortFunc(want, func(a, b *owner) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(as.slots[a.alarm].serial) - int(as.slots[b.alarm].serial)
	})
	for i, w := range want {
		if got, ok := as.due(20); !ok || got.group != w.group {
			t.Fatalf("alarm %d: got %+v, want that of %v, %d", i, got, w.at, as.slots[w.alarm].serial)
		}
	}
	if _, ok := as.due(never - 1); ok {
		t.Fatal("an alarm too many")
	}
	if len(as.slots) != len(all) {
		t.Errorf("%d slots for %d alarms", len(as.slots), len(all))
	}
}
