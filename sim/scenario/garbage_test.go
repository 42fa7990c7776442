package scenario

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestMayPileUp(t *testing.T) {
	const gb = 1_000_000_000
	for _, tc := range []struct {
		live, holds uint64
		percent     int
	}{
		{8 * gb, 16 * gb, 45},
		{4 * gb, 16 * gb, 135},
		{12 * gb, 16 * gb, 15},
		{15 * gb, 16 * gb, pilesLeast},
		{17 * gb, 16 * gb, pilesLeast}, // more than was thought
		{0, 16 * gb, pilesLeast},       // nobody has looked
	} {
		if got := mayPileUp(tc.live, tc.holds); got != tc.percent {
			t.Errorf("beside %d of %d bytes %d %% may pile up, want %d", tc.live, tc.holds, got, tc.percent)
		}
	}
}

// A run that takes most of the memory looks for garbage when that is full, and from then on
// when what lives has grown; one that has plenty goes by what lives all the time.
func TestGarbageOnceMemoryIsFull(t *testing.T) {
	before, limit := percent(), debug.SetMemoryLimit(-1)

	var tight, plenty garbage
	undo := tight.collect(leastHeap, leastHeap)
	tight.tend()
	if p := percent(); p != -1 {
		t.Errorf("before memory is full %d %% may pile up, want as much as there is room for", p)
	}
	runtime.GC()
	tight.tend()
	if p := percent(); p < pilesLeast {
		t.Errorf("once it was full %d %% may pile up, want a part of what lives", p)
	}
	if l := debug.SetMemoryLimit(-1); l <= leastHeap {
		t.Errorf("once memory was full the limit is %d, which it is at for good", l)
	}
	undo()

	undo = plenty.collect(leastHeap, 100*leastHeap)
	runtime.GC()
	plenty.tend()
	if p := percent(); p != lazyGC {
		t.Errorf("where memory is plenty %d %% may pile up, want %d", p, lazyGC)
	}
	undo()

	if p, l := percent(), debug.SetMemoryLimit(-1); p != before || l != limit {
		t.Errorf("afterwards %d %% may pile up, and the limit is %d; it was %d %%, %d", p, l, before, limit)
	}
}

// While a world runs, its garbage is tended.
func TestWorldTendsItsGarbage(t *testing.T) {
	cfg := Config{Nodes: minNodes, Latency: "matrix"}
	l, err := readLatency(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{ctx: t.Context(), cfg: cfg, latency: l, progress: func(string, float64) {}}
	w, err := r.newWorld(cfg.Nodes, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.heap.collect(leastHeap, leastHeap)()
	runtime.GC()
	if err := w.advance("warm-up", w.Now()+looks); err != nil {
		t.Fatal(err)
	}
	if p := percent(); p < pilesLeast {
		t.Errorf("memory was full, and %d %% may pile up still", p)
	}
}

// percent is how much garbage may pile up now.
func percent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}
