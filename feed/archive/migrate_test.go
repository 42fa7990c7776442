package archive_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

func all32(b byte) (k [32]byte) {
	for i := range k {
		k[i] = b
	}
	return k
}

// unpacked writes a fixture where it may be changed. The fixtures were made by the
// versions of this package that wrote these schemas, with the same records.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "archive.db")
	write(t, path, b)
	return path
}

// A file of each older version opens with all that it holds, sound, and searchable.
func TestOlderFiles(t *testing.T) {
	for _, name := range []string{"schema1.db.gz", "schema2.db.gz", "schema3.db.gz", "schema4.db.gz"} {
		t.Run(name, func(t *testing.T) {
			path := unpacked(t, name)
			a := open(t, path)
			olderFile(t, a)
			if found, err := a.Check(t.Context(), nil); err != nil || len(found) > 0 {
				t.Errorf("not sound: %v, %v", found, err)
			}
			if _, err := archive.OpenReading(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func olderFile(t *testing.T, a *archive.Archive) {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const url = "https://news.example/feed.xml"
	f, ok, err := a.Feed(t.Context(), url)
	if err != nil || !ok || string(f.Doc) != "<rss/>" || f.Validators.ETag != `"v1"` || string(f.Cert) != "PEM" || f.Interval != 2*time.Hour ||
		f.Pin != (store.Pin{Fingerprint: all32('k'), How: "https", Since: at}) || f.Failure != "it answers 503" || f.Group != all32('g') {
		t.Errorf("the feed: %+v, %v, %v", f, ok, err)
	}
	items, err := a.Items(t.Context(), url, -1)
	if err != nil || len(items) != 3 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	// seen: 1 and 2 in the first batch, 3 the new version of the first, 4 the third
	for n, want := range []store.Item{
		{Key: "json", Hash: all32(3), Trust: store.Fetched, Seen: 4},
		{Key: "guid:first", Hash: all32(2), Trust: store.Signed, Source: all32('s'), Epoch: 1, Seq: 2, Seen: 3},
		{Key: "guid:second", Hash: all32(1), Trust: store.Unconfirmed, Source: all32('s'), Epoch: 1, Seq: 1, Seen: 2},
	} {
		got := items[n]
		if got.Key != want.Key || got.Hash != want.Hash || got.Trust != want.Trust || got.Source != want.Source || got.Seq != want.Seq ||
			got.Seen != want.Seen || !got.Published.Equal(at) || !got.Received.Equal(at.Add(time.Minute)) {
			t.Errorf("item %d: %+v", n, got)
		}
	}
	if !bytes.Contains(items[1].Doc, []byte("What the publisher says now")) {
		t.Errorf("a document: %q", items[1].Doc)
	}
	lines, err := a.Lines(t.Context(), all32('g'))
	if err != nil || len(lines) != 1 || lines[0].Seq != 1<<63+4 || lines[0].Head != all32('h') {
		t.Errorf("lines: %+v, %v", lines, err)
	}
	envelopes, err := a.Envelopes(t.Context(), all32('g'), -1)
	if err != nil || len(envelopes) != 3 || string(envelopes[1].Wire) != "event 2" || string(envelopes[2].Wire) != "beat" {
		t.Errorf("envelopes: %+v, %v", envelopes, err)
	}
	if leased, err := a.Leased(t.Context()); err != nil || len(leased) != 1 || leased[0] != all32('l') {
		t.Errorf("leased: %v, %v", leased, err)
	}
	peers, err := a.Peers(t.Context(), -1)
	value, found, err2 := a.Setting(t.Context(), "name")
	if err != nil || len(peers) != 2 || peers[0].ID != "peer" || err2 != nil || !found || string(value) != "value" {
		t.Errorf("peers %v, %v, setting %q, %v", peers, err, value, err2)
	}
	for query, key := range map[string]string{"elan": "guid:second", "東京": "json", "タワー": "json", "publisher says": "guid:first", "old version": ""} {
		hits, err := a.Search(t.Context(), query, 5)
		got := ""
		if len(hits) > 0 {
			got = hits[0].Item.Key
		}
		if err != nil || got != key {
			t.Errorf("search for %q finds %q, %v, want %q", query, got, err, key)
		}
	}
	added, err := a.Apply(t.Context(), store.Batch{Items: []store.Item{{Feed: url, Key: "new", Doc: []byte("<rss/>")}}})
	if err != nil || len(added) != 1 || added[0].Seen != 5 {
		t.Errorf("the order of arrival does not go on: %v, %v", added, err)
	}
}

// A disk that is full, or a process that ends, in the middle of a migration leaves
// the file as it was.
func TestMigrationThatFails(t *testing.T) {
	path := unpacked(t, "schema2.db.gz")
	inSQLite(t, path, `CREATE TABLE items3 (n INTEGER)`)
	before := read(t, path)
	if _, err := archive.Open(path); err == nil {
		t.Fatal("a migration in whose way something stands went through")
	}
	if !bytes.Equal(read(t, path)[100:], before[100:]) {
		t.Error("the file was changed")
	}
	inSQLite(t, path, `DROP TABLE items3`)
	olderFile(t, open(t, path))
}

// Bringing a large file up to date tells how far it is, and other files say nothing.
func TestMigrationShowsProgress(t *testing.T) {
	path := unpacked(t, "schema1.db.gz")
	for _, calls := range []int{4, 0} { // its items
		var told []float64
		a, err := archive.OpenShowing(path, store.Limits{}, func(done float64) { told = append(told, done) })
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != calls || calls > 0 && (told[0] <= 0 || told[calls-1] != 1) || !slices.IsSorted(told) {
			t.Errorf("told %v", told)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
