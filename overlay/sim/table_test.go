package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

var _ overlay.Router = (*sim.Endpoint[note])(nil)

func key(i int) overlay.Key { return overlay.KeyOf(fmt.Appendf(nil, "key %d", i)) }

func rootOf(key overlay.Key, ids []overlay.ID) overlay.ID {
	return slices.MinFunc(ids, func(a, b overlay.ID) int {
		if key.Closer(a.Key(), b.Key()) {
			return -1
		}
		return 1
	})
}

// Routing reaches the node nearest to a key, each hop strictly closer than
// the last, with tables of either kind.
func TestRouting(t *testing.T) {
	for _, joined := range []bool{false, true} {
		ids := names(500)
		w := newWorld(sim.Config[note]{Tables: sim.Tables{Joined: joined}}, plain, ids...)
		wrong, hops := 0, 0
		for i := range 200 {
			at := ids[i]
			for {
				next, ok := w.toys[at].net.NextHop(key(i))
				if !ok {
					break
				}
				if !key(i).Closer(next.Key(), at.Key()) {
					t.Fatalf("hop from %s to %s is not closer to %v", at, next, key(i))
				}
				at, hops = next, hops+1
			}
			if at != rootOf(key(i), ids) {
				wrong++
			}
		}
		if wrong > 2 {
			t.Errorf("joined %v: %d of 200 routes ended at a wrong node", joined, wrong)
		}
		if mean := float64(hops) / 200; mean > 3 {
			t.Errorf("joined %v: %.1f hops in the mean", joined, mean)
		}
	}
}

// A join leaves tables nearly as full as knowing everybody would.
func TestJoinFillsTables(t *testing.T) {
	entries := func(joined bool) (n int) {
		ids := names(500)
		w := newWorld(sim.Config[note]{Tables: sim.Tables{Bucket: 4, Joined: joined}}, plain, ids...)
		for _, id := range ids {
			n += len(w.toys[id].net.Closest(id.Key(), 500))
		}
		return n
	}
	if drawn, joined := entries(false), entries(true); joined < drawn*9/10 || drawn < 500*4*6 {
		t.Errorf("%d entries drawn, %d after joins", drawn, joined)
	}
}

func TestClosestIsSortedAndWithoutSelf(t *testing.T) {
	ids := names(300)
	w := newWorld(sim.Config[note]{}, plain, ids...)
	for i, id := range ids[:50] {
		near := w.toys[id].net.Closest(key(i), 20)
		if len(near) != 20 || slices.Contains(near, id) {
			t.Fatalf("%d peers, self among them: %v", len(near), slices.Contains(near, id))
		}
		if !slices.IsSortedFunc(near, func(a, b overlay.ID) int {
			if key(i).Closer(b.Key(), a.Key()) {
				return 1
			}
			return -1
		}) {
			t.Fatal("not sorted by distance")
		}
	}
}

