package archive

import (
	"errors"
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
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "user_version": "1", "application_id": "1717859442"} {
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
	broken := append(migrations[:1:1], `ALTER TABLE settings ADD COLUMN extra TEXT`, `CREATE NONSENSE`)
	if err := migrateBy(t.Context(), a.writer, broken); err == nil || version() != 1 {
		t.Fatalf("a broken migration: %v, schema %d", err, version())
	}
	if err := migrateBy(t.Context(), a.writer, broken[:2]); err != nil || version() != 2 {
		t.Fatalf("the migration: %v, schema %d", err, version())
	}
	var value, extra any
	if err := a.writer.QueryRow(`SELECT value, extra FROM settings WHERE name = 'old'`).Scan(&value, &extra); err != nil || string(value.([]byte)) != "kept" {
		t.Errorf("after the migration: %v, %v, %v", value, extra, err)
	}
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
			Items: []store.Item{{Feed: url, Key: key, Doc: make([]byte, size)}},
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
