package fuzz

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzNothing has a target that does nothing: what mutation costs beside targets.
func FuzzNothing(f *testing.F) {
	f.Add([]byte("seed"), "and another value")
	Hold(f, func(*testing.T, []byte, string) {})
}

// bad is a testing.TB that notes failures.
type bad struct {
	testing.TB
	said []string
}

func (b *bad) Errorf(format string, _ ...any) { b.said = append(b.said, format) }
func (b *bad) Failed() bool                   { return len(b.said) > 0 }

func TestLimits(t *testing.T) {
	var heap []byte
	for name, c := range map[string]struct {
		do   func()
		fail bool
	}{
		"little":              {func() { heap = make([]byte, 1<<20) }, false},
		"257 MiB, at once":    {func() { heap = make([]byte, 257<<20) }, true},
		"257 MiB, in pieces":  {func() { forMany(257, func() { heap = make([]byte, 1<<20) }) }, true},
		"over a second, CPU":  {func() { spin(mostTime + mostTime/100) }, true},
		"half a second":       {func() { spin(mostTime / 2) }, false},
		"held up for once":    {onceOnly(func() { spin(mostTime + mostTime/100) }), false},
		"held up for no more": {func() {}, false},
	} {
		b := &bad{TB: t}
		within(b, c.do)
		if b.Failed() != c.fail {
			t.Errorf("%s: %q", name, b.said)
		}
	}
	_ = heap
}

func forMany(n int, do func()) {
	for range n {
		do()
	}
}

// spin takes a time of the clock.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

func onceOnly(do func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			do()
		}
	}
}

// What one run writes the next one reads, and so does Go.
func TestSeedsInFiles(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[[]byte](), reflect.TypeFor[string]()}
	want := [][]byte{[]byte("a\x00\xff\n\"`"), []byte("b\xf0)")}
	dir := t.TempDir()
	name := writeSeed(dir, types, want)
	got, err := readCorpus(dir, types)
	if err != nil || !reflect.DeepEqual(got, [][][]byte{want}) {
		t.Errorf("wrote %q to %s, read %q, %v", want, name, got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("go test fuzz v1\nint(1)\nstring(\"\")\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readCorpus(dir, types); err == nil {
		t.Error("a number was read as bytes")
	}
	if got, err := readCorpus(filepath.Join(dir, "none"), types); err != nil || len(got) > 0 {
		t.Error(got, err)
	}
}

// The same seed makes the same inputs, another one others; no step writes to what
// it was given, nor makes more than it may.
func TestMutations(t *testing.T) {
	given := [][]byte{[]byte("<rss><channel/></rss>"), {}}
	made := func(seed uint64) (all [][]byte) {
		m := newMutator(seed)
		m.know(given[0])
		for range 2000 {
			for _, v := range m.mutate(given) {
				if len(v) > mostInput {
					t.Fatalf("%d bytes", len(v))
				}
				all = append(all, v)
			}
		}
		return all
	}
	one := made(1)
	if !reflect.DeepEqual(one, made(1)) || reflect.DeepEqual(one, made(2)) {
		t.Error("inputs do not follow from the seed")
	}
	if string(given[0]) != "<rss><channel/></rss>" || len(given[1]) > 0 {
		t.Errorf("the seed was changed: %q", given)
	}
	different := make(map[string]bool)
	for _, v := range one {
		different[string(v)] = true
	}
	if len(different) < 1500 {
		t.Errorf("%d different inputs of %d", len(different), len(one))
	}
}

// A target that fails leaves the input behind.
func TestFailureIsKept(t *testing.T) {
	r := run{m: newMutator(1), types: []reflect.Type{reflect.TypeFor[[]byte]()}, dir: t.TempDir(),
		do: func(_ *testing.T, v [][]byte) {
			if bytes.Contains(v[0], []byte("<")) {
				panic(errors.New("found"))
			}
		}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		*mutations = 100_000
		defer func() { *mutations = 0 }()
		r.mutations(t, [][]byte{[]byte("rss")})
	}()
	got, err := readCorpus(r.dir, r.types)
	if err != nil || len(got) != 1 || !bytes.Contains(got[0][0], []byte("<")) {
		t.Errorf("kept %q, %v", got, err)
	}
}
