package fuzz

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// all tries mutations of a seed, and of the corpus before the first one.
func (m *mutator) all(t *testing.T, name string, target reflect.Value, args []reflect.Value) {
	types := make([]reflect.Type, len(args))
	values := make([][]byte, len(args))
	for i, a := range args {
		types[i], values[i] = a.Type(), bytesOf(a)
		m.know(values[i])
	}
	r := run{m: m, do: caller(target, types), types: types, dir: filepath.Join("testdata", "fuzz", name)}
	tried := 0
	if *corpus != "" && !m.loaded {
		m.loaded = true
		seeds, err := readCorpus(*corpus, types)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range seeds {
			for _, v := range s {
				m.know(v)
			}
		}
		for _, s := range seeds {
			tried += r.mutations(t, s)
		}
	}
	t.Logf("mutations: %d executions", tried+r.mutations(t, values))
}

// run is a target and where its failures go.
type run struct {
	m     *mutator
	do    func(*testing.T, [][]byte)
	types []reflect.Type
	dir   string
	now   [][]byte // the input that is tried
}

// held is how many inputs are held to the limits together. Only where all of them
// take too much is each tried again by itself: looking at clock and heap costs more
// than some parsers.
const held = 64

// mutations tries as many mutations of one input as the flag says, and returns how
// many these are.
func (r *run) mutations(t *testing.T, values [][]byte) int {
	over := false
	defer func() {
		if !over {
			t.Logf("the input that failed is kept in %s", writeSeed(r.dir, r.types, r.now))
		}
	}()
	for n := *mutations; n > 0; n -= held {
		r.some(t, values, min(n, held))
	}
	over = true
	return *mutations
}

// some tries a few mutations.
func (r *run) some(t *testing.T, values [][]byte, n int) {
	var tried [held][][]byte
	before, began := allocated(), time.Now()
	for i := range n {
		r.now = r.m.mutate(values)
		tried[i] = r.now
		r.do(t, r.now)
		if t.Failed() {
			t.FailNow() // what is deferred keeps the input
		}
	}
	if allocated()-before <= mostHeap && time.Since(began) <= mostTime {
		return
	}
	for _, r.now = range tried[:n] {
		within(t, func() { r.do(t, r.now) })
		if t.Failed() {
			t.FailNow()
		}
	}
}

// caller returns a function that calls a target with values.
func caller(target reflect.Value, types []reflect.Type) func(*testing.T, [][]byte) {
	switch do := target.Interface().(type) {
	case func(*testing.T, []byte):
		return func(t *testing.T, v [][]byte) { do(t, v[0]) }
	case func(*testing.T, string):
		return func(t *testing.T, v [][]byte) { do(t, string(v[0])) }
	}
	return func(t *testing.T, values [][]byte) {
		args := append(make([]reflect.Value, 0, 1+len(values)), reflect.ValueOf(t))
		for i, v := range values {
			args = append(args, reflect.ValueOf(v).Convert(types[i]))
		}
		target.Call(args)
	}
}

func bytesOf(v reflect.Value) []byte {
	if v.Kind() == reflect.String {
		return []byte(v.String())
	}
	return v.Bytes()
}
