package feedtree

import (
	"testing"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// After a restart a line is asked for again from where it is known to be whole. Within
// an epoch the cursor says where that is. Of epochs before it, what came of them last:
// the cursor may have moved over the end of one that another overtook.
func TestSince(t *testing.T) {
	who, other := [32]byte{1}, [32]byte{2}
	type place struct {
		source     [32]byte
		epoch, seq uint64
		beat       uint64
	}
	for name, c := range map[string]struct {
		held []place
		want [2]uint64
	}{
		"nothing is held":                   {nil, [2]uint64{9, 4}},
		"only of its own epoch":             {[]place{{who, 9, 3, 0}, {who, 9, 4, 0}}, [2]uint64{9, 4}},
		"of the epoch before":               {[]place{{who, 9, 4, 0}, {who, 8, 2, 0}, {who, 8, 3, 0}}, [2]uint64{8, 3}},
		"in whatever order":                 {[]place{{who, 8, 3, 0}, {who, 8, 1, 0}, {who, 9, 4, 0}}, [2]uint64{8, 3}},
		"the earliest of several":           {[]place{{who, 8, 3, 0}, {who, 6, 5, 0}, {who, 7, 1, 0}}, [2]uint64{6, 5}},
		"of many only the latest":           {[]place{{who, 8, 1, 0}, {who, 7, 1, 0}, {who, 6, 1, 0}, {who, 5, 1, 0}, {who, 4, 1, 0}, {who, 3, 2, 0}, {who, 2, 7, 0}, {who, 1, 9, 0}}, [2]uint64{3, 2}},
		"another source's":                  {[]place{{other, 8, 3, 0}, {other, 2, 3, 0}}, [2]uint64{9, 4}},
		"heartbeats bring no event":         {[]place{{who, 8, 3, 77}}, [2]uint64{9, 4}},
		"a later epoch, not heard to begin": {[]place{{who, 10, 3, 0}}, [2]uint64{9, 4}},
	} {
		var held []store.Envelope
		for _, p := range c.held {
			held = append(held, store.Envelope{Source: p.source, Epoch: p.epoch, Seq: p.seq, Beat: p.beat})
		}
		got := since(store.Cursor{Source: who, Epoch: 9, Seq: 4}, held)
		if want := (multicast.Stamp{Source: who, Epoch: c.want[0], Seq: c.want[1]}); got != want {
			t.Errorf("%s: from %d/%d of %x on, want %d/%d", name, got.Epoch, got.Seq, got.Source[:1], want.Epoch, want.Seq)
		}
	}
}
