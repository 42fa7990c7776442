package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

func sequence(n int) []note {
	s := make([]note, n)
	for i := range s {
		s[i] = note(i)
	}
	return s
}

func TestFIFO(t *testing.T) {
	w := newWorld(sim.Config[note]{Latency: sim.Uniform(time.Millisecond, time.Second)}, plain, "a", "b")
	w.send("a", "b", sequence(200)...)
	w.Run(10 * time.Second)
	if got := w.toys["b"].got; !slices.Equal(got, sequence(200)) {
		t.Errorf("received out of order: %v", got)
	}
}

func TestReorder(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b")
	w.SetFaults(sim.Faults{Reorder: 0.5, By: time.Second})
	w.send("a", "b", sequence(200)...)
	w.Run(10 * time.Second)
	got := w.toys["b"].got
	if len(got) != 200 || slices.IsSorted(got) {
		t.Errorf("%d of 200 received, in order: %v", len(got), slices.IsSorted(got))
	}
}

func TestLoss(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b", "c")
	w.SetLinkFaults("a", "b", sim.Faults{Loss: 0.5})
	w.At(5*time.Second, w.ClearFaults)
	w.send("a", "b", sequence(1000)...)
	w.send("a", "c", sequence(1000)...)
	w.Run(5 * time.Second)
	if got := len(w.toys["b"].got); got < 400 || got > 600 {
		t.Errorf("half of 1000 to be lost, %d arrived", got)
	}
	if got := len(w.toys["c"].got); got != 1000 {
		t.Errorf("the other link lost too: %d of 1000", got)
	}
	before := len(w.toys["b"].got)
	w.send("a", "b", sequence(100)...)
	w.Run(10 * time.Second)
	if got := len(w.toys["b"].got) - before; got != 100 {
		t.Errorf("faults are off, %d of 100 arrived", got)
	}
	if w.toys["a"].gone != nil {
		t.Error("loss alone was reported as a lost connection")
	}
}

func TestDuplicate(t *testing.T) {
	clones := 0
	w := newWorld(sim.Config[note]{Clone: func(m note) note { clones++; return m }}, plain, "a", "b")
	w.SetFaults(sim.Faults{Duplicate: 0.3})
	w.send("a", "b", sequence(1000)...)
	w.Run(5 * time.Second)
	got := w.toys["b"].got
	if extra := len(got) - 1000; extra < 200 || extra > 400 || extra != clones {
		t.Errorf("%d extra copies, %d clones, want some 300", extra, clones)
	}
	if !slices.IsSorted(got) {
		t.Error("duplication reordered messages")
	}
}

func TestSlow(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b")
	w.SetSlow("b", 400*time.Millisecond)
	w.send("a", "b", 1)
	w.Run(time.Second)
	if got := w.toys["b"].at; len(got) != 1 || got[0] != 450*time.Millisecond {
		t.Errorf("arrived at %v, want 450ms", got)
	}
	if rtt, ok := w.toys["a"].net.RTT("b"); !ok || rtt != 900*time.Millisecond {
		t.Errorf("RTT %v, %v", rtt, ok)
	}
}

// A silent death is noticed after Detect, a clean one as soon as word of it
// arrives; either is told once.
func TestCrashAndClose(t *testing.T) {
	for _, tc := range []struct {
		how  func(*world)
		want time.Duration
	}{
		{func(w *world) { w.Crash("b") }, 31 * time.Second},
		{func(w *world) { w.Close("b") }, time.Second + 50*time.Millisecond},
	} {
		w := newWorld(sim.Config[note]{}, plain, "a", "b", "c")
		w.send("a", "b", 1)
		w.Run(time.Second)
		tc.how(w)
		w.send("a", "b", 2, 3)
		w.Run(2 * time.Minute)
		a := w.toys["a"]
		if !slices.Equal(a.gone, []overlay.ID{"b"}) || a.goneAt[0] != tc.want {
			t.Errorf("gone %v at %v, want b once at %v", a.gone, a.goneAt, tc.want)
		}
		if w.toys["c"].gone != nil {
			t.Error("c never talked to b and was told")
		}
		if w.toys["c"].routes < 2 {
			t.Error("c's table changed and c was not told")
		}
	}
}

func TestDialFails(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b")
	w.Crash("b")
	w.Run(time.Minute)
	w.send("a", "b", 1, 2)
	w.send("a", "nobody ever seen", 1)
	w.Run(2 * time.Minute)
	a := w.toys["a"]
	slices.Sort(a.gone)
	if !slices.Equal(a.gone, []overlay.ID{"b", "nobody ever seen"}) || a.goneAt[0] != 65*time.Second {
		t.Errorf("gone %v at %v", a.gone, a.goneAt)
	}
	w.Restart("b")
	w.send("a", "b", 3)
	w.Run(3 * time.Minute)
	if got := w.toys["b"].got; !slices.Equal(got, []note{3}) {
		t.Errorf("b is back and got %v", got)
	}
}

func TestDialTakesARoundTrip(t *testing.T) {
	ids := names(200)
	w := newWorld(sim.Config[note]{Tables: sim.Tables{Bucket: 1}}, plain, ids...)
	first := ids[0]
	near := w.toys[first].net.Closest(first.Key(), 200)
	far := ids[slices.IndexFunc(ids, func(id overlay.ID) bool { return id != first && !slices.Contains(near, id) })]
	w.send(first, near[0], 1)
	w.send(first, far, 1, 2)
	w.Run(time.Second)
	if at := w.toys[near[0]].at[0]; at != 50*time.Millisecond {
		t.Errorf("to a peer of the table: %v, want 50ms", at)
	}
	if at := w.toys[far].at[0]; at < 150*time.Millisecond || at > 151*time.Millisecond {
		t.Errorf("to a stranger: %v, want three times 50ms", at)
	}
}