// What is measured of a peer is the same whether it was just named or not, and whoever asked
// for names meanwhile.
func TestRTTOfThoseJustNamed(t *testing.T) {
	far := func(from, to, _ uint64) time.Duration {
		return time.Duration(1 + (from^to)%1000*uint64(time.Microsecond))
	}
	ids := names(200)
	w := newWorld(sim.Config[note]{Latency: far}, plain, ids...)
	for i, id := range ids[:20] {
		net := w.toys[id].net
		near := slices.Clone(net.Closest(key(i), 30))
		rtts := map[overlay.ID]time.Duration{}
		for _, p := range near { // in turn, as they were named
			rtts[p], _ = net.RTT(p)
		}
		w.toys[ids[i+20]].net.Closest(key(i+20), 30)
		for _, p := range slices.Backward(near) {
			if d, ok := net.RTT(p); !ok || d != rtts[p] {
				t.Fatalf("%s measures %v to %s, and %v when it was just named", id, d, p, rtts[p])
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, joined := range []bool{false, true} {
		ids := names(500)
		w := newWorld(sim.Config[note]{Tables: sim.Tables{Joined: joined}}, plain, ids...)
		wrong := 0
		for i := range 100 {
			asker := ids[i]
			var took time.Duration
			w.Call(asker, func(start time.Duration) {
				w.toys[asker].net.Lookup(key(i), func(now time.Duration, near []overlay.ID, ok bool) {
					took = now - start
					if want := rootOf(key(i), slices.DeleteFunc(slices.Clone(ids), func(id overlay.ID) bool { return id == asker })); !ok || near[0] != want {
						wrong++
					}
				})
			})
			w.Run(w.Now() + 10*time.Second)
			if took < 100*time.Millisecond || took > 2*time.Second {
				t.Fatalf("a lookup took %v", took)
			}
		}
		if wrong > 1 {
			t.Errorf("joined %v: %d of 100 lookups wrong", joined, wrong)
		}
	}
}

func TestLookupFails(t *testing.T) {
	w := newWorld(sim.Config[note]{LookupFailure: 1}, plain, "a", "b")
	alone := newWorld(sim.Config[note]{}, plain, "a")
	for _, w := range []*world{w, alone} {
		called := false
		w.Call("a", func(time.Duration) {
			w.toys["a"].net.Lookup(key(1), func(_ time.Duration, near []overlay.ID, ok bool) { called = !ok && near == nil })
		})
		w.Run(time.Minute)
		if !called {
			t.Error("no failure was reported")
		}
	}
}

// A crashed node stays in Closest until it is evicted; NextHop forgets it when
// the loss is noticed; the restarted node is found again.
func TestStaleEntries(t *testing.T) {
	ids := names(40)
	w := newWorld(sim.Config[note]{Tables: sim.Tables{Bucket: 40}}, plain, ids...)
	dead := ids[7]
	share := func() (listed, routed int) {
		for _, id := range ids {
			if id == dead {
				continue
			}
			if slices.Contains(w.toys[id].net.Closest(dead.Key(), 40), dead) {
				listed++
			}
			if next, ok := w.toys[id].net.NextHop(dead.Key()); ok && next == dead {
				routed++
			}
		}
		return listed, routed
	}
	w.Run(time.Second)
	w.Crash(dead)
	expect := func(after time.Duration, minListed, maxListed, wantRouted int) {
		t.Helper()
		w.Run(time.Second + after)
		if listed, routed := share(); listed < minListed || listed > maxListed || routed != wantRouted {
			t.Errorf("%v after the crash: listed by %d, routed to by %d", after, listed, routed)
		}
	}
	expect(29*time.Second, 39, 39, 39)
	expect(31*time.Second, 39, 39, 0)
	expect(3*time.Minute, 4, 30, 0)
	expect(20*time.Minute, 0, 0, 0)
	w.Restart(dead)
	w.Run(w.Now() + time.Second)
	if listed, routed := share(); listed != 39 || routed != 39 {
		t.Errorf("after the restart: listed by %d, routed to by %d", listed, routed)
	}
}

// After a long partition the halves find each other again.
func TestTablesAfterPartition(t *testing.T) {
	for _, joined := range []bool{false, true} {
		ids := names(100)
		w := newWorld(sim.Config[note]{Tables: sim.Tables{Joined: joined, Bucket: 8}}, plain, ids...)
		w.Run(time.Second)
		w.Partition(ids[:50])
		w.Run(30 * time.Minute)
		for _, id := range ids[:50] {
			for _, p := range w.toys[id].net.Closest(id.Key(), 100) {
				if !slices.Contains(ids[:50], p) {
					t.Fatalf("joined %v: %s still lists %s of the other side", joined, id, p)
				}
			}
		}
		w.Heal()
		w.Run(w.Now() + time.Minute)
		wrong := 0
		for i := range 100 {
			at := ids[i]
			for next, ok := at, true; ok; next, ok = w.toys[at].net.NextHop(key(i)) {
				at = next
			}
			if at != rootOf(key(i), ids) {
				wrong++
			}
		}
		if wrong > 5 {
			t.Errorf("joined %v: %d of 100 routes wrong after healing", joined, wrong)
		}
	}
}

// A peer that comes back before it is given up takes its old place, in buckets
// that are full too.
func TestPeerComesBackIntoAFullBucket(t *testing.T) {
	ids := names(100)
	w := newWorld(sim.Config[note]{Tables: sim.Tables{Bucket: 4, Refresh: 24 * time.Hour}}, plain, ids...)
	back := ids[7]
	knows := func() (holders []overlay.ID) {
		for _, id := range ids {
			if next, ok := w.toys[id].net.NextHop(back.Key()); ok && next == back {
				holders = append(holders, id)
			}
		}
		return holders
	}
	before := knows()
	w.Crash(back)
	w.Run(time.Minute)
	if len(before) < 3 || len(knows()) != 0 {
		t.Fatalf("known to %d, %d a minute after its crash", len(before), len(knows()))
	}
	w.Restart(back)
	for _, id := range before {
		w.send(back, id, 1)
	}
	w.Run(time.Minute + time.Second)
	for _, id := range before {
		if !slices.Contains(knows(), id) {
			t.Errorf("%s has met it again and does not route to it", id)
		}
	}
}

// A lookup asks each node once at the most, those that do not answer too:
// everybody goes on naming them.
func TestLookupAsksTheDeadOnce(t *testing.T) {
	ids := names(20)
	w := newWorld(sim.Config[note]{}, plain, ids...)
	w.Run(time.Second)
	for _, id := range ids[5:] {
		w.Crash(id)
	}
	before, found := w.Counts().Queries, 0
	w.Call(ids[0], func(time.Duration) {
		w.toys[ids[0]].net.Lookup(key(1), func(_ time.Duration, near []overlay.ID, _ bool) { found = len(near) })
	})
	w.Run(w.Now() + 10*time.Millisecond)
	if asked := w.Counts().Queries - before; asked > 19 || asked < 4 {
		t.Errorf("%d queries to 19 nodes", asked)
	}
	w.Run(time.Minute)
	if found != 4 {
		t.Errorf("%d nodes found, 4 live", found)
	}
}
