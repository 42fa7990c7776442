package archive

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// query asks one of the connections that only read.
func (a *Archive) query(ctx context.Context, do func(*sql.Rows) error, query string, args ...any) error {
	if a.closed.Load() {
		return a.explain(store.ErrClosed)
	}
	ready, err := a.reading.get(ctx, query)
	var rows *sql.Rows
	if err == nil {
		rows, err = ready.QueryContext(ctx, args...)
	}
	if err == nil {
		err = do(rows)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return a.explain(err)
}

// read scans every row into the same places and calls do after each.
func (a *Archive) read(ctx context.Context, do func(), into []any, query string, args ...any) error {
	return a.query(ctx, func(rows *sql.Rows) error { return scanAll(rows, into, do) }, query, args...)
}

// readRows reads rows of a table that end with their checksums. do is told of each
// whether it is whole.
func (a *Archive) readRows(ctx context.Context, table string, do func(row []any, whole bool), query string, args ...any) error {
	return a.query(ctx, func(rows *sql.Rows) error { return scanRows(rows, table, do) }, query, args...)
}

// withhold notes a row that is not as it was written.
func (a *Archive) withhold(table string, id any) {
	row, _ := id.(int64)
	a.damages.note(Damage{Table: table, Row: row, What: altered})
}

// refuse is the answer where leaving a damaged row out would do harm: without its
// record a feed's key would be trusted on first sight once more, without its
// state a line would fork.
func (a *Archive) refuse(table string, id any, what string) error {
	a.withhold(table, id)
	return damaged(a.path, fmt.Errorf("%s is not as it was written", what))
}

// Feeds implements store.Store.
func (a *Archive) Feeds(ctx context.Context) ([]store.Feed, error) {
	var found []store.Feed
	var refused error
	err := a.readRows(ctx, "feeds", func(row []any, whole bool) {
		if whole {
			found = append(found, feedOf(row))
		} else {
			refused = a.refuse("feeds", row[0], fmt.Sprintf("the record of the feed %.200q", row[1]))
		}
	}, `SELECT `+feedColumns+` FROM feeds ORDER BY url`)
	if err == nil {
		err = refused
	}
	return found, err
}

// Feed implements store.Store. A document that is damaged is left out: the next
// poll brings it.
func (a *Archive) Feed(ctx context.Context, url string) (store.Feed, bool, error) {
	var f store.Feed
	var found bool
	var refused error
	err := a.readRows(ctx, "feeds", func(row []any, whole bool) {
		if found = whole; whole {
			f = feedOf(row)
		} else {
			refused = a.refuse("feeds", row[0], "the record of the feed "+url)
		}
	}, `SELECT `+feedColumns+` FROM feeds WHERE url = ?`, url)
	if err == nil {
		err = refused
	}
	if err != nil || !found {
		return store.Feed{}, false, err
	}
	err = a.readRows(ctx, "documents", func(row []any, whole bool) {
		if whole {
			f.Doc = row[1].([]byte)
		} else {
			a.withhold("documents", row[0])
			f.Validators = store.Validators{} // or the origin would say that it is unchanged
		}
	}, `SELECT `+documentColumns+` FROM documents WHERE feed = (SELECT id FROM feeds WHERE url = ?)`, url)
	return f, true, err
}

// Cursors implements store.Store. Behind one that is damaged the line is heard
// again.
func (a *Archive) Cursors(ctx context.Context, group [32]byte) ([]store.Cursor, error) {
	var cursors []store.Cursor
	err := a.readRows(ctx, "cursors", func(row []any, whole bool) {
		if whole {
			cursors = append(cursors, cursorOf(row))
		} else {
			a.withhold("cursors", row[0])
		}
	}, `SELECT `+cursorColumns+` FROM cursors WHERE grp = ? ORDER BY source`, group[:])
	return cursors, err
}

// Lines implements store.Store.
func (a *Archive) Lines(ctx context.Context, group [32]byte) ([]store.Line, error) {
	var lines []store.Line
	var refused error
	err := a.readRows(ctx, "lines", func(row []any, whole bool) {
		if whole {
			lines = append(lines, lineOf(row))
		} else {
			refused = a.refuse("lines", nil, fmt.Sprintf("the state of a line of our own in group %x", group[:8]))
		}
	}, `SELECT `+lineColumns+` FROM lines WHERE grp = ? ORDER BY source`, group[:])
	if err == nil {
		err = refused
	}
	return lines, err
}

// Peers implements store.Store.
func (a *Archive) Peers(ctx context.Context, limit int) ([]store.Peer, error) {
	var peers []store.Peer
	err := a.readRows(ctx, "peers", func(row []any, whole bool) {
		if whole {
			if p, err := peerOf(row); err == nil {
				peers = append(peers, p)
				return
			}
		}
		a.withhold("peers", nil)
	}, `SELECT `+peerColumns+` FROM peers ORDER BY seen DESC, id LIMIT ?`, limit)
	return peers, err
}

// PutPeers implements store.Store.
func (a *Archive) PutPeers(ctx context.Context, peers []store.Peer) error {
	return a.write(ctx, func(t *transaction) {
		for _, p := range peers {
			t.exec(`INSERT INTO peers (`+peerColumns+`) VALUES (?, ?, ?, ?) ON CONFLICT (id)
				DO UPDATE SET addrs = excluded.addrs, seen = excluded.seen, sum = excluded.sum WHERE excluded.seen >= seen OR seen IS NULL`,
				peerRow(p, t.limits.Addrs)...)
		}
		t.exec(`DELETE FROM peers WHERE id IN (SELECT id FROM peers ORDER BY seen DESC, id LIMIT -1 OFFSET ?)`, t.limits.Peers)
	})
}

// Setting implements store.Store.
func (a *Archive) Setting(ctx context.Context, name string) (value []byte, found bool, err error) {
	var refused error
	err = a.readRows(ctx, "settings", func(row []any, whole bool) {
		if found = whole; whole {
			value = row[1].([]byte)
		} else {
			refused = a.refuse("settings", nil, "what is kept under "+name)
		}
	}, `SELECT `+settingColumns+` FROM settings WHERE name = ?`, name)
	if err == nil {
		err = refused
	}
	return value, found, err
}

// PutSetting implements store.Store.
func (a *Archive) PutSetting(ctx context.Context, name string, value []byte) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`INSERT INTO settings (`+settingColumns+`) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value, sum = excluded.sum`,
			settingRow(name, value)...)
	})
}

// DropFeed implements store.Store.
func (a *Archive) DropFeed(ctx context.Context, url string) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`DELETE FROM search WHERE rowid IN (SELECT seen FROM items WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND current)`, url)
		var group []byte
		if t.one([]any{&group}, `DELETE FROM feeds WHERE url = ? RETURNING grp`, url) {
			t.exec(`DELETE FROM envelopes WHERE grp = ? AND until IS NULL`, group)
			t.exec(`DELETE FROM cursors WHERE grp = ?`, group)
		}
	})
}
