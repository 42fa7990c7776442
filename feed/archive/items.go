package archive

import (
	"context"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// shelf is a feed's items during a write, with what bounds them.
type shelf struct {
	t            *transaction
	feed         int64
	items, bytes int64
	shown        map[string]bool // keys in the feed's document, once it was read
	names        map[int64]bool  // those that may be held; nil: any
	waiting      []leaf          // versions to be inserted, all of them new
	unindexed    []leaf          // and those that were, but not yet their words
}

// putItems keeps items as store.Weigh says, and returns those that are news.
func (t *transaction) putItems(leaves []leaf) []store.Item {
	var added []store.Item
	shelves := make(map[string]*shelf)
	for _, l := range leaves {
		s, ok := shelves[l.item.Feed]
		if !ok {
			s = t.shelf(l.item.Feed)
			s.look(leaves)
			shelves[l.item.Feed] = s
		}
		if t.err != nil {
			return nil
		}
		if kept, news := s.put(l); news {
			added = append(added, kept)
		}
	}
	for _, s := range shelves {
		s.close()
	}
	return added
}

func (t *transaction) shelf(url string) *shelf {
	s := &shelf{t: t}
	if !t.one([]any{&s.feed, &s.items, &s.bytes}, `SELECT id, items, bytes FROM feeds WHERE url = ?`, url) && t.err == nil {
		t.err = fmt.Errorf("items of %s: %w", url, store.ErrFeed)
	}
	return s
}

// close notes what the feed has now.
func (s *shelf) close() {
	s.flush()
	s.t.exec(`UPDATE feeds SET items = ?, bytes = ? WHERE id = ?`, s.items, s.bytes, s.feed)
}

func (s *shelf) put(in leaf) (store.Item, bool) {
	in.feed = s.feed
	versions, spoiled := s.versions(in.item.Key)
	var current, same *leaf
	for i := range versions {
		if versions[i].current {
			current = &versions[i]
		}
		if versions[i].item.Hash == in.item.Hash {
			same = &versions[i]
		}
	}
	verdict := store.Weigh(current.known(), same.known(), in.item)
	if verdict.Current && current != nil {
		s.demote(current.item.Seen)
	}
	switch {
	case verdict.Insert:
		in.current = verdict.Current
		in.item.Seen = s.t.newID("items")
		s.insert(in)
		s.bytes += in.size
		if current == nil && !spoiled {
			s.items++
		}
		if len(versions) >= s.t.limits.Versions {
			s.forgetVersion(in.item.Key)
		}
	case verdict.Renew:
		in.item.Seen, in.item.Received, in.current = same.item.Seen, same.item.Received, same.current
		s.renew(in)
		s.bytes += in.size - same.size
	}
	if verdict.Current && same != nil {
		s.t.exec(`UPDATE items SET current = 1, sum = sum | 1 WHERE seen = ?`, same.item.Seen)
		s.index(same.item.Seen, in.words)
	}
	s.prune()
	return in.item, verdict.Added
}

func (l *leaf) known() *store.Item {
	if l == nil {
		return nil
	}
	return &l.item
}

// versions returns what is held of an item. What of it is damaged is dropped, so
// that it can come anew; then spoiled says that the item is counted already.
func (s *shelf) versions(key string) (found []leaf, spoiled bool) {
	if name := nameOf(key); s.names != nil && !s.names[name] {
		s.names[name] = true // from now on
		return nil, false
	}
	s.flush()
	var gone []int64
	s.t.rows("items", func(row []any, _ bool) {
		held, _ := row[2].([]byte)
		l, ok := leafOf(row)
		switch {
		case ok && l.item.Key == key && !s.t.damages.knows("items", l.item.Seen):
			found = append(found, l)
		case string(held) == key:
			gone = append(gone, row[0].(int64))
		}
	}, `SELECT `+leafColumns+` FROM items WHERE feed = ? AND name = ?`, s.feed, nameOf(key))
	for _, seen := range gone {
		spoiled = s.forgetDamaged(seen) || spoiled
	}
	return found, spoiled
}

// forgetDamaged drops a row that cannot be trusted, and reports whether it stood
// for its item.
func (s *shelf) forgetDamaged(seen int64) (stood bool) {
	var current, size int64
	s.t.one([]any{&current, &size}, `DELETE FROM items WHERE seen = ? RETURNING current, size`, seen)
	s.t.exec(dropIndexed, seen)
	s.t.damages.mended("items", seen)
	s.t.dropped.Damaged++
	s.bytes -= size
	return current == 1
}

const dropIndexed = `DELETE FROM search WHERE rowid = ?`

func (l leaf) insertion() []any { return append(l.row(), nameOf(l.item.Key)) }

func (s *shelf) index(seen int64, words []byte) { s.t.exec(indexItem, seen, words) }

// demote makes a version one of those before the current one.
func (s *shelf) demote(seen int64) {
	s.flush()
	s.t.exec(`UPDATE items SET current = 0, sum = sum & ~1 WHERE seen = ?`, seen)
	s.t.exec(dropIndexed, seen)
}

// renew takes everything but its place from a version that comes again.
func (s *shelf) renew(in leaf) {
	row := in.row()
	s.t.exec(`UPDATE items SET trust = ?, source = ?, epoch = ?, seq = ?, published = ?, size = ?, content_type = ?, coding = ?, body = ?,
		sum = ?, doc = ? WHERE seen = ?`, row[4], row[5], row[6], row[7], row[8], row[10], row[11], row[12], row[13], row[15], row[16], row[0])
}

// forgetVersion drops an item's oldest version that is not current.
func (s *shelf) forgetVersion(key string) {
	s.flush()
	var seen, size int64
	if s.t.one([]any{&seen, &size}, `SELECT seen, size FROM items WHERE feed = ? AND name = ? AND key = ? AND NOT current ORDER BY seen LIMIT 1`,
		s.feed, nameOf(key), []byte(key)) {
		s.t.exec(`DELETE FROM items WHERE seen = ?`, seen)
		s.bytes -= size
		s.t.dropped.Versions++
	}
}

// forget drops an item with all its versions.
func (s *shelf) forget(key string) {
	s.flush()
	var seen, size, current int64
	var indexed []int64
	s.t.each(func() {
		s.bytes -= size
		if current == 1 {
			indexed = append(indexed, seen)
		}
	}, []any{&seen, &size, &current}, `DELETE FROM items WHERE feed = ? AND name = ? AND key = ? RETURNING seen, size, current`,
		s.feed, nameOf(key), []byte(key))
	for _, seen := range indexed {
		s.t.exec(dropIndexed, seen)
		s.items--
	}
}

// Items implements store.Store.
func (a *Archive) Items(ctx context.Context, feedURL string, limit int) ([]store.Item, error) {
	return a.versions(ctx, feedURL, `current ORDER BY seen DESC LIMIT ?`, limit)
}

// Versions implements store.Historian.
func (a *Archive) Versions(ctx context.Context, feedURL string, after, upTo int64, limit int) ([]store.Item, error) {
	return a.versions(ctx, feedURL, `seen > ? AND seen <= ? ORDER BY seen LIMIT ?`, after, upTo, limit)
}

var _ store.Historian = (*Archive)(nil)

func (a *Archive) versions(ctx context.Context, feedURL, which string, args ...any) ([]store.Item, error) {
	var items []store.Item
	err := a.readRows(ctx, "items", func(row []any, _ bool) {
		if l, ok := openLeaf(row); ok {
			l.item.Feed = feedURL
			items = append(items, l.item)
		} else {
			a.withhold("items", row[0])
		}
	}, `SELECT `+itemColumns+` FROM items WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND `+which, append([]any{feedURL}, args...)...)
	return items, err
}

// Known implements store.Store. Items that were found damaged are not among them,
// so that they are fetched again.
func (a *Archive) Known(ctx context.Context, feedURL string) (map[string][32]byte, error) {
	known := make(map[string][32]byte)
	err := a.readRows(ctx, "items", func(row []any, _ bool) {
		switch l, ok := leafOf(row); {
		case !ok:
			a.withhold("items", row[0])
		case !a.damages.knows("items", l.item.Seen):
			known[l.item.Key] = l.item.Hash
		}
	}, `SELECT `+leafColumns+` FROM items WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND current`, feedURL)
	return known, err
}

// Count implements store.Store.
func (a *Archive) Count(ctx context.Context, feedURL string) (int, error) {
	var n int
	err := a.read(ctx, func() {}, []any{&n}, `SELECT items FROM feeds WHERE url = ?`, feedURL)
	return n, err
}
