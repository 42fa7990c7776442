package archive

import (
	"database/sql"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/feedtree/feedtree/feed/store"
)

func TestSoundSQLite(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.51.2": false, "3.51.3": true, "3.52.0": true, "3.54.1": true, "4.0.0": true, "3.7.17": false, "2.99.99": false, "": false, "x": false,
	} {
		if err := sound(version); (err == nil) != ok || !ok && !errors.Is(err, ErrSQLite) {
			t.Errorf("SQLite %q: %v", version, err)
		}
	}
}

// What Invariant 1 rests on.
func TestDurableMode(t *testing.T) {
	a, err := Open(filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "user_version": "5", "page_size": "8192", "application_id": "1717859442"} {
		var got string
		if err := a.writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", pragma, got, err, want)
		}
	}
	if _, err := a.reader.Exec(`DELETE FROM feeds`); err == nil {
		t.Error("a reader can write")
	}
}

// A file of an older schema keeps what it holds; a step that fails leaves it
// at the older schema.
func TestMigrate(t *testing.T) {
	a, err := Open(filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.PutSetting(t.Context(), "old", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	version := func() (n int) {
		if err := a.writer.QueryRow(`PRAGMA user_version`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	now := len(migrations)
	broken := append(migrations[:now:now], step{sql: `ALTER TABLE settings ADD COLUMN extra TEXT`}, step{sql: `CREATE NONSENSE`})
	if err := migrateBy(t.Context(), a.writer, broken, quiet); err == nil || version() != now {
		t.Fatalf("a broken migration: %v, schema %d", err, version())
	}
	if err := migrateBy(t.Context(), a.writer, broken[:now+1], quiet); err != nil || version() != now+1 {
		t.Fatalf("the migration: %v, schema %d", err, version())
	}
	var value, extra any
	if err := a.writer.QueryRow(`SELECT value, extra FROM settings WHERE name = 'old'`).Scan(&value, &extra); err != nil || string(value.([]byte)) != "kept" {
		t.Errorf("after the migration: %v, %v, %v", value, extra, err)
	}
}

// A file that an earlier version wrote opens, with all that it holds, and can keep
// what this version remembers.
func TestFileOfTheFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://news.example/"
	if err := migrateBy(t.Context(), old, migrations[:1], quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(`INSERT INTO feeds (url, grp, content_type, etag, last_modified, not_before, interval, moved, local, pin, pin_how, failure)
		VALUES (?, x'00', 'text/xml', '"v"', 'Mon', 1000, 5, '', '', x'00', '', '')`, url); err != nil {
		t.Fatal(err)
	}
	old.Close()
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f, ok, err := a.Feed(t.Context(), url)
	if err != nil || !ok || f.Validators.ETag != `"v"` || f.NotBefore.UnixMilli() != 1000 || f.Origin != nil {
		t.Fatalf("the feed: %+v, %v, %v", f, ok, err)
	}
	f.Origin = []byte("state")
	if _, err := a.Apply(t.Context(), store.Batch{Feed: &f}); err != nil {
		t.Fatal(err)
	}
	if f, _, err = a.Feed(t.Context(), url); string(f.Origin) != "state" {
		t.Errorf("kept %q, %v", f.Origin, err)
	}
}

// noise is a document that does not get smaller by compression.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// A full disk: nothing of the batch is kept, reading goes on, and so does
// writing once there is room.
func TestFull(t *testing.T) {
	a, err := Open(filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const url = "https://news.example/"
	item := func(key string, size int) store.Batch {
		return store.Batch{
			Feed:  &store.Feed{URL: url},
			Items: []store.Item{{Feed: url, Key: key, Doc: noise(size)}},
			Line:  &store.Line{Seq: uint64(size)},
		}
	}
	if _, err := a.Apply(t.Context(), item("small", 1)); err != nil {
		t.Fatal(err)
	}
	limit := func(pages string) {
		if _, err := a.writer.Exec(`PRAGMA max_page_count=` + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	_, err = a.Apply(t.Context(), item("large", 1<<20))
	var failed *sqlite.Error
	if !errors.As(err, &failed) || failed.Code() != sqlite3.SQLITE_FULL || !strings.Contains(err.Error(), a.path) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("a full disk: %v", err)
	}
	lines, err := a.Lines(t.Context(), [32]byte{})
	if err != nil || lines[0].Seq != 1 {
		t.Errorf("reading while the disk is full: %v, %v", lines, err)
	}
	limit("1000000")
	if added, err := a.Apply(t.Context(), item("large", 1<<20)); err != nil || len(added) != 1 {
		t.Errorf("after there is room: %v, %v", added, err)
	}
}
