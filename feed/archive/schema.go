package archive

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks the file as ours: "fdtr".
const applicationID = 0x66647472

// migrations bring a file from each version of the schema to the next; the
// first makes an empty one. They are never changed once released.
//
// Sources, hashes and groups are 32 bytes. Unsigned numbers are stored with the
// same 64 bits, so those above half the range are negative: what is ordered by
// them is ordered by (n < 0, n). Times are milliseconds since 1970, or NULL.
var migrations = []step{{sql: schema1}, {sql: schema2}, {sql: schema3, fill: fill3, end: schema3End}, {sql: schema4}, {sql: schema5}}

// step is one migration: statements, then what only a program can do, then
// statements again.
type step struct {
	sql  string
	fill func(ctx context.Context, tx *sql.Tx, progress func(float64)) error
	end  string
}

// schema2 keeps what is remembered of an origin between two polls.
const schema2 = `ALTER TABLE feeds ADD COLUMN origin BLOB;`

const schema1 = `
CREATE TABLE feeds (
	id            INTEGER PRIMARY KEY,
	url           TEXT NOT NULL UNIQUE,
	grp           BLOB NOT NULL,
	asked         INTEGER,
	read          INTEGER,
	content_type  TEXT NOT NULL,
	etag          TEXT NOT NULL,
	last_modified TEXT NOT NULL,
	fetched       INTEGER,
	not_before    INTEGER,
	interval      INTEGER NOT NULL, -- nanoseconds
	moved         TEXT NOT NULL,
	local         TEXT NOT NULL,
	pin           BLOB NOT NULL,
	pin_how       TEXT NOT NULL,
	pin_since     INTEGER,
	cert          BLOB,
	failure       TEXT NOT NULL,
	items         INTEGER NOT NULL DEFAULT 0, -- current ones
	bytes         INTEGER NOT NULL DEFAULT 0  -- of the documents of all versions
) STRICT;

-- Apart from feeds: a feed's record changes often, its document seldom.
CREATE TABLE documents (
	feed INTEGER PRIMARY KEY REFERENCES feeds ON DELETE CASCADE,
	body BLOB NOT NULL
) STRICT;

CREATE TABLE items (
	seen         INTEGER PRIMARY KEY AUTOINCREMENT,
	feed         INTEGER NOT NULL REFERENCES feeds ON DELETE CASCADE,
	key          BLOB NOT NULL,
	hash         BLOB NOT NULL,
	current      INTEGER NOT NULL,
	trust        INTEGER NOT NULL,
	source       BLOB NOT NULL,
	epoch        INTEGER NOT NULL,
	seq          INTEGER NOT NULL,
	published    INTEGER,
	received     INTEGER,
	size         INTEGER NOT NULL,
	content_type TEXT NOT NULL,
	doc          BLOB NOT NULL,
	UNIQUE (feed, key, hash)
) STRICT;
CREATE INDEX items_current ON items (feed, seen) WHERE current;

CREATE TABLE envelopes (
	arrival INTEGER PRIMARY KEY AUTOINCREMENT,
	grp     BLOB NOT NULL,
	source  BLOB NOT NULL,
	epoch   INTEGER NOT NULL,
	seq     INTEGER NOT NULL,
	beat    INTEGER NOT NULL,
	until   INTEGER,
	size    INTEGER NOT NULL,
	wire    BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX envelopes_place ON envelopes (grp, source, epoch, seq) WHERE beat = 0;
CREATE UNIQUE INDEX envelopes_beat ON envelopes (grp, source) WHERE beat <> 0;
CREATE INDEX envelopes_share ON envelopes (grp, source, size) WHERE beat = 0;
CREATE INDEX envelopes_arrival ON envelopes (grp) WHERE beat = 0;
CREATE INDEX envelopes_lease ON envelopes (until, size) WHERE until IS NOT NULL;

CREATE TABLE cursors (
	moved  INTEGER PRIMARY KEY AUTOINCREMENT,
	grp    BLOB NOT NULL,
	source BLOB NOT NULL,
	epoch  INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	UNIQUE (grp, source)
) STRICT;

CREATE TABLE lines (
	grp    BLOB NOT NULL,
	source BLOB NOT NULL,
	epoch  INTEGER NOT NULL,
	seq    INTEGER NOT NULL,
	head   BLOB NOT NULL,
	beat   INTEGER NOT NULL,
	PRIMARY KEY (grp, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE peers (
	id    BLOB PRIMARY KEY,
	addrs TEXT NOT NULL, -- a JSON array
	seen  INTEGER
) STRICT;
CREATE INDEX peers_seen ON peers (seen);

CREATE TABLE settings (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL
) STRICT;
`

func migrate(ctx context.Context, db *sql.DB, path string, progress func(float64)) error {
	if err := migrateBy(ctx, db, migrations, progress); err != nil {
		return explain(path, fmt.Errorf("bringing it to schema %d: %w", len(migrations), err))
	}
	return nil
}

// migrateBy runs the steps that the file has not seen yet, in one transaction.
func migrateBy(ctx context.Context, db *sql.DB, steps []step, progress func(float64)) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version >= len(steps) {
		return nil
	}
	for _, s := range steps[max(version, 0):] {
		if err := s.run(ctx, tx, progress); err != nil {
			return err
		}
	}
	mark := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, len(steps))
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return err
	}
	return tx.Commit()
}

func (s step) run(ctx context.Context, tx *sql.Tx, progress func(float64)) error {
	if _, err := tx.ExecContext(ctx, s.sql); err != nil {
		return err
	}
	if s.fill != nil {
		if err := s.fill(ctx, tx, progress); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, s.end)
	return err
}
