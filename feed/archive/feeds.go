package archive

import (
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

func (t *transaction) putFeed(f store.Feed) {
	var id int64
	if !t.one([]any{&id}, `SELECT id FROM feeds WHERE url = ?`, f.URL) {
		t.one([]any{&id}, `SELECT coalesce(max(id), 0) + 1 FROM feeds`)
	}
	t.exec(`INSERT INTO feeds (`+feedColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET (grp, asked, read, content_type, etag, last_modified, fetched,
			not_before, interval, moved, local, pin, pin_how, pin_since, cert, failure, origin, sum) =
		(excluded.grp, excluded.asked, excluded.read, excluded.content_type, excluded.etag, excluded.last_modified, excluded.fetched,
			excluded.not_before, excluded.interval, excluded.moved, excluded.local, excluded.pin, excluded.pin_how, excluded.pin_since,
			excluded.cert, excluded.failure, excluded.origin, excluded.sum)`, feedRow(id, f)...)
	t.damages.mended("feeds", id)
	if f.Doc != nil {
		// An unchanged document costs no write.
		t.exec(`INSERT INTO documents (`+documentColumns+`) VALUES (?, ?, ?)
			ON CONFLICT (feed) DO UPDATE SET body = excluded.body, sum = excluded.sum WHERE body <> excluded.body OR sum <> excluded.sum`,
			summed("documents", id, f.Doc)...)
		t.damages.mended("documents", id)
	}
}

func (t *transaction) putLine(next store.Line) {
	t.rows("lines", func(row []any, whole bool) {
		switch have := lineIf(row, whole); {
		case !whole:
			t.err = fmt.Errorf("%w: the state of line %x", ErrDamaged, next.Source[:8])
		case !have.Allows(next):
			t.err = fmt.Errorf("line %x at %d/%d, asked to keep %d/%d: %w",
				have.Source[:8], have.Epoch, have.Seq, next.Epoch, next.Seq, store.ErrLine)
		}
	}, `SELECT `+lineColumns+` FROM lines WHERE grp = ? AND source = ?`, next.Group[:], next.Source[:])
	t.exec(`INSERT INTO lines (`+lineColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (grp, source)
		DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, head = excluded.head, beat = excluded.beat, sum = excluded.sum`,
		lineRow(next)...)
}

func lineIf(row []any, whole bool) (l store.Line) {
	if whole {
		l = lineOf(row)
	}
	return l
}
