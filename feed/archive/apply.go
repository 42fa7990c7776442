package archive

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// transaction is one write in progress. Its first error stays and turns the
// rest of it into nothing, so that a sequence of statements reads as one.
type transaction struct {
	ctx     context.Context
	ready   *inside
	limits  store.Limits
	damages *damages
	dropped Dropped
	last    map[string]int64 // the last row id given, by table
	err     error
}

// write runs do in a transaction and commits it. The context bounds the wait
// for other writers only: once begun, a transaction is carried through, so that
// its caller always learns whether it happened.
func (a *Archive) write(ctx context.Context, do func(*transaction)) error {
	if a.closed.Load() {
		return a.explain(store.ErrClosed)
	}
	wanted, err := a.transact(ctx, do)
	a.writing.prepare(context.WithoutCancel(ctx), wanted)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return a.explain(err)
}

func (a *Archive) transact(ctx context.Context, do func(*transaction)) (wanted []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := a.writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	t := &transaction{ctx: ctx, ready: a.writing.inside(tx), limits: a.limits, damages: &a.damages, last: make(map[string]int64)}
	do(t)
	if t.err == nil {
		t.err = tx.Commit()
	}
	if t.err == nil {
		a.dropped.add(t.dropped)
	}
	return t.ready.wanted, t.err
}

func (t *transaction) exec(query string, args ...any) {
	if t.err == nil {
		_, t.err = t.ready.exec(t.ctx, query, args)
	}
}

// one scans a single row, and reports whether there was one.
func (t *transaction) one(into []any, query string, args ...any) (found bool) {
	t.each(func() { found = true }, into, query, args...)
	return found && t.err == nil
}

// each scans every row into the same places and calls do after each.
func (t *transaction) each(do func(), into []any, query string, args ...any) {
	if t.err != nil {
		return
	}
	rows, err := t.ready.query(t.ctx, query, args)
	if err != nil {
		t.err = err
		return
	}
	t.fail(scanAll(rows, into, do))
}

// rows reads rows of a table that end with their checksums. do is told of each
// whether it is whole.
func (t *transaction) rows(table string, do func(row []any, whole bool), query string, args ...any) {
	if t.err != nil {
		return
	}
	rows, err := t.ready.query(t.ctx, query, args)
	if err != nil {
		t.err = err
		return
	}
	t.fail(scanRows(rows, table, do))
}

// fail notes an error, unless there was one before.
func (t *transaction) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// newID returns the id of the next row of a table, so that the row's checksum can
// cover it.
func (t *transaction) newID(table string) int64 {
	last, ok := t.last[table]
	if !ok {
		t.one([]any{&last}, `SELECT seq FROM sqlite_sequence WHERE name = ?`, table)
	}
	t.last[table] = last + 1
	return last + 1
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

// scanRows reads rows as they are: until its checksum was looked at, a row may
// hold anything in any column.
func scanRows(rows *sql.Rows, table string, do func(row []any, whole bool)) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do(row, whole(table, row))
	}
	return rows.Err()
}

// Apply implements store.Store.
func (a *Archive) Apply(ctx context.Context, b store.Batch) ([]store.Item, error) {
	leaves := a.prepare(b.Items) // not while others wait for the writer
	var added []store.Item
	err := a.write(ctx, func(t *transaction) {
		if b.Line != nil {
			t.putLine(*b.Line)
		}
		if b.Feed != nil {
			t.putFeed(*b.Feed)
		}
		added = t.putItems(leaves)
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

// millis is a time as a column holds it, NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// since is what millis wrote.
func since(column any) time.Time {
	if n, ok := column.(int64); ok {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

// blob is bytes as a column holds them: empty ones are not NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// orNull is bytes as a column holds them that can be missing.
func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// key32 is a group, a source or a hash as a column holds it, nothing for zero.
func key32(k [32]byte) []byte {
	if k == [32]byte{} {
		return []byte{}
	}
	return k[:]
}

// as32 is what key32 wrote.
func as32(column any) (k [32]byte) {
	b, _ := column.([]byte)
	copy(k[:], b)
	return k
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
