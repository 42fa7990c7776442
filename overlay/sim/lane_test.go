package sim_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// asker is a toy that looks something up now and then, and writes to somebody whom
// it hardly knows.
type asker struct {
	*toy
	ids   []overlay.ID
	found int
}

func (h *asker) Tick(now time.Duration) {
	h.toy.Tick(now)
	h.next -= h.every / 2
	switch h.ticks % 4 {
	case 1:
		h.net.Lookup(key(int(h.net.Rand().Uint32())), func(_ time.Duration, near []overlay.ID, _ bool) {
			h.found += len(near)
			h.net.Send(near[0], 5)
		})
	case 2:
		if p := h.ids[h.net.Rand().IntN(len(h.ids))]; p != h.net.Self() {
			h.net.Send(p, 6)
		}
	case 3:
		h.net.Send("nobody ever seen", 7)
	}
}

// bustle is a run with everything that one processor does not have to itself in it:
// messages between all, faults, lookups, strangers, deaths at the end.
func bustle(seed uint64, lanes sim.Lanes, cut time.Duration) (*sim.Net[note], int) {
	ids := names(100)
	net := sim.New(sim.Config[note]{
		Seed: seed, Latency: sim.Uniform(8*time.Millisecond, 90*time.Millisecond), Lanes: lanes,
		Tables:  sim.Tables{Bucket: 4, Joined: true, Refresh: 5 * time.Second},
		Measure: func(m note) (uint8, int) { return uint8(m % 7), 8 },
	})
	askers := make([]*asker, len(ids))
	for i, id := range ids {
		net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
			askers[i] = &asker{toy: newToy(ep), ids: ids}
			talking(askers[i].toy)
			return askers[i]
		})
		net.CallAt(time.Duration(i)*20*time.Millisecond, id, func(time.Duration) { askers[i].flood(1) })
	}
	net.SetFaults(sim.Faults{Loss: 0.02, Duplicate: 0.02, Reorder: 0.05, By: time.Second})
	net.At(2*time.Second, func() { net.SetSlow(ids[7], 200*time.Millisecond); net.ClearFaults() })
	net.At(3500*time.Millisecond, func() { net.Crash(ids[3]) })
	for at := cut; at < 4*time.Second; at += cut {
		net.Run(at)
	}
	net.Run(4 * time.Second)
	found := 0
	for _, a := range askers {
		found += a.found
	}
	return net, found
}

func atOnceAll(n int, f func(int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { f(k) })
	}
	all.Wait()
}

// On how many processors a network runs changes nothing in the run, nor into how many
// calls it is cut.
func TestLanesChangeNothing(t *testing.T) {
	const whole = time.Hour
	want, found := bustle(1, sim.Lanes{}, whole)
	if c := want.Counts(); c.Lost == 0 || c.Duplicated == 0 || c.Lookups < 50 || c.Dials < 100 || c.Received < 10_000 || found == 0 {
		t.Fatalf("too little happened to prove anything: %+v, %d found", c, found)
	}
	if other, _ := bustle(2, sim.Lanes{}, whole); other.Hash() == want.Hash() {
		t.Error("another seed, the same hash")
	}
	for _, tc := range []struct {
		lanes int
		cut   time.Duration
		do    func(int, func(int))
	}{
		{1, 70 * time.Millisecond, nil}, {2, whole, nil}, {3, 33 * time.Millisecond, nil}, {2, whole, atOnceAll}, {7, 700 * time.Microsecond, atOnceAll},
	} {
		lanes := sim.Lanes{Count: tc.lanes, Of: func(place uint64) int { return int(place % uint64(tc.lanes)) }, Apart: 8 * time.Millisecond, Do: tc.do}
		got, hits := bustle(1, lanes, tc.cut)
		if got.Hash() != want.Hash() || got.Counts() != want.Counts() || hits != found {
			t.Errorf("%d lanes, calls of %v: %x, %+v, %d found; one lane: %x, %+v, %d", tc.lanes, tc.cut, got.Hash(), got.Counts(), hits, want.Hash(), want.Counts(), found)
		}
	}
}

// What is said of the distance between lanes holds, and no lane has too much.
func TestLanesAreApart(t *testing.T) {
	table := sim.SmallMatrix()
	for name, model := range map[string]struct {
		lanes   sim.Lanes
		latency sim.Latency
		least   time.Duration
		places  int // so many that two of the nearest are among them
	}{
		"matrix":       {sim.MatrixLanes(table, 2), sim.Matrix(table, 5*time.Millisecond), 2 * time.Millisecond, 600},
		"matrix of 4":  {sim.MatrixLanes(table, 4), sim.Matrix(table, 5*time.Millisecond), time.Millisecond, 600},
		"transit-stub": {sim.NewTransitStub(1).Lanes(2), sim.NewTransitStub(1).Latency(), 2 * time.Millisecond, 3000},
	} {
		l := model.lanes
		if l.Count < 2 || l.Apart < model.least {
			t.Errorf("%s: %d lanes %v apart", name, l.Count, l.Apart)
			continue
		}
		count := make([]int, l.Count)
		places, lane := make([]uint64, model.places), make([]int, model.places)
		for i := range places {
			places[i] = uint64(i) * 0x9e3779b97f4a7c15
			lane[i] = l.Of(places[i])
			count[lane[i]]++
		}
		if most := slices.Max(count); most*l.Count > len(places)*3/2 {
			t.Errorf("%s: %v of %d places", name, count, len(places))
		}
		for i, a := range places {
			for j, b := range places {
				if lane[i] == lane[j] {
					continue
				}
				if d := model.latency(a, b, 0); d < l.Apart {
					t.Fatalf("%s: %v from lane %d to lane %d, which are %v apart", name, d, lane[i], lane[j], l.Apart)
				}
			}
		}
	}
	if l := sim.MatrixLanes([][]time.Duration{{0}}, 2); l.Count > 1 {
		t.Errorf("one row in %d lanes", l.Count)
	}
}
