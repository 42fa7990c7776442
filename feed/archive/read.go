package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/feedtree/feedtree/feed/store"
)

// read scans every row into the same places and calls do after each.
func (a *Archive) read(ctx context.Context, do func(), into []any, query string, args ...any) error {
	if a.closed.Load() {
		return a.explain(store.ErrClosed)
	}
	rows, err := a.reader.QueryContext(ctx, query, args...)
	if err == nil {
		err = scanAll(rows, into, do)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return a.explain(err)
}

const feedColumns = `url, grp, asked, read, content_type, etag, last_modified, fetched, not_before,
	interval, moved, local, pin, pin_how, pin_since, cert, failure, origin`

// Feeds implements store.Store.
func (a *Archive) Feeds(ctx context.Context) ([]store.Feed, error) {
	return a.feeds(ctx, `SELECT `+feedColumns+`, NULL FROM feeds ORDER BY url`)
}

// Feed implements store.Store.
func (a *Archive) Feed(ctx context.Context, url string) (store.Feed, bool, error) {
	found, err := a.feeds(ctx, `SELECT `+feedColumns+`, body FROM feeds LEFT JOIN documents ON feed = id WHERE url = ?`, url)
	if err != nil || len(found) == 0 {
		return store.Feed{}, false, err
	}
	return found[0], true, nil
}

func (a *Archive) feeds(ctx context.Context, query string, args ...any) ([]store.Feed, error) {
	var found []store.Feed
	var f store.Feed
	var group, pin []byte
	var asked, read, fetched, notBefore, pinned sql.NullInt64
	err := a.read(ctx, func() {
		copy(f.Group[:], group)
		copy(f.Pin.Fingerprint[:], pin)
		f.Asked, f.Read, f.Fetched = since(asked), since(read), since(fetched)
		f.NotBefore, f.Pin.Since = since(notBefore), since(pinned)
		found = append(found, f)
		f = store.Feed{}
	}, []any{&f.URL, &group, &asked, &read, &f.ContentType, &f.Validators.ETag, &f.Validators.LastModified, &fetched, &notBefore,
		&f.Interval, &f.Moved, &f.Local, &pin, &f.Pin.How, &pinned, &f.Cert, &f.Failure, &f.Origin, &f.Doc}, query, args...)
	return found, err
}

// Cursors implements store.Store.
func (a *Archive) Cursors(ctx context.Context, group [32]byte) ([]store.Cursor, error) {
	var cursors []store.Cursor
	var source []byte
	var epoch, seq int64
	err := a.read(ctx, func() {
		cursors = append(cursors, store.Cursor{Group: group, Source: [32]byte(source), Epoch: uint64(epoch), Seq: uint64(seq)})
	}, []any{&source, &epoch, &seq}, `SELECT source, epoch, seq FROM cursors WHERE grp = ? ORDER BY source`, group[:])
	return cursors, err
}

// Lines implements store.Store.
func (a *Archive) Lines(ctx context.Context, group [32]byte) ([]store.Line, error) {
	var lines []store.Line
	var source, head []byte
	var epoch, seq, beat int64
	err := a.read(ctx, func() {
		lines = append(lines, store.Line{Group: group, Source: [32]byte(source), Epoch: uint64(epoch), Seq: uint64(seq),
			Head: [32]byte(head), Beat: uint64(beat)})
	}, []any{&source, &epoch, &seq, &head, &beat}, `SELECT source, epoch, seq, head, beat FROM lines WHERE grp = ? ORDER BY source`, group[:])
	return lines, err
}

// Peers implements store.Store.
func (a *Archive) Peers(ctx context.Context, limit int) ([]store.Peer, error) {
	var peers []store.Peer
	var id, addrs []byte
	var seen sql.NullInt64
	var unread error
	err := a.read(ctx, func() {
		p := store.Peer{ID: string(id), Seen: since(seen)}
		if err := json.Unmarshal(addrs, &p.Addrs); err != nil {
			unread = damaged(a.path, fmt.Errorf("addresses of peer %x: %w", id, err))
		}
		peers = append(peers, p)
	}, []any{&id, &addrs, &seen}, `SELECT id, addrs, seen FROM peers ORDER BY seen DESC, id LIMIT ?`, limit)
	if err == nil {
		err = unread
	}
	return peers, err
}

// PutPeers implements store.Store.
func (a *Archive) PutPeers(ctx context.Context, peers []store.Peer) error {
	return a.write(ctx, func(t *transaction) {
		for _, p := range peers {
			addrs, err := json.Marshal(slices.Concat([]string{}, p.Addrs[:min(len(p.Addrs), t.limits.Addrs)]))
			if err != nil {
				t.err = err
			}
			t.exec(`INSERT INTO peers (id, addrs, seen) VALUES (?, ?, ?) ON CONFLICT (id)
				DO UPDATE SET addrs = excluded.addrs, seen = excluded.seen WHERE excluded.seen >= seen OR seen IS NULL`,
				[]byte(p.ID), string(addrs), millis(p.Seen))
		}
		t.exec(`DELETE FROM peers WHERE id IN (SELECT id FROM peers ORDER BY seen DESC, id LIMIT -1 OFFSET ?)`, t.limits.Peers)
	})
}

// Setting implements store.Store.
func (a *Archive) Setting(ctx context.Context, name string) ([]byte, bool, error) {
	var value []byte
	found := false
	err := a.read(ctx, func() { found = true }, []any{&value}, `SELECT value FROM settings WHERE name = ?`, name)
	return value, found, err
}

// PutSetting implements store.Store.
func (a *Archive) PutSetting(ctx context.Context, name string, value []byte) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, notNil(value))
	})
}
