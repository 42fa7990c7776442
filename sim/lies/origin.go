package lies

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/witness"
)

const window = 20 // items in a document

// epochZero is the wall time at which every world begins.
var epochZero = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// origin is a feed that lives.
type origin struct {
	rng      *rand.Rand
	regional bool
	items    []witness.Item // the newest first
	posted   uint32
	changes  uint16
}

func newOrigin(rng *rand.Rand, regional bool) *origin {
	o := &origin{rng: rng, regional: regional}
	for range window {
		o.post()
	}
	return o
}

func itemOf(n uint32, lie byte) witness.Item {
	key := [16]byte{lie, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	it := witness.Item{Key: key}
	copy(it.Hash[:], key[:])
	return it
}

func (o *origin) post() {
	o.posted++
	o.changes++
	o.items = append([]witness.Item{itemOf(o.posted, 0)}, o.items...)
	o.items = o.items[:min(len(o.items), window)]
}

// live lets a while pass: something is posted, perhaps, or edited.
func (o *origin) live() {
	for o.rng.IntN(5) < 2 {
		o.post()
	}
	if o.rng.IntN(20) == 0 {
		o.changes++
		o.items[o.rng.IntN(len(o.items))].Hash[31]++
	}
}

// answer is what somebody gets who asks from a region.
func (o *origin) answer(now time.Duration, region int) witness.Statement {
	s := witness.Statement{Taken: epochZero.Add(now), Strong: true}
	for i, it := range o.items {
		if !o.regional || i%7 != 3 || int(it.Key[4])%2 == region%2 {
			s.Items = append(s.Items, it)
		}
	}
	tag := [32]byte{1, byte(o.changes >> 8), byte(o.changes)}
	if o.regional {
		tag[3] = byte(region % 2)
	}
	s.Validators, s.Body = tag, tag
	s.Items = inOrder(s.Items)
	return s
}

func inOrder(items []witness.Item) []witness.Item {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b witness.Item) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return slices.CompactFunc(items, func(a, b witness.Item) bool { return a.Key == b.Key })
}

// isLie reports an item that the origin never had.
func isLie(it witness.Item) bool { return it.Key[0] != 0 }

// name makes a source or a parent of a number.
func name(kind byte, n int) (s [32]byte) {
	s[0], s[1], s[2], s[3] = kind, byte(n>>16), byte(n>>8), byte(n)
	return s
}
