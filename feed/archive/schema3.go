package archive

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// schema3 gives every row a checksum, keeps documents compressed, finds items by
// a short name instead of an index over whole keys and hashes, keeps the
// envelopes that prove items, and indexes the words of the current versions.
const schema3 = `
ALTER TABLE feeds ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE envelopes ADD COLUMN kept INTEGER NOT NULL DEFAULT 0; -- 1: no longer among the latest, but the proof of an item
ALTER TABLE envelopes ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lines ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE peers ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE settings ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;

DROP INDEX envelopes_share;
DROP INDEX envelopes_arrival;
CREATE INDEX envelopes_share ON envelopes (grp, source, size) WHERE beat = 0 AND NOT kept;
CREATE INDEX envelopes_latest ON envelopes (grp) WHERE beat = 0 AND NOT kept;
CREATE INDEX envelopes_kept ON envelopes (grp, size) WHERE kept;

CREATE TABLE items3 (
	seen         INTEGER PRIMARY KEY AUTOINCREMENT,
	feed         INTEGER NOT NULL REFERENCES feeds ON DELETE CASCADE,
	name         INTEGER NOT NULL, -- of the key
	key          BLOB NOT NULL,
	hash         BLOB NOT NULL,
	trust        INTEGER NOT NULL,
	source       BLOB NOT NULL,    -- empty if fetched here
	epoch        INTEGER NOT NULL,
	seq          INTEGER NOT NULL,
	published    INTEGER,
	received     INTEGER,
	size         INTEGER NOT NULL, -- of the document as given
	content_type TEXT NOT NULL,
	coding       INTEGER NOT NULL, -- of the document as stored
	body         INTEGER NOT NULL, -- its checksum
	current      INTEGER NOT NULL,
	sum          INTEGER NOT NULL,
	doc          BLOB NOT NULL
) STRICT;
` + searchTable + searchOptions3

// searchTable has one list of words for each current version, by its seen. What
// it was made from is not kept twice, nor where in it each word stood.
const searchTable = `
CREATE VIRTUAL TABLE search USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='ascii');`

const searchOptions3 = `
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304); -- bytes of new words that are sorted at once
INSERT INTO search (search, rank) VALUES ('automerge', 8);
`

const schema3End = `
UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM sqlite_sequence WHERE name = 'items')) WHERE name = 'items3'
	AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'items');
INSERT INTO sqlite_sequence (name, seq) SELECT 'items3', seq FROM sqlite_sequence WHERE name = 'items'
	AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'items3');
DROP TABLE items;
ALTER TABLE items3 RENAME TO items;
CREATE INDEX items_name ON items (feed, name);
CREATE INDEX items_seen ON items (feed, seen);
CREATE INDEX items_said ON items (feed, epoch, seq) WHERE source <> x'';
`

// sums3 are the tables whose rows get a checksum in place: what it covers, and
// what tells a row from others.
var sums3 = []struct{ table, columns, row string }{
	{"feeds", feedColumns, "id = ?1"},
	{"documents", documentColumns, "feed = ?1"},
	{"envelopes", envelopeColumns, "arrival = ?1"},
	{"cursors", cursorColumns, "moved = ?1"},
	{"lines", lineColumns, "grp = ?1 AND source = ?2"},
	{"peers", peerColumns, "id = ?1"},
	{"settings", settingColumns, "name = ?1"},
}

func fill3(ctx context.Context, tx *sql.Tx, progress func(float64)) error {
	for _, s := range sums3 {
		if err := sumTable(ctx, tx, s.table, s.columns, s.row); err != nil {
			return fmt.Errorf("checksums of %s: %w", s.table, err)
		}
	}
	return packItems(ctx, tx, progress)
}

func sumTable(ctx context.Context, tx *sql.Tx, table, columns, one string) error {
	update, err := tx.PrepareContext(ctx, `UPDATE `+table+` SET sum = ?3 WHERE `+one)
	if err != nil {
		return err
	}
	defer update.Close()
	rows, err := tx.QueryContext(ctx, `SELECT `+columns+` FROM `+table)
	if err != nil {
		return err
	}
	var failed error
	err = scanRows(rows, table, func(row []any, _ bool) {
		if failed == nil {
			_, failed = update.ExecContext(ctx, row[0], row[1], sumOf(table, row[:len(row)-1]...))
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// packItems copies the items as the third schema has them.
func packItems(ctx context.Context, tx *sql.Tx, progress func(float64)) error {
	var done, all float64
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM items`).Scan(&all); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, `SELECT seen, feed, key, hash, trust, source, epoch, seq, published, received, content_type, current, doc
		FROM items ORDER BY seen`)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, insertItems("items3", 1))
	if err != nil {
		return err
	}
	defer insert.Close()
	index, err := tx.PrepareContext(ctx, indexItem)
	if err != nil {
		return err
	}
	defer index.Close()
	var failed error
	err = scanRows(rows, "items", func(row []any, _ bool) {
		if failed != nil {
			return
		}
		done++
		progress(done / all)
		l := leafOf2(row)
		if _, failed = insert.ExecContext(ctx, l.insertion()...); failed == nil && l.current {
			_, failed = index.ExecContext(ctx, l.item.Seen, l.words)
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// leafOf2 reads an item of the second schema.
func leafOf2(row []any) leaf {
	var l leaf
	i := &l.item
	i.Seen, _ = row[0].(int64)
	key, _ := row[2].([]byte)
	i.Key, i.Hash = string(key), as32(row[3])
	trust, _ := row[4].(int64)
	epoch, _ := row[6].(int64)
	seq, _ := row[7].(int64)
	i.Source, i.Epoch, i.Seq = as32(row[5]), uint64(epoch), uint64(seq)
	i.Published, i.Received = since(row[8]), since(row[9])
	i.ContentType, _ = row[10].(string)
	i.Doc, _ = row[12].([]byte)
	current, _ := row[11].(int64)
	l = newLeaf(*i)
	l.item.Trust, l.current = store.Trust(trust), current != 0
	l.feed, _ = row[1].(int64)
	return l
}
