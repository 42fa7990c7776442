package store

import "context"

// Searcher is a store that finds items by their words. What people type is no
// language: every word of it has to be in an item's title or text, without regard
// to case and accents.
type Searcher interface {
	// Search returns up to limit current items, the last arrived first. Where no
	// item has all the words, those count that have a word that begins with the
	// last one, as while somebody types; a last word that ends with "*" always
	// means that. A query without a word finds nothing.
	Search(ctx context.Context, query string, limit int) ([]Hit, error)
}

// Hit is an item that was found.
type Hit struct {
	Item    Item
	Title   string
	Snippet string   // of its text, as people read it, about what was looked for
	Marks   [][2]int // where in the snippet the words stand: from, to, in bytes
}

// Historian is a store that tells a feed's items as they came.
type Historian interface {
	// Versions returns up to limit versions of a feed's items, current or not, with
	// after < Seen <= upTo, in the order of arrival; all of them if limit is
	// negative. An item that changed is there once for each version that is kept.
	Versions(ctx context.Context, feedURL string, after, upTo int64, limit int) ([]Item, error)
}
