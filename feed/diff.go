package feed

import (
	"slices"
	"time"
)

// Diff returns the items of f that are new or changed since they were seen, oldest
// first: the order in which to announce them. seen returns the content hash last
// seen under a key.
//
// Items without a date stay beside the neighbour they have in the document, read
// from its end: feeds list the newest first.
func Diff(seen func(key string) (hash [32]byte, ok bool), f *Feed) []Item {
	type dated struct {
		item Item
		at   time.Time
	}
	var fresh []dated
	var last time.Time
	for _, it := range slices.Backward(f.Items) {
		if d := it.Date(); !d.IsZero() {
			last = d
		}
		if hash, ok := seen(it.Key()); ok && hash == it.Hash() {
			continue
		}
		fresh = append(fresh, dated{it, last})
	}
	slices.SortStableFunc(fresh, func(a, b dated) int { return a.at.Compare(b.at) })
	items := make([]Item, len(fresh))
	for i, d := range fresh {
		items[i] = d.item
	}
	return items
}

// Only returns the same channel with just these items: what a pushed payload is.
func (f *Feed) Only(items []Item) *Feed {
	only := *f
	only.Items = slices.Clone(items)
	only.Defects = nil
	return &only
}

// Assemble returns the channel with items that may come from any documents, of the
// same feed or of others, in the order given; of items with the same key the first
// stays. It copies what it returns.
func Assemble(channel *Feed, items []Item) *Feed {
	if channel == nil {
		channel = &Feed{}
	}
	f := channel.Only(nil)
	seen := make(map[string]bool, len(items))
	for _, it := range items {
		if key := it.Key(); !seen[key] {
			seen[key] = true
			f.Items = append(f.Items, it)
		}
	}
	return f
}
