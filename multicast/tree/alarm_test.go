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
	all := make([]*alarm, 50)
	for i := range all {
		all[i] = &alarm{}
		as.init(all[i])
	}
	for range 500 {
		at := time.Duration(rng.IntN(20))
		if rng.IntN(4) == 0 {
			at = never
		}
		as.set(all[rng.IntN(len(all))], at)
	}
	want := slices.DeleteFunc(slices.Clone(all), func(a *alarm) bool { return a.at == never })
	slices.SortFunc(want, func(a, b *alarm) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.serial) - int(b.serial)
	})
	for i, w := range want {
		if got := as.due(20); got != w {
			t.Fatalf("alarm %d: got %+v, want %+v", i, got, w)
		}
	}
	if as.due(never-1) != nil {
		t.Fatal("an alarm too many")
	}
}
