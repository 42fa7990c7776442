package archive_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

var flipCount = flag.Int("archive.flips", 30, "how many bits TestBitFlips turns: the long form is 1000")

// One bit of the file is another one. Whatever is served then is as it was written,
// trust included, and if anything is not, it is reported: by Open, by the call, or
// by Check.
func TestBitFlips(t *testing.T) {
	path, reference := library(t)
	sound := read(t, path)
	rng := rand.New(rand.NewPCG(*seed, 2))
	bar := progress(t, *flipCount, "flips")
	refused, reported, dead := 0, 0, 0
	for n := range *flipCount {
		bar(n)
		at := rng.IntN(8 * len(sound))
		spoiled := bytes.Clone(sound)
		spoiled[at/8] ^= 1 << (at % 8)
		dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
		os.Mkdir(dir, 0o700)
		copied := filepath.Join(dir, "archive.db")
		write(t, copied, spoiled)
		a, err := archive.Open(copied)
		if err != nil {
			if refused++; !strings.Contains(err.Error(), copied) {
				t.Errorf("seed %d, bit %d: %v does not name the file", *seed, at, err)
			}
			os.RemoveAll(dir)
			continue
		}
		served, failures := everything(t.Context(), a)
		for _, line := range served {
			if !slices.Contains(reference, line) {
				t.Errorf("seed %d, bit %d: served as sound: %.200s", *seed, at, line)
			}
		}
		found, err := a.Check(t.Context(), nil)
		switch {
		case err != nil, len(found) > 0:
			reported++
		case len(failures) > 0 || !slices.Equal(served, reference):
			t.Errorf("seed %d, bit %d: nothing is reported, but of %d records %d are served, %v", *seed, at, len(reference), len(served), failures)
		default:
			dead++
		}
		a.Close()
		os.RemoveAll(dir)
	}
	t.Logf("seed %d: of %d flips in %d bytes, %d files were refused, %d open and reported, %d hit nothing", *seed, *flipCount, len(sound), refused, reported, dead)
	if reported == 0 {
		t.Error("the test hit nothing")
	}
}

// library makes an archive with something in every table, and returns what is in
// it, as everything says it.
func library(t *testing.T) (path string, reference []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "archive.db")
	a := open(t, path)
	for n := uint64(1); n <= 12; n++ {
		if _, err := a.Apply(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	other := store.Feed{URL: "https://other.example/", Group: [32]byte{'o'}, Asked: at, Validators: store.Validators{ETag: `"e"`}, Doc: bytes.Repeat([]byte("doc "), 900),
		Pin: store.Pin{Fingerprint: [32]byte{9}, How: "https", Since: at}, Cert: []byte("cert"), Origin: []byte("state"), Interval: time.Hour}
	batch := store.Batch{Feed: &other}
	for n := range 60 {
		batch.Items = append(batch.Items, prose(other.URL, n))
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for n := range 5 { // of some items a second version
		batch.Items[n].Hash[5]++
		batch.Items[n].Doc = append(batch.Items[n].Doc, "<!-- again -->"...)
	}
	if _, err := a.Apply(t.Context(), store.Batch{Items: batch.Items[:5], Envelopes: []store.Envelope{
		{Group: other.Group, Source: [32]byte{3}, Epoch: 1, Seq: 1, Wire: bytes.Repeat([]byte("leased"), 99), Until: at},
		{Group: other.Group, Source: [32]byte{3}, Epoch: 1, Seq: 1, Beat: 3, Wire: []byte("beat")}}}); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		err := errors.Join(a.PutPeers(t.Context(), []store.Peer{{ID: fmt.Sprint("peer ", n), Addrs: []string{"/ip4/192.0.2.1/tcp/1"}, Seen: at.Add(time.Duration(n) * time.Minute)}}),
			a.PutSetting(t.Context(), fmt.Sprint("name ", n), []byte("value")))
		if err != nil {
			t.Fatal(err)
		}
	}
	reference, failures := everything(t.Context(), a)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return path, reference
}

var vocabulary = strings.Fields("Feeds of the web are read again and again by people who wait for news that never comes while a tree of readers hands each item on once")

// prose is an item with a text that can be searched.
func prose(url string, n int) store.Item {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	said := make([]string, 60)
	for i := range said {
		said[i] = vocabulary[rng.IntN(len(vocabulary))]
	}
	text := strings.Join(said, " ")
	return store.Item{Feed: url, Key: fmt.Sprint("guid:", n), Hash: [32]byte{byte(n), 7}, ContentType: "application/rss+xml", Trust: store.Trust(n % 3),
		Doc:       fmt.Appendf(nil, "<rss><channel><item><title>Number%d</title><description>%s</description></item></channel></rss>", n, text),
		Published: time.Date(2026, 1, 1, n%24, 0, 0, 0, time.UTC), Received: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
}

// everything is all that an archive serves, a line for each record, and the errors.
func everything(ctx context.Context, a *archive.Archive) (served []string, failures []error) {
	say := func(format string, args ...any) { served = append(served, fmt.Sprintf(format, args...)) }
	note := func(err error) {
		if err != nil {
			failures = append(failures, err)
		}
	}
	feeds, err := a.Feeds(ctx)
	note(err)
	for _, f := range feeds {
		say("feed %+v", f)
	}
	for _, url := range []string{feedURL, "https://other.example/"} {
		f, ok, err := a.Feed(ctx, url)
		note(err)
		if ok && f.Doc != nil {
			say("document %+v", f)
		}
		items, err := a.Items(ctx, url, -1)
		note(err)
		for _, it := range items {
			say("item %+v", it)
		}
		known, err := a.Known(ctx, url)
		note(err)
		for _, key := range slices.Sorted(func(yield func(string) bool) {
			for k := range known {
				if !yield(k) {
					return
				}
			}
		}) {
			say("known %s %x", key, known[key])
		}
		for _, group := range [][32]byte{killGroup, {'o'}} {
			envelopes, err := a.Envelopes(ctx, group, -1)
			note(err)
			for _, e := range envelopes {
				say("envelope %+v", e)
			}
			cursors, err := a.Cursors(ctx, group)
			note(err)
			lines, err2 := a.Lines(ctx, group)
			note(err2)
			for _, c := range cursors {
				say("cursor %+v", c)
			}
			for _, l := range lines {
				say("line %+v", l)
			}
		}
	}
	for _, query := range []string{"feeds", "number7", "again news", "tree of readers"} {
		hits, err := a.Search(ctx, query, 5)
		note(err)
		for _, h := range hits {
			say("item %+v", h.Item) // those of Items
		}
	}
	peers, err := a.Peers(ctx, -1)
	note(err)
	for _, p := range peers {
		say("peer %+v", p)
	}
	for n := range 20 {
		value, ok, err := a.Setting(ctx, fmt.Sprint("name ", n))
		note(err)
		if ok {
			say("setting %d %s", n, value)
		}
	}
	return served, failures
}
