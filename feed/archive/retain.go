package archive

import (
	"context"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
)

// Dropped counts what was let go since the archive was opened, by why.
type Dropped struct {
	Versions uint64 // versions of an item beyond their number
	Count    uint64 // items beyond their number in a feed
	Bytes    uint64 // items beyond the bytes of a feed, or of all
	Age      uint64 // items received too long ago
	Proofs   uint64 // envelopes that proved nothing that is still held, or too many bytes of them
	Damaged  uint64 // versions that were not as written, replaced by what came again
}

type droppedCounts struct {
	mu  sync.Mutex
	sum Dropped
}

func (c *droppedCounts) add(d Dropped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Versions += d.Versions
	c.sum.Count += d.Count
	c.sum.Bytes += d.Bytes
	c.sum.Age += d.Age
	c.sum.Proofs += d.Proofs
	c.sum.Damaged += d.Damaged
}

// Dropped returns what was let go since the archive was opened.
func (a *Archive) Dropped() Dropped {
	a.dropped.mu.Lock()
	defer a.dropped.mu.Unlock()
	return a.dropped.sum
}

// Retention bounds what is kept beyond store.Limits, which bound each feed. A
// zero field means no bound.
type Retention struct {
	Age   time.Duration // since an item was received
	Bytes int64         // of item documents over all feeds: the items received first go first
}

const (
	retainStep  = 100       // items let go in one transaction: others write in between
	proofBytes  = 256 << 20 // envelopes kept as proofs, per group
	vacuumPages = "128"     // given back to the disk in one transaction
	vacuumSpare = 512       // free pages that are kept for what comes next

	incrementalVacuum = 2 // what PRAGMA auto_vacuum says of a file that can shrink in steps
)

// Retain lets go what is too old or too much at the time now, and gives the space
// back to the disk where the file allows it. It works in small steps between
// which others write, and stops with ctx; what it did by then is done. What a feed's
// document still shows is kept whatever its age: it would come back as news.
func (a *Archive) Retain(ctx context.Context, r Retention, now time.Time) error {
	feeds, err := a.feedIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range feeds {
		if err := a.retainFeed(ctx, id, r, now); err != nil {
			return err
		}
	}
	if r.Bytes > 0 {
		if err := a.retainBytes(ctx, r.Bytes); err != nil {
			return err
		}
	}
	if err := a.retainProofs(ctx); err != nil {
		return err
	}
	return a.vacuum(ctx)
}

func (a *Archive) feedIDs(ctx context.Context) ([]int64, error) {
	var ids []int64
	var id int64
	err := a.read(ctx, func() { ids = append(ids, id) }, []any{&id}, `SELECT id FROM feeds ORDER BY id`)
	return ids, err
}

