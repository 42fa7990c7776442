package archive_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

func exported(t *testing.T, a *archive.Archive) ([]byte, archive.Exported) {
	t.Helper()
	var b bytes.Buffer
	held, err := a.Export(t.Context(), &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), held
}

// records are what everything says but the order of arrival, which is each
// archive's own, and what is held for others.
func records(t *testing.T, a *archive.Archive) []string {
	t.Helper()
	served, failures := everything(t.Context(), a)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	var kept []string
	for _, line := range served {
		line, _, _ = strings.Cut(line, " Seen:")
		if !strings.Contains(line, "Until:2026") {
			kept = append(kept, line)
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// What is exported and imported is the same; imported again it changes nothing.
func TestExportImport(t *testing.T) {
	path, _ := library(t)
	a := open(t, path)
	file, held := exported(t, a)
	if held.Feeds != 2 || held.Items != 12*perBatch+65 || held.Envelopes != 12+1 || held.Damaged != 0 {
		t.Errorf("exported %+v", held)
	}
	b := open(t, filepath.Join(t.TempDir(), "archive.db"))
	for round := range 2 {
		got, err := b.Import(t.Context(), bytes.NewReader(file), believing)
		if err != nil || got != held {
			t.Fatalf("round %d: imported %+v, %v", round, got, err)
		}
		if want, got := records(t, a), records(t, b); !slices.Equal(want, got) {
			t.Fatalf("round %d: %d records became %d", round, len(want), len(got))
		}
	}
	if found, err := b.Check(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("not sound: %v, %v", found, err)
	}
	again, _ := exported(t, b)
	c := open(t, filepath.Join(t.TempDir(), "archive.db"))
	if _, err := c.Import(t.Context(), bytes.NewReader(again), believing); err != nil || !slices.Equal(records(t, a), records(t, c)) {
		t.Errorf("carried on twice it is another archive, %v", err)
	}
}

// An import does not take back what is known here: pins and settings stay, lines
// and cursors do not go back, and what was signed stays signed.
func TestImportMerges(t *testing.T) {
	path, _ := library(t)
	file, _ := exported(t, open(t, path))
	b := open(t, filepath.Join(t.TempDir(), "archive.db"))
	mine := store.Feed{URL: "https://other.example/", Group: [32]byte{'o'}, Pin: store.Pin{Fingerprint: [32]byte{1}, How: "manual"}}
	item := prose(mine.URL, 1)
	item.Trust = store.Signed
	if _, err := b.Apply(t.Context(), store.Batch{Feed: &mine, Items: []store.Item{item}, Line: &store.Line{Group: killGroup, Source: killSource, Epoch: 2}}); err != nil {
		t.Fatal(err)
	}
	if err := b.PutSetting(t.Context(), "name 3", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Import(t.Context(), bytes.NewReader(file), believing); err != nil {
		t.Fatal(err)
	}
	f, _, err := b.Feed(t.Context(), mine.URL)
	if err != nil || f.Pin.How != "manual" || f.Pin.Fingerprint != mine.Pin.Fingerprint {
		t.Errorf("the pin is %+v, %v", f.Pin, err)
	}
	if value, _, err := b.Setting(t.Context(), "name 3"); err != nil || string(value) != "mine" {
		t.Errorf("the setting is %q, %v", value, err)
	}
	lines, err := b.Lines(t.Context(), killGroup)
	if err != nil || len(lines) != 1 || lines[0].Epoch != 2 {
		t.Errorf("lines: %+v, %v", lines, err)
	}
	items, err := b.Items(t.Context(), mine.URL, -1)
	at := slices.IndexFunc(items, func(it store.Item) bool { return it.Key == item.Key })
	if err != nil || len(items) != 60 || items[at].Trust != store.Signed {
		t.Errorf("%d items, %v", len(items), err)
	}
}

func TestImportRefuses(t *testing.T) {
	path, _ := library(t)
	file, _ := exported(t, open(t, path))
	for name, spoiled := range map[string][]byte{
		"empty": nil, "a text": []byte("my notes\n"), "cut off": file[:len(file)/2], "cut off by a byte": file[:len(file)-1],
		"turned bit": func() []byte { b := bytes.Clone(file); b[len(b)/3] ^= 4; return b }(),
	} {
		b := open(t, filepath.Join(t.TempDir(), "archive.db"))
		if _, err := b.Import(t.Context(), bytes.NewReader(spoiled), believing); !errors.Is(err, archive.ErrExport) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.Import(t.Context(), bytes.NewReader(file), believing); err != nil {
			t.Errorf("%s, then the whole file: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := open(t, filepath.Join(t.TempDir(), "archive.db"))
	if _, err := b.Import(ctx, bytes.NewReader(file), believing); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Of a damaged file the export saves what is whole: the way out that the error names.
func TestExportOfDamaged(t *testing.T) {
	path, _ := library(t)
	inSQLite(t, path, `UPDATE items SET trust = 3 WHERE seen = 38`, `UPDATE items SET doc = x'00' WHERE seen = 41`)
	a, err := archive.OpenReading(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	file, held := exported(t, a)
	if held.Damaged != 2 || held.Items != 12*perBatch+63 {
		t.Errorf("exported %+v", held)
	}
	b := open(t, filepath.Join(t.TempDir(), "archive.db"))
	if _, err := b.Import(t.Context(), bytes.NewReader(file), believing); err != nil {
		t.Fatal(err)
	}
	if found, err := b.Check(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("not sound: %v, %v", found, err)
	}
}

// So it does where pages cannot be read at all.
func TestExportOfBrokenPages(t *testing.T) {
	path, _ := library(t)
	b := read(t, path)
	if at := bytes.Index(b, []byte("guid:30")); at > 0 { // the page of an item and its neighbours
		copy(b[at/4096*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	} else {
		t.Fatal("no such item")
	}
	write(t, path, b)
	if _, err := archive.Open(path); !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), "feedtree archive export --file") {
		t.Fatalf("it opens: %v", err)
	}
	a, err := archive.OpenReading(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if found, err := a.Check(t.Context(), nil); err != nil || len(found) == 0 {
		t.Errorf("the check finds %v, %v", found, err)
	}
	file, held := exported(t, a)
	if held.Damaged == 0 || held.Items < 60 || held.Items > 12*perBatch+64 || held.Envelopes != 13 {
		t.Errorf("exported %+v", held)
	}
	into := open(t, filepath.Join(t.TempDir(), "archive.db"))
	if _, err := into.Import(t.Context(), bytes.NewReader(file), believing); err != nil {
		t.Fatal(err)
	}
	if n, err := into.Count(t.Context(), "https://other.example/"); err != nil || n < 30 {
		t.Errorf("%d items are saved, %v", n, err)
	}
}
