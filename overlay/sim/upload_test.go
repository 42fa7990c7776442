package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

func bytes4000(note) (uint8, int) { return 0, 4000 }

// 4,000 bytes at 20 Mbit/s take 1.6 ms; the second message waits for the first,
// whoever it is for.
func TestUploadInTurn(t *testing.T) {
	w := newWorld(sim.Config[note]{Upload: 20e6, Measure: bytes4000}, plain, "a", "b", "c", "d")
	w.Call("a", func(time.Duration) {
		for i, to := range []overlay.ID{"b", "c", "b", "d"} {
			w.toys["a"].net.Send(to, note(i))
		}
	})
	w.Run(time.Second)
	const hop, slot = 50 * time.Millisecond, 1600 * time.Microsecond
	for i, at := range []time.Duration{w.toys["b"].at[0], w.toys["c"].at[0], w.toys["b"].at[1], w.toys["d"].at[0]} {
		if want := hop + time.Duration(i+1)*slot; at != want {
			t.Errorf("message %d arrives at %v, want %v", i, at, want)
		}
	}
	// The uplink rests and is free at once.
	w.send("a", "b", 9)
	w.Run(2 * time.Second)
	if at := w.toys["b"].at[2]; at != time.Second+hop+slot {
		t.Errorf("after a rest it arrives at %v", at)
	}
}

func TestUploadOfOneNode(t *testing.T) {
	w := newWorld(sim.Config[note]{Measure: bytes4000, Upload: 1, UploadOf: func(id overlay.ID) int64 {
		if id == "slow" {
			return 32000 // one message a second
		}
		return 0
	}}, plain, "slow", "fast", "c")
	w.send("slow", "c", 1, 2, 3)
	w.send("fast", "c", 4)
	w.Run(time.Minute)
	const hop = 50 * time.Millisecond
	want := []time.Duration{hop, time.Second + hop, 2*time.Second + hop, 3*time.Second + hop}
	for i, at := range w.toys["c"].at {
		if at != want[i] {
			t.Errorf("arrivals at %v, want %v", w.toys["c"].at, want)
			break
		}
	}
}

// What waits in the uplink dies with a crash and is sent before a close.
func TestUploadAtTheEnd(t *testing.T) {
	run := func(end func(*world)) []note {
		w := newWorld(sim.Config[note]{Measure: bytes4000, Upload: 32000}, plain, "a", "b")
		w.send("a", "b", 1, 2, 3)
		w.Run(1500 * time.Millisecond)
		end(w)
		w.Restart("a")
		w.Run(10 * time.Second)
		w.send("a", "b", 4)
		w.Run(time.Minute)
		return w.toys["b"].got
	}
	if got := run(func(w *world) { w.Crash("a") }); !slices.Equal(got, []note{1, 4}) {
		t.Errorf("with a crash after 1.5 s %v arrive, one takes a second", got)
	}
	if got := run(func(w *world) { w.Close("a") }); !slices.Equal(got, []note{1, 2, 3, 4}) {
		t.Errorf("with a close %v arrive", got)
	}
}
