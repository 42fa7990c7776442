package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed/store"
)

// An export is lines of JSON, compressed with zstd: first what the file is, then
// one record a line. Feeds come before their items, those before the envelopes
// that prove them; of an item's versions the current one comes last.
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
			err = step()
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

func (e *exporting) items() error {
	var all int
	if err := e.a.read(e.ctx, func() {}, []any{&all}, `SELECT count(*) FROM items`); err != nil {
		return err
	}
	return e.rows("items", func(row []any, _ bool) (record, bool) {
		l, ok := openLeaf(row)
		if l.item.Feed = e.urls[l.feed]; !ok || l.item.Feed == "" {
			return record{}, false
		}
		if e.held.Items++; e.progress != nil && e.held.Items%1000 == 0 {
			e.progress(float64(e.held.Items) / float64(all+1))
		}
		return record{Item: &l.item}, true
	}, `SELECT `+itemColumns+` FROM items AS i ORDER BY
		coalesce((SELECT seen FROM items WHERE feed = i.feed AND name = i.name AND key = i.key AND current), seen), current, seen`)
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
			return fmt.Errorf("%s: %w", t.table, err)
		}
	}
	return nil
}
