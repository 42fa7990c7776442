package witness_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/witness"
)

// babel is a feed and volunteers who say anything of it. Those of the first
// networks are liars.
type babel struct {
	rng      *rand.Rand
	networks int
	liars    int // networks that are theirs
	clock    time.Time
	next     int // item
	window   []witness.Item
}

func number(n int, lie byte) witness.Item {
	return witness.Item{Key: [16]byte{lie, byte(n >> 16), byte(n >> 8), byte(n)}, Hash: [32]byte{byte(n)}}
}

func sorted(items []witness.Item) []witness.Item {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b witness.Item) int { return slices.Compare(a.Key[:], b.Key[:]) })
	return slices.CompactFunc(items, func(a, b witness.Item) bool { return a.Key == b.Key })
}

// statement is what somebody says next.
func (b *babel) statement() witness.Statement {
	b.clock = b.clock.Add(time.Duration(b.rng.IntN(60)) * time.Minute)
	if b.rng.IntN(3) > 0 {
		b.next++
		b.window = append(b.window, number(b.next, 0))
		b.window = b.window[max(0, len(b.window)-8):]
	}
	network := b.rng.IntN(b.networks)
	s := witness.Statement{
		Network: string(rune('a' + network)), Parent: [32]byte{byte(b.rng.IntN(4))}, Taken: b.clock,
		Strong: b.rng.IntN(2) == 0, Validators: [32]byte{byte(b.next), 1}, Body: [32]byte{byte(b.next)},
	}
	s.By[0], s.Own = byte(network), b.rng.IntN(5) == 0
	items := slices.Clone(b.window)
	if network < b.liars && !s.Own { // with any number of keys, times and validators
		s.By[1], s.By[2] = byte(b.rng.IntN(6)), 1
		for range b.rng.IntN(4) {
			items = append(items, number(b.next-b.rng.IntN(5), 1))
		}
		if b.rng.IntN(2) == 0 {
			s.Validators, s.Body = [32]byte{byte(b.rng.IntN(256)), 2}, [32]byte{byte(b.rng.IntN(256)), 2}
		}
		s.Taken = s.Taken.Add(time.Duration(b.rng.IntN(120)-60) * time.Minute)
		s.Partial = b.rng.IntN(4) == 0
		if b.rng.IntN(4) == 0 {
			s.Network = ""
		}
	}
	s.Items = sorted(items)
	return s
}

// Invariant 1, and that no honest volunteer is convicted where the origin keeps to
// its tags and the liars have fewer than K networks.
func TestFewerThanKNeverCorroborate(t *testing.T) {
	for seed := range uint64(60) {
		k := 2 + int(seed%3)
		b := &babel{rng: rand.New(rand.NewPCG(seed, 1)), networks: 8, liars: k - 1, clock: noon}
		p := witness.New(witness.Config{K: k})
		told := map[witness.Item]bool{}
		for range 200 {
			s := b.statement()
			for _, it := range s.Items {
				told[it] = told[it] || it.Key[0] == 1
			}
			for _, l := range p.Hear(b.clock, s).Liars {
				if l.By[2] == 0 {
					t.Fatalf("seed %d: an honest volunteer was convicted, by this node %v", seed, l.Own)
				}
			}
			for it, lie := range told {
				if got := p.State(it); lie && got == witness.Corroborated {
					t.Fatalf("seed %d: %d networks of liars had an item corroborated, K is %d", seed, b.liars, k)
				}
			}
		}
	}
}

// Invariant 7.
func TestTheSameCallsGiveTheSameAnswers(t *testing.T) {
	run := func() (all []witness.Finding) {
		b := &babel{rng: rand.New(rand.NewPCG(3, 1)), networks: 6, liars: 3, clock: noon}
		p := witness.New(witness.Config{Items: 40})
		for range 300 {
			all = append(all, p.Hear(b.clock, b.statement()))
		}
		return all
	}
	if !reflect.DeepEqual(run(), run()) {
		t.Error("they do not")
	}
}