func TestRestart(t *testing.T) {
	w := newWorld(sim.Config[note]{}, talkOnce, "a", "b")
	w.send("a", "b", 1)
	w.Run(time.Second)
	old := w.toys["b"]
	w.Crash("b")
	w.Run(2 * time.Second)
	w.Restart("b")
	fresh := w.toys["b"]
	if fresh == old {
		t.Fatal("the host is the old one")
	}
	ticks := old.ticks
	w.send("a", "b", 2) // on the connection to the old life: lost, and b says so
	w.Run(2*time.Second + 100*time.Millisecond)
	if a := w.toys["a"]; len(fresh.got) != 0 || !slices.Equal(a.gone, []overlay.ID{"b"}) {
		t.Errorf("the new life received %v of the old connection; a was told %v", fresh.got, a.gone)
	}
	w.send("a", "b", 3)
	w.Run(2 * time.Minute)
	if !slices.Equal(fresh.got, []note{3}) || len(w.toys["a"].gone) != 1 {
		t.Errorf("after the restart: got %v, a was told %v", fresh.got, w.toys["a"].gone)
	}
	if old.ticks != ticks {
		t.Error("the old life still ticks")
	}
	old.net.Send("a", 9)
	w.Run(3 * time.Minute)
	if len(w.toys["a"].got) != 0 {
		t.Error("the old life still sends")
	}
}

// Nothing that was under way to the old life reaches the new one.
func TestNothingOfTheOldLife(t *testing.T) {
	w := newWorld(sim.Config[note]{Latency: sim.Constant(time.Second)}, plain, "a", "b", "c")
	looked := false
	w.send("a", "b", 1)
	w.Call("b", func(time.Duration) {
		w.toys["b"].net.Lookup(key(1), func(time.Duration, []overlay.ID, bool) { looked = true })
	})
	w.Crash("b")
	w.Restart("b")
	w.Run(time.Minute)
	if got := w.toys["b"].got; got != nil || looked || w.Counts().Lost != 1 {
		t.Errorf("the new life got %v, looked: %v; %+v", got, looked, w.Counts())
	}
}

// talkOnce ticks forever and sends nothing.
func talkOnce(h *toy) { h.fan, h.every, h.next = 0, time.Second, 0 }

func TestPartition(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b", "c")
	w.send("a", "b", 1)
	w.send("a", "c", 1)
	w.Run(time.Second)
	w.send("a", "b", 2) // in flight when the cut comes
	w.Partition([]overlay.ID{"a", "c"})
	w.send("a", "b", 3)
	w.send("a", "c", 4)
	w.Run(time.Minute)
	a, b, c := w.toys["a"], w.toys["b"], w.toys["c"]
	if !slices.Equal(b.got, []note{1}) || !slices.Equal(c.got, []note{1, 4}) {
		t.Errorf("b got %v, c got %v", b.got, c.got)
	}
	if !slices.Equal(a.gone, []overlay.ID{"b"}) || a.goneAt[0] != 31*time.Second || !slices.Equal(b.gone, []overlay.ID{"a"}) {
		t.Errorf("a was told %v at %v, b %v", a.gone, a.goneAt, b.gone)
	}
	if _, ok := a.net.RTT("b"); ok {
		t.Error("a has an RTT to a peer that it knows is gone")
	}
	w.Heal()
	w.Run(2 * time.Minute)
	w.send("a", "b", 5)
	w.Run(3 * time.Minute)
	if !slices.Equal(b.got, []note{1, 5}) {
		t.Errorf("after healing b got %v", b.got)
	}
}

func TestPartitionHealedInTimeIsNotNoticed(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b")
	w.send("a", "b", 1)
	w.Run(time.Second)
	w.Partition([]overlay.ID{"a"})
	w.Run(20 * time.Second)
	w.Heal()
	w.Run(time.Minute)
	w.send("a", "b", 2)
	w.Run(2 * time.Minute)
	if a := w.toys["a"]; a.gone != nil || !slices.Equal(w.toys["b"].got, []note{1, 2}) {
		t.Errorf("a was told %v, b got %v", a.gone, w.toys["b"].got)
	}
}

// The first message to a peer of the table falls into a cut that heals before
// anybody notices: lost, but the connection holds at both ends.
func TestFirstMessageIntoAShortCut(t *testing.T) {
	w := newWorld(sim.Config[note]{}, plain, "a", "b")
	w.Run(time.Second)
	w.Partition([]overlay.ID{"a"})
	w.send("a", "b", 1)
	w.Run(20 * time.Second)
	w.Heal()
	w.Run(time.Minute)
	w.send("a", "b", 2)
	w.Run(2 * time.Minute)
	a, b := w.toys["a"], w.toys["b"]
	if a.gone != nil || b.gone != nil || !slices.Equal(b.got, []note{2}) {
		t.Errorf("told %v and %v, b got %v", a.gone, b.gone, b.got)
	}
	w.Crash("b")
	w.Run(3 * time.Minute)
	if !slices.Equal(a.gone, []overlay.ID{"b"}) {
		t.Errorf("b crashed, a was told %v", a.gone)
	}
}