// retainFeed lets a feed's old items go, a few at a time.
func (a *Archive) retainFeed(ctx context.Context, id int64, r Retention, now time.Time) error {
	if r.Age <= 0 {
		return nil
	}
	before := now.Add(-r.Age).UnixMilli()
	after := int64(0)
	for more := true; more; {
		err := a.write(ctx, func(t *transaction) {
			s := t.shelfOf(id)
			var seen int64
			var key []byte
			var keys []string
			t.each(func() { keys, after = append(keys, string(key)), seen }, []any{&seen, &key},
				`SELECT seen, key FROM items WHERE feed = ? AND current AND seen > ? AND received < ? ORDER BY seen LIMIT ?`, id, after, before, retainStep)
			for _, k := range keys {
				if !s.shows(k) {
					s.forget(k)
					t.dropped.Age++
				}
			}
			more = len(keys) == retainStep
			s.close()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// retainBytes lets items go, those that came first, until all together are within
// the limit, or only what is still shown is left.
func (a *Archive) retainBytes(ctx context.Context, limit int64) error {
	after := int64(0)
	for more := true; more; {
		err := a.write(ctx, func(t *transaction) {
			var held int64
			t.one([]any{&held}, `SELECT coalesce(sum(bytes), 0) FROM feeds`)
			more = held > limit
			if more {
				after, more = t.forgetFirst(after, held-limit)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetFirst lets go some of the items that came first, about so many bytes of
// them, and returns up to where it looked.
func (t *transaction) forgetFirst(after, bytes int64) (upTo int64, more bool) {
	type one struct {
		feed int64
		key  string
	}
	var oldest []one
	var seen, id int64
	var key []byte
	t.each(func() { oldest, upTo = append(oldest, one{id, string(key)}), seen }, []any{&seen, &id, &key},
		`SELECT seen, feed, key FROM items WHERE seen > ? AND current ORDER BY seen LIMIT ?`, after, retainStep)
	shelves := make(map[int64]*shelf)
	for _, o := range oldest {
		s := shelves[o.feed]
		if s == nil {
			s = t.shelfOf(o.feed)
			shelves[o.feed] = s
		}
		if bytes <= 0 || s.shows(o.key) {
			continue
		}
		had := s.bytes
		s.forget(o.key)
		bytes -= had - s.bytes
		t.dropped.Bytes++
	}
	for _, s := range shelves {
		s.close()
	}
	return upTo, len(oldest) == retainStep
}

// retainProofs lets envelopes go that prove nothing any more, and the first ones of
// a group that has too many bytes of them.
func (a *Archive) retainProofs(ctx context.Context) error {
	var groups [][]byte
	var group []byte
	if err := a.read(ctx, func() { groups = append(groups, append([]byte(nil), group...)) }, []any{&group},
		`SELECT DISTINCT grp FROM envelopes WHERE kept`); err != nil {
		return err
	}
	for _, g := range groups {
		err := a.write(ctx, func(t *transaction) {
			var size, held int64
			count := func() { t.dropped.Proofs++ }
			t.each(count, []any{&size}, `DELETE FROM envelopes WHERE grp = ? AND kept AND NOT EXISTS (SELECT 1 FROM feeds JOIN items ON feed = id
				WHERE feeds.grp = envelopes.grp AND items.epoch = envelopes.epoch AND items.seq = envelopes.seq
				AND items.source = envelopes.source AND items.source <> x'') RETURNING size`, g)
			t.one([]any{&held}, `SELECT coalesce(sum(size), 0) FROM envelopes WHERE grp = ? AND kept`, g)
			for t.err == nil && held > proofBytes {
				t.each(count, []any{&size}, `DELETE FROM envelopes WHERE arrival = (SELECT min(arrival) FROM envelopes WHERE grp = ? AND kept) RETURNING size`, g)
				held -= size
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// vacuum gives free pages back to the disk, some at a time, as long as there are
// more than a quarter of the file. Files of the first two schemas keep theirs for
// what comes next.
func (a *Archive) vacuum(ctx context.Context) error {
	for {
		var free, pages, mode int64
		if err := a.read(ctx, func() {}, []any{&free, &pages, &mode}, `SELECT (SELECT freelist_count FROM pragma_freelist_count),
			(SELECT page_count FROM pragma_page_count), (SELECT auto_vacuum FROM pragma_auto_vacuum)`); err != nil {
			return err
		}
		if mode != incrementalVacuum || free <= vacuumSpare || free <= pages/4 {
			return nil
		}
		if err := a.write(ctx, func(t *transaction) {
			t.exec(`PRAGMA incremental_vacuum(` + vacuumPages + `)`)
		}); err != nil {
			return err
		}
	}
}

func (t *transaction) shelfOf(id int64) *shelf {
	s := &shelf{t: t, feed: id}
	t.one([]any{&s.items, &s.bytes}, `SELECT items, bytes FROM feeds WHERE id = ?`, id)
	return s
}

// shows reports whether the feed's document, as it was fetched last, holds an item.
func (s *shelf) shows(key string) bool {
	if s.shown == nil {
		s.shown = make(map[string]bool)
		var contentType string
		s.t.one([]any{&contentType}, `SELECT content_type FROM feeds WHERE id = ?`, s.feed)
		s.t.rows("documents", func(row []any, whole bool) {
			body, _ := row[1].([]byte)
			if doc, err := feed.Parse(body, contentType); whole && err == nil {
				for _, it := range doc.Items {
					s.shown[it.Key()] = true
				}
			}
		}, `SELECT `+documentColumns+` FROM documents WHERE feed = ?`, s.feed)
	}
	return s.shown[key]
}

// prune drops the oldest items, with all their versions, until the feed is
// within its limits, but none that its document shows: where it shows that much,
// the limits give way.
func (s *shelf) prune() {
	over := func() bool { return s.items > int64(s.t.limits.Items) || s.bytes > s.t.limits.ItemBytes }
	if !over() || s.items <= 1 || s.t.err != nil {
		return
	}
	s.flush()
	var keys []string
	var key []byte
	for after := int64(0); over() && s.items > 1 && s.t.err == nil; {
		keys = keys[:0]
		s.t.each(func() { keys = append(keys, string(key)) }, []any{&after, &key},
			`SELECT seen, key FROM items WHERE feed = ? AND current AND seen > ? ORDER BY seen LIMIT ?`, s.feed, after, retainStep)
		for _, k := range keys {
			if !over() || s.items <= 1 {
				return
			}
			if s.shows(k) {
				continue
			}
			if s.items > int64(s.t.limits.Items) {
				s.t.dropped.Count++
			} else {
				s.t.dropped.Bytes++
			}
			s.forget(k)
		}
		if len(keys) < retainStep {
			return
		}
	}
}
