package fuzz

import (
	"flag"
	"reflect"
	"runtime/metrics"
	"testing"
	"time"
)

var (
	mutations = flag.Int("mutations", 0, "try so many mutations of each seed of a fuzz target")
	seed      = flag.Uint64("mutations.seed", 1, "of the mutations")
	corpus    = flag.String("mutations.corpus", "", "directory of further seeds, as go test -fuzz leaves them")
)

// What one input may take.
const (
	mostTime = time.Second
	mostHeap = 256 << 20
)

// Hold is f.Fuzz, for a target whose inputs are strings and byte slices: each is
// held to the limits, and mutated if the flags ask for it.
func Hold(f *testing.F, target any) {
	f.Helper()
	do := reflect.ValueOf(target)
	m := newMutator(*seed)
	limited := reflect.MakeFunc(do.Type(), func(args []reflect.Value) []reflect.Value {
		t := args[0].Interface().(*testing.T)
		within(t, func() { do.Call(args) })
		if *mutations > 0 && !t.Failed() {
			m.all(t, f.Name(), do, args[1:])
		}
		return nil
	})
	f.Fuzz(limited.Interface())
}

// within fails the test if do takes too much. A busy machine may hold up anything
// once: too slow is who is so three times.
func within(t testing.TB, do func()) {
	var took time.Duration
	for range 3 {
		before, began := allocated(), time.Now()
		do()
		took = time.Since(began)
		if grown := allocated() - before; grown > mostHeap {
			t.Errorf("%d MiB were allocated for it, at most %d may", grown>>20, mostHeap>>20)
			return
		}
		if took <= mostTime || t.Failed() {
			return
		}
	}
	t.Errorf("it took %v, at most %v are allowed", took, mostTime)
}

// allocated is how many bytes were ever allocated.
func allocated() uint64 {
	heap := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(heap[:])
	return heap[0].Value.Uint64()
}
