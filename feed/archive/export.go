package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed/store"
)

// An export is lines of JSON, compressed with zstd: first what the file is, then
// one record a line. Feeds come before their items, those before the envelopes
// that prove them; versions of items that are not current come before those that are.
const (
	exportKind    = "feedtree archive"
	exportVersion = 1
)

// record is one line of an export. One field is set.
type record struct {
	Kind     string          `json:"kind,omitempty"`
	Version  int             `json:"version,omitempty"`
	Feed     *store.Feed     `json:"feed,omitempty"`
	Item     *store.Item     `json:"item,omitempty"`
	Envelope *store.Envelope `json:"envelope,omitempty"`
	Cursor   *store.Cursor   `json:"cursor,omitempty"`
	Line     *store.Line     `json:"line,omitempty"`
	Peer     *store.Peer     `json:"peer,omitempty"`
	Setting  *setting        `json:"setting,omitempty"`
	End      *Exported       `json:"end,omitempty"` // the last line: what the file holds
}

type setting struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// Exported counts what an export holds.
type Exported struct {
	Feeds, Items, Envelopes, Others int
	Damaged                         int // rows left out because they are not as they were written
	Refused                         int `json:",omitempty"` // envelopes that an import left out: they are not signed, or by another
}

// Export writes all that the archive holds, but what it holds under a lease for
// others, to w: items with all their versions, and the envelopes that prove them.
// What is damaged is left out and counted. progress may be nil.
func (a *Archive) Export(ctx context.Context, w io.Writer, progress func(done float64)) (Exported, error) {
	packed, err := zstd.NewWriter(w)
	if err != nil {
		return Exported{}, err
	}
	buffered := bufio.NewWriterSize(packed, 1<<20)
	e := &exporting{a: a, ctx: ctx, out: json.NewEncoder(buffered), progress: progress}
	e.out.SetEscapeHTML(false)
	e.write(record{Kind: exportKind, Version: exportVersion})
	for _, step := range []func() error{e.feeds, e.items, e.envelopes, e.rest} {
		if err == nil {
			err = e.unlessDamaged(step())
		}
	}
	if err == nil {
		e.write(record{End: &e.held})
		err = e.err
	}
	if err == nil {
		err = buffered.Flush()
	}
	if closed := packed.Close(); err == nil {
		err = closed
	}
	return e.held, err
}

// exporting is an export in progress.
type exporting struct {
	a        *Archive
	ctx      context.Context
	out      *json.Encoder
	progress func(float64)
	urls     map[int64]string
	held     Exported
	err      error
}

func (e *exporting) write(r record) {
	if e.err == nil {
		e.err = e.out.Encode(r)
	}
}

// unlessDamaged counts what SQLite cannot read of a table, and lets the export go on
// with the next.
func (e *exporting) unlessDamaged(err error) error {
	if err == nil || e.err != nil || !errors.Is(err, ErrDamaged) {
		return err
	}
	e.a.damages.note(Damage{Table: "file", What: err.Error()})
	e.held.Damaged++
	return nil
}

// rows writes what a query finds, and leaves out what is damaged.
func (e *exporting) rows(table string, of func(row []any, whole bool) (record, bool), query string, args ...any) error {
	err := e.a.readRows(e.ctx, table, func(row []any, whole bool) {
		if r, ok := of(row, whole); ok {
			e.write(r)
		} else {
			e.held.Damaged++
		}
	}, query, args...)
	if err == nil {
		err = e.err
	}
	return err
}

func (e *exporting) feeds() error {
	docs := make(map[int64][]byte)
	err := e.a.readRows(e.ctx, "documents", func(row []any, whole bool) {
		if whole {
			docs[row[0].(int64)] = row[1].([]byte)
		} else {
			e.held.Damaged++
		}
	}, `SELECT `+documentColumns+` FROM documents`)
	if err != nil {
		return err
	}
	e.urls = make(map[int64]string)
	return e.rows("feeds", func(row []any, whole bool) (record, bool) {
		if !whole {
			return record{}, false
		}
		f, id := feedOf(row), row[0].(int64)
		if f.Doc = docs[id]; f.Doc == nil {
			f.Validators = store.Validators{}
		}
		e.urls[id] = f.URL
		e.held.Feeds++
		return record{Feed: &f}, true
	}, `SELECT `+feedColumns+` FROM feeds ORDER BY url`)
}

// items writes all versions that are not current, then those that are, each in the
// order of arrival: so the current one of an item is imported last.
func (e *exporting) items() error {
	var last int64
	if err := e.a.read(e.ctx, func() {}, []any{&last}, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'items'`); err != nil {
		return err
	}
	had := e.held
	err := e.rows("items", e.item(last), `SELECT `+itemColumns+` FROM items ORDER BY current, seen`)
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	// Some pages cannot be read. What stands on others is found one by one; what was
	// written already is written again, which changes nothing.
	e.held = had
	for _, current := range []int64{0, 1} {
		for seen := int64(1); seen <= last; seen++ {
			err := e.rows("items", e.item(last), `SELECT `+itemColumns+` FROM items WHERE seen = ? AND current = ?`, seen, current)
			if errors.Is(err, ErrDamaged) {
				e.held.Damaged += int(current) // once for both
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// item makes the record of an item's row.
func (e *exporting) item(last int64) func(row []any, _ bool) (record, bool) {
	return func(row []any, _ bool) (record, bool) {
		l, ok := openLeaf(row)
		if l.item.Feed = e.urls[l.feed]; !ok || l.item.Feed == "" {
			return record{}, false
		}
		if e.held.Items++; e.progress != nil && e.held.Items%1000 == 0 {
			e.progress(min(1, float64(e.held.Items)/float64(last)))
		}
		return record{Item: &l.item}, true
	}
}

func (e *exporting) envelopes() error {
	return e.rows("envelopes", func(row []any, whole bool) (record, bool) {
		if !whole {
			return record{}, false
		}
		env := envelopeOf(row)
		e.held.Envelopes++
		return record{Envelope: &env}, true
	}, `SELECT `+envelopeColumns+` FROM envelopes WHERE until IS NULL ORDER BY arrival`)
}

func (e *exporting) rest() error {
	for _, t := range []struct {
		table, columns string
		of             func(row []any) (record, error)
	}{
		{"cursors", cursorColumns, func(row []any) (record, error) { c := cursorOf(row); return record{Cursor: &c}, nil }},
		{"lines", lineColumns, func(row []any) (record, error) { l := lineOf(row); return record{Line: &l}, nil }},
		{"peers", peerColumns, func(row []any) (record, error) { p, err := peerOf(row); return record{Peer: &p}, err }},
		{"settings", settingColumns, func(row []any) (record, error) {
			return record{Setting: &setting{row[0].(string), row[1].([]byte)}}, nil
		}},
	} {
		err := e.rows(t.table, func(row []any, whole bool) (record, bool) {
			if !whole {
				return record{}, false
			}
			r, err := t.of(row)
			e.held.Others++
			return r, err == nil
		}, `SELECT `+t.columns+` FROM `+t.table)
		if err != nil {
			if err = e.unlessDamaged(err); err != nil {
				return fmt.Errorf("%s: %w", t.table, err)
			}
		}
	}
	return nil
}
