package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// transaction is one write in progress. Its first error stays and turns the
// rest of it into nothing, so that a sequence of statements reads as one.
type transaction struct {
	ctx    context.Context
	tx     *sql.Tx
	limits store.Limits
	err    error
}

// write runs do in a transaction and commits it. The context bounds the wait
// for other writers only: once begun, a transaction is carried through, so that
// its caller always learns whether it happened.
func (a *Archive) write(ctx context.Context, do func(*transaction)) error {
	if a.closed.Load() {
		return a.explain(store.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := a.writer.Conn(ctx)
	if err != nil {
		return a.explain(err)
	}
	defer conn.Close()
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return a.explain(err)
	}
	defer tx.Rollback()
	t := &transaction{ctx: ctx, tx: tx, limits: a.limits}
	do(t)
	if t.err == nil {
		t.err = tx.Commit()
	}
	return a.explain(t.err)
}

func (t *transaction) exec(query string, args ...any) sql.Result {
	if t.err != nil {
		return nil
	}
	result, err := t.tx.ExecContext(t.ctx, query, args...)
	t.err = err
	return result
}

// insert runs an INSERT and returns the row's id.
func (t *transaction) insert(query string, args ...any) int64 {
	result := t.exec(query, args...)
	if t.err != nil {
		return 0
	}
	var id int64
	id, t.err = result.LastInsertId()
	return id
}

// one scans a single row, and reports whether there was one.
func (t *transaction) one(into []any, query string, args ...any) bool {
	if t.err != nil {
		return false
	}
	err := t.tx.QueryRowContext(t.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	t.err = err
	return err == nil
}

// each scans every row into the same places and calls do after each.
func (t *transaction) each(do func(), into []any, query string, args ...any) {
	if t.err != nil {
		return
	}
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		t.err = err
		return
	}
	t.err = scanAll(rows, into, do)
}

func scanAll(rows *sql.Rows, into []any, do func()) error {
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do()
	}
	return rows.Err()
}

// Apply implements store.Store.
func (a *Archive) Apply(ctx context.Context, b store.Batch) ([]store.Item, error) {
	var added []store.Item
	err := a.write(ctx, func(t *transaction) {
		if b.Line != nil {
			t.putLine(*b.Line)
		}
		if b.Feed != nil {
			t.putFeed(*b.Feed)
		}
		added = t.putItems(b.Items)
		for _, e := range b.Envelopes {
			t.putEnvelope(e)
		}
		t.endLeases(b.Envelopes)
		for _, c := range b.Cursors {
			t.putCursor(c)
		}
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

func (t *transaction) putFeed(f store.Feed) {
	var id int64
	t.one([]any{&id}, `INSERT INTO feeds (url, grp, asked, read, content_type, etag, last_modified, fetched,
			not_before, interval, moved, local, pin, pin_how, pin_since, cert, failure, origin)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (url) DO UPDATE SET (grp, asked, read, content_type, etag, last_modified, fetched,
			not_before, interval, moved, local, pin, pin_how, pin_since, cert, failure, origin) =
		(excluded.grp, excluded.asked, excluded.read, excluded.content_type, excluded.etag, excluded.last_modified, excluded.fetched,
			excluded.not_before, excluded.interval, excluded.moved, excluded.local, excluded.pin, excluded.pin_how, excluded.pin_since,
			excluded.cert, excluded.failure, excluded.origin)
		RETURNING id`,
		f.URL, f.Group[:], millis(f.Asked), millis(f.Read), f.ContentType, f.Validators.ETag, f.Validators.LastModified, millis(f.Fetched),
		millis(f.NotBefore), int64(f.Interval), f.Moved, f.Local, f.Pin.Fingerprint[:], f.Pin.How, millis(f.Pin.Since), f.Cert, f.Failure, f.Origin)
	if f.Doc != nil {
		// An unchanged document costs no write.
		t.exec(`INSERT INTO documents (feed, body) VALUES (?, ?)
			ON CONFLICT (feed) DO UPDATE SET body = excluded.body WHERE body <> excluded.body`, id, f.Doc)
	}
}

func (t *transaction) putLine(next store.Line) {
	var epoch, seq, beat int64
	var head []byte
	if t.one([]any{&epoch, &seq, &head, &beat}, `SELECT epoch, seq, head, beat FROM lines WHERE grp = ? AND source = ?`,
		next.Group[:], next.Source[:]) {
		have := store.Line{Group: next.Group, Source: next.Source, Epoch: uint64(epoch), Seq: uint64(seq), Beat: uint64(beat)}
		copy(have.Head[:], head)
		if !have.Allows(next) {
			t.err = fmt.Errorf("line %x at %d/%d, asked to keep %d/%d: %w",
				have.Source[:8], have.Epoch, have.Seq, next.Epoch, next.Seq, store.ErrLine)
		}
	}
	t.exec(`INSERT INTO lines (grp, source, epoch, seq, head, beat) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (grp, source) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq, head = excluded.head, beat = excluded.beat`,
		next.Group[:], next.Source[:], int64(next.Epoch), int64(next.Seq), next.Head[:], int64(next.Beat))
}

// DropFeed implements store.Store.
func (a *Archive) DropFeed(ctx context.Context, url string) error {
	return a.write(ctx, func(t *transaction) {
		var group []byte
		if t.one([]any{&group}, `DELETE FROM feeds WHERE url = ? RETURNING grp`, url) {
			t.exec(`DELETE FROM envelopes WHERE grp = ? AND until IS NULL`, group)
			t.exec(`DELETE FROM cursors WHERE grp = ?`, group)
		}
	})
}

// millis is a time as a column holds it, NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// since is what millis wrote.
func since(column sql.NullInt64) time.Time {
	if !column.Valid {
		return time.Time{}
	}
	return time.UnixMilli(column.Int64).UTC()
}
