package archive

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// OpenReading opens an archive to be looked at, while another process may work
// with it. Every write is refused, and so is a file of an older schema: only Open
// migrates. The file is not checked, so that Check and Export can be asked what
// of a damaged one is whole.
func OpenReading(path string) (*Archive, error) {
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	open := func() (*sql.DB, error) { return sql.Open("sqlite", dsn(path)+"&_pragma=query_only(1)") }
	writer, err := open()
	if err != nil {
		return nil, explain(path, err)
	}
	ctx := context.Background()
	writer.SetMaxOpenConns(1)
	for _, step := range []func(context.Context, *sql.DB, string) error{checkSQLite, checkOurs, checkMigrated} {
		if err := step(ctx, writer, path); err != nil {
			writer.Close()
			return nil, err
		}
	}
	reader, err := open()
	if err != nil {
		writer.Close()
		return nil, explain(path, err)
	}
	return assemble(path, store.Limits{}, writer, reader), nil
}

func checkMigrated(ctx context.Context, db *sql.DB, path string) error {
	var version int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return explain(path, err)
	}
	if version != len(migrations) {
		return &FileError{path, fmt.Errorf("its schema is %d, not yet %d", version, len(migrations)), "start `feedtree proxy` with it once, which brings it up to date"}
	}
	return nil
}

// Check reads everything and returns what is not as it was written, in the order
// found. progress, which may be nil, is told how much is done. An error means that
// the check could not be carried through.
func (a *Archive) Check(ctx context.Context, progress func(done float64)) ([]Damage, error) {
	if progress == nil {
		progress = func(float64) {}
	}
	own, err := sql.Open("sqlite", dsn(a.path)+"&_pragma=query_only(1)")
	if err != nil {
		return nil, a.explain(err)
	}
	defer own.Close()
	own.SetMaxOpenConns(1)
	c := &checking{a: a, ctx: ctx, progress: progress, own: own}
	for _, step := range []func() error{c.structure, c.tables, c.items, c.counts, c.words} {
		if err := step(); err != nil {
			if ctx.Err() != nil {
				return c.found, ctx.Err()
			}
			if !errors.Is(err, ErrDamaged) && !unreadable(err) {
				return c.found, err
			}
			c.note("file", 0, err.Error())
		}
	}
	return c.found, nil
}

// checking is a check in progress.
type checking struct {
	a        *Archive
	ctx      context.Context
	progress func(float64)
	own      *sql.DB // a connection that remembers nothing of the file, as the index's does
	found    []Damage
	expected uint64 // of all words of all current items, the hashes of (word, seen)
}

func (c *checking) note(table string, row int64, what string) {
	d := Damage{table, row, what}
	c.found = append(c.found, d)
	c.a.damages.note(d)
}

// structure lets SQLite look at its pages, indexes and constraints.
func (c *checking) structure() error {
	var finding any
	rows, err := c.own.QueryContext(c.ctx, `PRAGMA integrity_check(1000)`)
	if err == nil {
		err = scanAll(rows, []any{&finding}, func() {
			if text := fmt.Sprint(finding); text != "ok" {
				c.note("file", 0, text)
			}
		})
	}
	if err != nil {
		return c.a.explain(err)
	}
	c.progress(0.1)
	var table, parent any
	var row sql.NullInt64
	return c.a.read(c.ctx, func() {
		c.note(fmt.Sprint(table), row.Int64, fmt.Sprintf("it belongs to a row of %v that is not there", parent))
	},
		[]any{&table, &row, &parent}, `SELECT "table", rowid, parent FROM pragma_foreign_key_check`)
}

// tables holds the rows of all tables but items against their checksums.
func (c *checking) tables() error {
	for _, t := range sums3 {
		err := c.a.readRows(c.ctx, t.table, func(row []any, whole bool) {
			if !whole {
				id, _ := row[0].(int64)
				c.note(t.table, id, altered)
			}
		}, `SELECT `+t.columns+` FROM `+t.table)
		if err != nil {
			return err
		}
	}
	return nil
}

