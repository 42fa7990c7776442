package archive

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// shelf is a feed's items during a write, with what bounds them.
type shelf struct {
	t            *transaction
	feed         int64
	items, bytes int64
}

// version is a stored version of an item as Weigh needs it.
type version struct {
	item    store.Item
	current bool
	size    int64
}

// putItems keeps items as store.Weigh says, and returns those that are news.
func (t *transaction) putItems(items []store.Item) []store.Item {
	var added []store.Item
	shelves := make(map[string]*shelf)
	for _, in := range items {
		s, ok := shelves[in.Feed]
		if !ok {
			s = t.shelf(in.Feed)
			shelves[in.Feed] = s
		}
		if t.err != nil {
			return nil
		}
		if kept, news := s.put(in); news {
			added = append(added, kept)
		}
	}
	for _, s := range shelves {
		t.exec(`UPDATE feeds SET items = ?, bytes = ? WHERE id = ?`, s.items, s.bytes, s.feed)
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

func (s *shelf) put(in store.Item) (store.Item, bool) {
	in.Published, in.Received = store.Kept(in.Published), store.Kept(in.Received)
	versions := s.versions(in.Key)
	var current, same *version
	for i := range versions {
		if versions[i].current {
			current = &versions[i]
		}
		if versions[i].item.Hash == in.Hash {
			same = &versions[i]
		}
	}
	verdict := store.Weigh(current.known(), same.known(), in)
	if verdict.Current && current != nil {
		s.t.exec(`UPDATE items SET current = 0 WHERE seen = ?`, current.item.Seen)
	}
	switch {
	case verdict.Insert:
		in.Seen = s.insert(in, verdict.Current)
		s.bytes += int64(len(in.Doc))
		if current == nil {
			s.items++
		}
		if len(versions) >= s.t.limits.Versions {
			s.forgetVersion(in.Key)
		}
	case verdict.Renew:
		in.Seen, in.Received = same.item.Seen, same.item.Received
		s.renew(in)
		s.bytes += int64(len(in.Doc)) - same.size
	}
	if verdict.Current && same != nil {
		s.t.exec(`UPDATE items SET current = 1 WHERE seen = ?`, same.item.Seen)
	}
	s.prune()
	return in, verdict.Added
}

func (v *version) known() *store.Item {
	if v == nil {
		return nil
	}
	return &v.item
}

func (s *shelf) versions(key string) []version {
	var found []version
	var v version
	var hash, source []byte
	var epoch, seq int64
	var received sql.NullInt64
	s.t.each(func() {
		copy(v.item.Hash[:], hash)
		copy(v.item.Source[:], source)
		v.item.Epoch, v.item.Seq, v.item.Received = uint64(epoch), uint64(seq), since(received)
		found = append(found, v)
	}, []any{&v.item.Seen, &hash, &v.current, &v.item.Trust, &source, &epoch, &seq, &received, &v.size},
		`SELECT seen, hash, current, trust, source, epoch, seq, received, size FROM items WHERE feed = ? AND key = ?`, s.feed, []byte(key))
	return found
}

func (s *shelf) insert(in store.Item, current bool) int64 {
	return s.t.insert(`INSERT INTO items (feed, key, hash, current, trust, source, epoch, seq, published, received, size, content_type, doc)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.feed, []byte(in.Key), in.Hash[:], current, in.Trust, in.Source[:], int64(in.Epoch), int64(in.Seq),
		millis(in.Published), millis(in.Received), len(in.Doc), in.ContentType, notNil(in.Doc))
}

func (s *shelf) renew(in store.Item) {
	s.t.exec(`UPDATE items SET trust = ?, source = ?, epoch = ?, seq = ?, published = ?, size = ?, content_type = ?, doc = ? WHERE seen = ?`,
		in.Trust, in.Source[:], int64(in.Epoch), int64(in.Seq), millis(in.Published), len(in.Doc), in.ContentType, notNil(in.Doc), in.Seen)
}

// forgetVersion drops an item's oldest version that is not current.
func (s *shelf) forgetVersion(key string) {
	var seen, size int64
	if s.t.one([]any{&seen, &size}, `SELECT seen, size FROM items WHERE feed = ? AND key = ? AND NOT current ORDER BY seen LIMIT 1`,
		s.feed, []byte(key)) {
		s.t.exec(`DELETE FROM items WHERE seen = ?`, seen)
		s.bytes -= size
	}
}

// prune drops the oldest items, with all their versions, until the feed is
// within its limits.
func (s *shelf) prune() {
	for s.t.err == nil && s.items > 1 && (s.items > int64(s.t.limits.Items) || s.bytes > s.t.limits.ItemBytes) {
		var key []byte
		if !s.t.one([]any{&key}, `SELECT key FROM items WHERE feed = ? AND current ORDER BY seen LIMIT 1`, s.feed) {
			return
		}
		var size int64
		s.t.each(func() { s.bytes -= size }, []any{&size}, `DELETE FROM items WHERE feed = ? AND key = ? RETURNING size`, s.feed, key)
		s.items--
	}
}

// notNil keeps an empty document from becoming NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Items implements store.Store.
func (a *Archive) Items(ctx context.Context, feedURL string, limit int) ([]store.Item, error) {
	var items []store.Item
	var key, hash, source []byte
	var epoch, seq int64
	var published, received sql.NullInt64
	i := store.Item{Feed: feedURL}
	err := a.read(ctx, func() {
		next := i
		next.Key = string(key)
		copy(next.Hash[:], hash)
		copy(next.Source[:], source)
		next.Epoch, next.Seq = uint64(epoch), uint64(seq)
		next.Published, next.Received = since(published), since(received)
		items = append(items, next)
		i.Doc = nil
	}, []any{&i.Seen, &key, &hash, &i.Trust, &source, &epoch, &seq, &published, &received, &i.ContentType, &i.Doc},
		`SELECT seen, key, hash, trust, source, epoch, seq, published, received, content_type, doc FROM items
		WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND current ORDER BY seen DESC LIMIT ?`, feedURL, limit)
	return items, err
}

// Known implements store.Store.
func (a *Archive) Known(ctx context.Context, feedURL string) (map[string][32]byte, error) {
	known := make(map[string][32]byte)
	var key, hash []byte
	err := a.read(ctx, func() { known[string(key)] = [32]byte(hash) }, []any{&key, &hash},
		`SELECT key, hash FROM items WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND current`, feedURL)
	return known, err
}

// Count implements store.Store.
func (a *Archive) Count(ctx context.Context, feedURL string) (int, error) {
	var n int
	err := a.read(ctx, func() {}, []any{&n}, `SELECT items FROM feeds WHERE url = ?`, feedURL)
	return n, err
}
