package storetest

import (
	"fmt"
	"testing"

	"github.com/feedtree/feedtree/feed/store"
)

// Bench measures what a node does most: keeping one item with its envelope
// and cursor, keeping a whole document's items, and reading the newest 50 of
// a feed with 1,000.
func Bench(b *testing.B, open func(b *testing.B) store.Store) {
	fill := func(b *testing.B, items int) store.Store {
		s := open(b)
		b.Cleanup(func() { s.Close() })
		batch := store.Batch{Feed: feedRecord()}
		for n := range items {
			batch.Items = append(batch.Items, benchItem(n))
		}
		if _, err := s.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		return s
	}
	b.Run("ApplyOne", func(b *testing.B) {
		s := fill(b, 0)
		for n := 0; b.Loop(); n++ {
			seq := uint64(n + 1)
			_, err := s.Apply(b.Context(), store.Batch{
				Items:     []store.Item{benchItem(n)},
				Envelopes: []store.Envelope{event('s', 1, seq)},
				Cursors:   []store.Cursor{{Group: id('g'), Source: id('s'), Epoch: 1, Seq: seq}},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Apply100", func(b *testing.B) {
		s := fill(b, 0)
		for n := 0; b.Loop(); n++ {
			var batch store.Batch
			for i := range 100 {
				batch.Items = append(batch.Items, benchItem(100*n+i))
			}
			if _, err := s.Apply(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Items50", func(b *testing.B) {
		s := fill(b, 1000)
		for b.Loop() {
			items, err := s.Items(b.Context(), feedURL, 50)
			if err != nil || len(items) != 50 {
				b.Fatal(len(items), err)
			}
		}
	})
}

// benchItem is an item of 2 KiB.
func benchItem(n int) store.Item {
	i := item(fmt.Sprintf("guid:https://news.example/%d", n), 1)
	i.Doc = make([]byte, 2048)
	return i
}