// items reads every version of every item.
func (c *checking) items() error {
	var all, last float64
	if err := c.a.read(c.ctx, func() {}, []any{&all, &last}, `SELECT count(*) + 0.0, coalesce((SELECT max(seen) FROM items), 0) -
		coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'items'), 0) + 0.0 FROM items`); err != nil {
		return err
	}
	if last > 0 {
		c.note("sqlite_sequence", 0, "the number of the last item is behind the items")
	}
	done := 0.0
	return c.a.readRows(c.ctx, "items", func(row []any, _ bool) {
		if done++; int(done)%1000 == 0 {
			c.progress(0.1 + 0.5*done/all)
		}
		l, ok := openLeaf(row)
		if name, _ := row[len(row)-1].(int64); !ok || name != nameOf(l.item.Key) {
			id, _ := row[0].(int64)
			c.note("items", id, altered)
			return
		}
		if l.current {
			c.expect(l)
		}
	}, `SELECT `+itemColumns+`, name FROM items ORDER BY seen`)
}

// expect adds the words that the index must hold of an item.
func (c *checking) expect(l leaf) {
	known := make(map[string]bool)
	for word := range bytes.FieldsSeq(searchable(l.item.Doc)) {
		if w := string(word); !known[w] {
			known[w] = true
			c.expected += wordAt(w, l.item.Seen)
		}
	}
}

// wordAt is a number for a word of an item. Sums of them do not depend on order.
func wordAt(word string, seen int64) uint64 {
	h := uint64(14695981039346656037) ^ uint64(seen)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

// counts holds what feeds say of their items against the items.
func (c *checking) counts() error {
	var id, items, size, held, bytes int64
	return c.a.read(c.ctx, func() {
		if items != held || size != bytes {
			c.note("feeds", id, fmt.Sprintf("it counts %d items of %d bytes, there are %d of %d", items, size, held, bytes))
		}
	}, []any{&id, &items, &size, &held, &bytes}, `SELECT id, items, bytes, (SELECT count(*) FROM items WHERE feed = id AND current),
		(SELECT coalesce(sum(size), 0) FROM items WHERE feed = id) FROM feeds`)
}

// words holds the index against what the items say.
func (c *checking) words() error {
	if _, err := c.own.ExecContext(c.ctx, `PRAGMA query_only=0`); err != nil { // what follows is in its memory alone
		return c.a.explain(err)
	}
	if _, err := c.own.ExecContext(c.ctx, `CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'search', 'instance')`); err != nil {
		return c.a.explain(err)
	}
	rows, err := c.own.QueryContext(c.ctx, `SELECT term, doc FROM temp.words`)
	if err != nil {
		return c.a.explain(err)
	}
	var held uint64
	var word string
	var seen, n int64
	err = scanAll(rows, []any{&word, &seen}, func() {
		held += wordAt(word, seen)
		if n++; n%100_000 == 0 {
			c.progress(0.6 + 0.4*(1-1/(1+float64(n)/1e7)))
		}
	})
	if err != nil {
		return c.a.explain(err)
	}
	if held != c.expected {
		c.note("search", 0, "the index of words does not hold the words of the items: `feedtree archive check --reindex` makes it anew")
	}
	return nil
}

// Reindex makes the index of words anew, in one transaction.
func (a *Archive) Reindex(ctx context.Context) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`DROP TABLE search`)
		t.exec(searchTable)
		t.exec(searchOptions)
		var after int64
		for more := true; more && t.err == nil; {
			var found []leaf
			t.rows("items", func(row []any, _ bool) {
				after, _ = row[0].(int64)
				if l, ok := openLeaf(row); ok {
					found = append(found, l)
				}
			}, `SELECT `+itemColumns+` FROM items WHERE current AND seen > ? ORDER BY seen LIMIT 500`, after)
			for _, l := range found {
				t.exec(indexItem, l.item.Seen, searchable(l.item.Doc))
			}
			more = len(found) > 0
		}
	})
}
