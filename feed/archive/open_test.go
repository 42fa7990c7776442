package archive_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

const feedURL = "https://news.example/feed.xml"

// filled makes an archive with some hundred pages and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.db")
	a := open(t, path)
	batch := store.Batch{Feed: &store.Feed{URL: feedURL, Doc: []byte("<rss/>")}}
	for n := range 100 {
		batch.Items = append(batch.Items, store.Item{
			Feed: feedURL, Key: string(rune('a' + n)), Hash: [32]byte{byte(n)}, Doc: bytes.Repeat([]byte("item "), 500),
		})
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// inSQLite runs statements on a file beside the package.
func inSQLite(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestReopen(t *testing.T) {
	path := filled(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v, want that only its owner can read it", info.Mode(), err)
	}
	if rest, _ := filepath.Glob(path + "-*"); len(rest) != 0 {
		t.Errorf("left beside the closed archive: %v", rest)
	}
	a := open(t, path)
	n, err := a.Count(t.Context(), feedURL)
	if n != 100 || err != nil {
		t.Errorf("%d items after opening again, %v", n, err)
	}
	f, ok, err := a.Feed(t.Context(), feedURL)
	if !ok || err != nil || string(f.Doc) != "<rss/>" {
		t.Errorf("feed after opening again: %+v, %v, %v", f, ok, err)
	}
	added, err := a.Apply(t.Context(), store.Batch{Items: []store.Item{{Feed: feedURL, Key: "new"}}})
	if err != nil || len(added) != 1 || added[0].Seen != 101 {
		t.Errorf("the order of arrival does not go on: %v, %v", added, err)
	}
}

func TestPathsThatLookLikeOptions(t *testing.T) {
	for _, name := range []string{"a?mode=memory", "a%20b", "a#b", "ä b'c", "a&b=c"} {
		path := filepath.Join(t.TempDir(), name)
		a := open(t, path)
		if err := a.PutSetting(t.Context(), "k", []byte("v")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a.Close()
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s is not where it was asked for: %v", name, err)
		}
	}
}

// Each of these must be refused with an error that names the file and a way
// out, and be left byte for byte as it was.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, path string)
		want   error
		remedy string
	}{
		"newer": {func(t *testing.T, path string) {
			inSQLite(t, path, "PRAGMA user_version=7777")
		}, archive.ErrNewer, "newer version"},
		"newer, and only the WAL knows": {func(t *testing.T, path string) {
			inWAL(t, path, "PRAGMA user_version=7777")
		}, archive.ErrNewer, "newer version"},
		"of another program": {func(t *testing.T, path string) {
			os.Remove(path)
			inSQLite(t, path, "CREATE TABLE bookmarks (url TEXT)")
		}, archive.ErrForeign, "move it away"},
		"a text": {func(t *testing.T, path string) {
			write(t, path, []byte(strings.Repeat("my notes\n", 1000)))
		}, archive.ErrForeign, "move it away"},
		"a short text": {func(t *testing.T, path string) {
			write(t, path, []byte("my notes\n"))
		}, archive.ErrForeign, "move it away"},
		"cut off": {func(t *testing.T, path string) {
			b := read(t, path)
			write(t, path, b[:len(b)/2])
		}, archive.ErrDamaged, "restore"},
		"overwritten in the middle": {func(t *testing.T, path string) {
			b := read(t, path)
			for i := 8 * 4096; i < len(b)-8*4096; i++ {
				b[i] = 0xa5
			}
			write(t, path, b)
		}, archive.ErrDamaged, "restore"},
		"with a broken schema": {func(t *testing.T, path string) {
			b := read(t, path)
			copy(b[100:], make([]byte, 4096-100))
			write(t, path, b)
		}, archive.ErrDamaged, "restore"},
		"a directory": {func(t *testing.T, path string) {
			os.Remove(path)
			os.Mkdir(path, 0o700)
		}, nil, "a file that this user may read and write"},
		"a device": {func(t *testing.T, path string) {
			os.Remove(path)
			os.Symlink(os.DevNull, path)
		}, nil, "name another one"},
		"in a directory that is not there": {func(t *testing.T, path string) {
			os.RemoveAll(filepath.Dir(path))
		}, fs.ErrNotExist, "make its directory"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			path := filled(t)
			c.spoil(t, path)
			before := contents(path)
			a, err := archive.Open(path)
			if err == nil {
				a.Close()
				t.Fatal("it was opened")
			}
			if _, again := archive.Open(path); again == nil || again.Error() != err.Error() {
				t.Errorf("the second time: %v, the first: %v", again, err)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want that it is %v", err, c.want)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.remedy) {
				t.Errorf("%q does not name %s and the remedy %q", err, path, c.remedy)
			}
			if before != nil && !bytes.Equal(contents(path), before) {
				t.Error("the file was changed")
			}
		})
	}
}

// inWAL changes a file as a process does that is killed before a checkpoint:
// what it wrote is in the WAL only.
func inWAL(t *testing.T, path, statement string) {
	t.Helper()
	working := path + ".working"
	write(t, working, read(t, path))
	db, err := sql.Open("sqlite", working)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	write(t, path+"-wal", read(t, working+"-wal"))
	if binary.BigEndian.Uint32(read(t, path)[60:]) == 7777 {
		t.Fatal("the file's own header is new already")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents returns what a file holds, nil if there is none, or if part of it is
// in a WAL: that SQLite moves into the file, which changes and loses nothing.
func contents(path string) []byte {
	if wal, err := os.ReadFile(path + "-wal"); err == nil && len(wal) > 0 {
		return nil
	}
	b, _ := os.ReadFile(path)
	return b
}

func TestEmptyFileIsNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	write(t, path, nil)
	a := open(t, path)
	if err := a.PutSetting(t.Context(), "k", nil); err != nil {
		t.Error(err)
	}
}

// Damage that appears while the archive is open is named too.
func TestDamageMetLater(t *testing.T) {
	path := filled(t)
	a := open(t, path)
	b := read(t, path)
	for i := 4096; i < len(b); i++ {
		b[i] = 0xa5
	}
	write(t, path, b)
	_, err := a.Items(t.Context(), feedURL, 10)
	if !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want that %s is damaged", err, path)
	}
}

// Two processes on one file take turns.
func TestTwoOpen(t *testing.T) {
	path := filled(t)
	a, b := open(t, path), open(t, path)
	for n := range 10 {
		for i, s := range []*archive.Archive{a, b} {
			added, err := s.Apply(t.Context(), store.Batch{Items: []store.Item{{Feed: feedURL, Key: "two", Hash: [32]byte{byte(n), byte(i), 1}}}})
			if err != nil || len(added) != 1 {
				t.Fatalf("round %d: %v, %v", n, added, err)
			}
		}
	}
	for _, s := range []*archive.Archive{a, b} {
		items, err := s.Items(t.Context(), feedURL, 1)
		if err != nil || items[0].Hash != [32]byte{9, 1, 1} {
			t.Errorf("newest item %v, %v", items, err)
		}
	}
}
