package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Events come out in the order of time and tie, however far ahead they were
// put in and whatever was put in since.
func TestAgendaIsInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a agenda[int]
	var waiting []item // what is in it, by a plain sort
	var now time.Duration
	spans := []time.Duration{0, 1, 1 << sliceBits, time.Second, time.Minute, ring << sliceBits, time.Hour}
	for k := range 60000 {
		if it, ok := a.head(); ok != (len(waiting) > 0) || ok && it.at != waiting[0].at {
			t.Fatalf("step %d: next at %v, %v of %d", k, it.at, ok, len(waiting))
		}
		if len(waiting) > 0 && (rng.IntN(100) < 49 || k > 50000) {
			e := a.pop()
			if e.at != waiting[0].at || e.tie != waiting[0].tie || e.msg != int(waiting[0].slot) {
				t.Fatalf("step %d: popped %v/%d, want %v", k, e.at, e.tie, waiting[0])
			}
			now, waiting = e.at, waiting[1:]
			continue
		}
		it := item{at: now, tie: rng.Uint64(), slot: int32(k)}
		if d := spans[rng.IntN(len(spans))]; d > 0 {
			it.at += time.Duration(rng.Int64N(int64(d)))
		}
		a.push(event[int]{at: it.at, tie: it.tie, msg: k})
		at, _ := slices.BinarySearchFunc(waiting, it, func(x, y item) int {
			if x.before(y) {
				return -1
			} else if y.before(x) {
				return 1
			}
			return 0
		})
		if at < len(waiting) && !it.before(waiting[at]) {
			t.Fatal("two equal ties: take another seed")
		}
		waiting = slices.Insert(waiting, at, it)
	}
}

// A slice of time has room for any number of events, and its bins serve the next one.
func TestManyEventsInOneSlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var a agenda[int]
	for round := range 3 {
		begin := time.Duration(1+round) * time.Second >> sliceBits << sliceBits
		var want []time.Duration
		for range 50 * binMost {
			at := begin + time.Duration(rng.Int64N(1<<sliceBits))
			a.push(event[int]{at: at, tie: rng.Uint64()})
			want = append(want, at)
		}
		slices.Sort(want)
		for k, at := range want {
			if e := a.pop(); e.at != at {
				t.Fatalf("round %d, event %d: at %v, want %v", round, k, e.at, at)
			}
		}
	}
	if a.count != 0 || len(a.bins.chunks) != 1 {
		t.Errorf("%d events left, %d chunks of bins", a.count, len(a.bins.chunks))
	}
}

// Slots are used again: what waits at once decides how many there are.
func TestAgendaUsesSlotsAgain(t *testing.T) {
	var a agenda[int]
	for k := range 100_000 {
		a.push(event[int]{at: time.Duration(k) * time.Millisecond})
		if k >= 100 {
			a.pop()
		}
	}
	if len(a.chunks) != 1 || len(a.bins.chunks) != 1 || a.count != 100 {
		t.Errorf("%d chunks and %d of bins for %d events", len(a.chunks), len(a.bins.chunks), a.count)
	}
}
