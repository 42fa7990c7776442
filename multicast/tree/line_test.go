package tree

import (
	"math/rand/v2"
	"testing"
)

// A line against a model that remembers every seq in a map.
func TestLineAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := &line{}
		first := 1 + rng.Uint64N(600)
		l.startFresh(1, first)
		held := map[uint64]bool{}
		wanted := first // every seq from here on is wanted
		high := first
		for range 400 {
			seq := 1 + rng.Uint64N(high+20)
			if rng.IntN(3) > 0 {
				seq = high + rng.Uint64N(4)
			}
			fresh := !held[seq] && seq+window > max(high, seq) && seq > first-min(first, window)
			if l.has(seq) == fresh {
				t.Fatalf("seed %d: has(%d) = %v with high %d; model says new: %v", seed, seq, l.has(seq), high, fresh)
			}
			if l.has(seq) {
				continue
			}
			l.raise(seq)
			l.accept(seq)
			held[seq] = true
			high = max(high, seq)
			wanted = max(wanted, high-min(high, window)+1)
			for held[wanted] {
				wanted++
			}
			if l.cursor() != wanted-1 {
				t.Fatalf("seed %d: cursor %d, model %d", seed, l.cursor(), wanted-1)
			}
			from, to, gap := l.gap(pullMax)
			if gap != (wanted <= high) {
				t.Fatalf("seed %d: gap %v, wanted %d of %d", seed, gap, wanted, high)
			}
			for s := from; gap && s <= to; s++ {
				if held[s] {
					t.Fatalf("seed %d: gap %d-%d names %d, which is here", seed, from, to, s)
				}
			}
		}
	}
}

func TestLineFromCursor(t *testing.T) {
	l := &line{}
	l.startAt(stampAt(7, 40))
	if !l.has(40) || !l.has(3) || l.has(41) {
		t.Fatal("what the cursor covers is held, what follows is not")
	}
	l.raise(43)
	l.accept(43)
	if from, to, ok := l.gap(64); !ok || from != 41 || to != 42 {
		t.Fatalf("gap %d-%d %v, want 41-42", from, to, ok)
	}
	l.giveUp(42)
	if _, _, ok := l.gap(64); ok || l.cursor() != 43 {
		t.Fatalf("after giving up, cursor %d", l.cursor())
	}
	if l.has(41) {
		t.Fatal("what was given up is still welcome")
	}
}

func TestLineReportsWhatFallsOut(t *testing.T) {
	l := &line{}
	l.startAt(stampAt(1, 10))
	from, to := l.raise(11 + window)
	if from != 11 || to != 11 {
		t.Fatalf("fell out: %d-%d, want 11-11", from, to)
	}
	if from, _ := l.raise(11 + window); from != 0 {
		t.Fatal("reported twice")
	}
}

// A new epoch is wanted from its first event on, as far as buffers reach.
func TestLineNewEpoch(t *testing.T) {
	l := &line{}
	l.startAt(stampAt(1, 10))
	l.startEpoch(2, 3, 64)
	if from, to, ok := l.gap(64); !ok || from != 1 || to != 3 {
		t.Fatalf("gap %d-%d %v, want 1-3", from, to, ok)
	}
	l.startEpoch(3, 100, 64)
	if from, _, ok := l.gap(64); !ok || from != 37 {
		t.Fatalf("gap from %d %v, want 37", from, ok)
	}
}
