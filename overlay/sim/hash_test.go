package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// story is a run with everything in it.
func story(seed uint64, joined bool, ids []overlay.ID, run func(*world, time.Duration)) *world {
	w := newWorld(sim.Config[note]{
		Seed: seed, Latency: sim.Plane(5*time.Millisecond, 80*time.Millisecond),
		Tables: sim.Tables{Bucket: 4, Joined: joined, Refresh: 5 * time.Second}, Detect: 3 * time.Second,
	}, talking, ids...)
	sorted := slices.Sorted(slices.Values(ids))
	w.SetFaults(sim.Faults{Loss: 0.02, Duplicate: 0.02, Reorder: 0.05, By: time.Second})
	w.At(4*time.Second, func() { w.Crash(sorted[3]); w.Close(sorted[4]) })
	w.At(8*time.Second, func() { w.Partition(sorted[:len(sorted)/2]) })
	w.At(9*time.Second, func() { w.Restart(sorted[3]); w.SetSlow(sorted[7], 200*time.Millisecond) })
	w.At(15*time.Second, w.Heal)
	w.At(20*time.Second, w.ClearFaults)
	run(w, 30*time.Second)
	return w
}

func atOnce(w *world, until time.Duration) { w.Run(until) }

func TestSameSeedSameHash(t *testing.T) {
	for _, joined := range []bool{false, true} {
		a := story(1, joined, names(60), atOnce)
		b := story(1, joined, names(60), atOnce)
		if a.Hash() != b.Hash() || a.Counts() != b.Counts() {
			t.Errorf("joined %v: same seed, %x and %x", joined, a.Hash(), b.Hash())
		}
		if c := story(2, joined, names(60), atOnce); a.Hash() == c.Hash() {
			t.Errorf("joined %v: seeds 1 and 2 give the same hash %x", joined, a.Hash())
		}
		if c := a.Counts(); c.Lost == 0 || c.Duplicated == 0 || c.Received < 1000 {
			t.Errorf("joined %v: too little happened to prove anything: %+v", joined, c)
		}
	}
}

// The order in which a world is put together is not part of the world.
func TestHashIgnoresInsertionOrder(t *testing.T) {
	for _, joined := range []bool{false, true} {
		ids := names(60)
		a := story(1, joined, ids, atOnce)
		slices.Reverse(ids)
		b := story(1, joined, ids, atOnce)
		if a.Hash() != b.Hash() || a.Counts() != b.Counts() {
			t.Errorf("joined %v: reversed insertion changed the run: %+v, %+v", joined, a.Counts(), b.Counts())
		}
	}
}

func TestHashIgnoresHowTheRunIsCut(t *testing.T) {
	want := story(1, false, names(60), atOnce).Hash()
	pieces := story(1, false, names(60), func(w *world, until time.Duration) {
		for at := time.Duration(0); at < until; at += 70 * time.Millisecond {
			w.Run(at)
		}
		w.Run(until)
	})
	steps := story(1, false, names(60), func(w *world, until time.Duration) {
		count := 0
		w.RunUntil(func() bool { count++; return w.Now() > 10*time.Second }, until)
		for w.Now() < 11*time.Second && w.Step() {
		}
		w.Run(until)
	})
	if pieces.Hash() != want || steps.Hash() != want {
		t.Errorf("whole run %x, in pieces %x, step by step %x", want, pieces.Hash(), steps.Hash())
	}
}

// Every event that the hash covers is shown to the trace, and each of its
// fields counts.
func TestHashCoversEvents(t *testing.T) {
	run := func(size int, m note) (hash uint64, events []sim.Event[note]) {
		w := newWorld(sim.Config[note]{
			Measure: func(m note) (uint8, int) { return uint8(m), size },
			Trace:   func(e sim.Event[note]) { events = append(events, e) },
		}, plain, "a", "b")
		w.send("a", "b", m)
		w.Run(time.Second)
		if got := w.Counts().Events; got != uint64(len(events)) {
			t.Errorf("%d events in the hash, %d in the trace", got, len(events))
		}
		return w.Hash(), events
	}
	base, events := run(10, 1)
	bytes, _ := run(11, 1)
	kind, _ := run(10, 2)
	if base == bytes || base == kind {
		t.Error("the hash does not cover size and kind")
	}
	i := slices.IndexFunc(events, func(e sim.Event[note]) bool { return e.What == sim.Received })
	if i < 0 || events[i].String() != "50ms received a>b kind 1, 10 bytes" || events[i].Msg != 1 {
		t.Errorf("trace: %v", events)
	}
}
