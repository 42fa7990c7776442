package archive_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

var retainStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// daily is the item of a day, received then.
func daily(day int) store.Item {
	it := article(fmt.Sprintf("guid:day-%d", day), fmt.Sprintf("day%d", day), "text")
	it.Hash = [32]byte{byte(day), byte(day >> 8), 1}
	it.Received = retainStart.AddDate(0, 0, day)
	return it
}

// year is an archive with an item a day, of which the feed's document still shows
// two.
func year(t *testing.T, limits store.Limits) *archive.Archive {
	t.Helper()
	a, err := archive.OpenWith(filepath.Join(t.TempDir(), "archive.db"), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	f := &store.Feed{URL: feedURL, ContentType: "application/rss+xml", Doc: []byte(`<rss version="2.0"><channel><title>f</title>
		<item><guid>day-5</guid><title>pinned</title></item><item><guid>day-364</guid><title>last</title></item></channel></rss>`)}
	batch := store.Batch{Feed: f}
	for day := range 365 {
		batch.Items = append(batch.Items, daily(day))
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return a
}

func held(t *testing.T, a *archive.Archive) map[string][32]byte {
	t.Helper()
	known, err := a.Known(t.Context(), feedURL)
	if err != nil {
		t.Fatal(err)
	}
	count, err := a.Count(t.Context(), feedURL)
	if err != nil || count != len(known) {
		t.Errorf("it counts %d items of %d, %v", count, len(known), err)
	}
	if found, err := a.Check(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("not sound: %v, %v", found, err)
	}
	return known
}

// What is too old goes, but what the feed still shows: that would come back as news.
func TestRetainAge(t *testing.T) {
	a := year(t, store.Limits{})
	now := retainStart.AddDate(0, 0, 365)
	if err := a.Retain(t.Context(), archive.Retention{Age: 100 * 24 * time.Hour}, now); err != nil {
		t.Fatal(err)
	}
	known := held(t, a)
	if _, ok := known["guid:day-5"]; !ok || len(known) != 101 {
		t.Errorf("%d items are left, the one that is shown: %v", len(known), ok)
	}
	if keys(t, a, "day17") != "" || keys(t, a, "day300") != "guid:day-300" {
		t.Error("the search does not follow")
	}
	if d := a.Dropped(); d != (archive.Dropped{Age: 264}) {
		t.Errorf("counted: %+v", d)
	}
	added, err := a.Apply(t.Context(), store.Batch{Items: []store.Item{daily(5)}})
	if err != nil || len(added) != 0 {
		t.Errorf("what was still shown comes as news: %v, %v", added, err)
	}
	if err := a.Retain(t.Context(), archive.Retention{}, now.AddDate(50, 0, 0)); err != nil || len(held(t, a)) != 101 {
		t.Errorf("without bounds something went: %v", err)
	}
}

func TestRetainBytes(t *testing.T) {
	a := year(t, store.Limits{})
	size := int64(len(daily(100).Doc))
	if err := a.Retain(t.Context(), archive.Retention{Bytes: 50 * size}, retainStart); err != nil {
		t.Fatal(err)
	}
	known := held(t, a)
	if _, ok := known["guid:day-364"]; !ok || len(known) > 50 || len(known) < 45 {
		t.Errorf("%d items are left, the last: %v", len(known), ok)
	}
	if _, ok := known["guid:day-5"]; !ok {
		t.Error("what is still shown went")
	}
	if err := a.Retain(t.Context(), archive.Retention{Bytes: 1}, retainStart); err != nil || len(held(t, a)) != 2 {
		t.Errorf("what is shown went for its bytes, or it did not end: %v", err)
	}
}

// A feed's own limits do not let go either what it still shows.
func TestLimitsKeepWhatIsShown(t *testing.T) {
	a := year(t, store.Limits{Items: 10})
	known := held(t, a)
	if _, ok := known["guid:day-5"]; !ok || len(known) != 10 {
		t.Errorf("%d items are left, the one that is shown: %v", len(known), ok)
	}
	if d := a.Dropped(); d != (archive.Dropped{Count: 355}) {
		t.Errorf("counted: %+v", d)
	}
}

// An item can be proved as long as it is held, however many events came since.
func TestProof(t *testing.T) {
	a, err := archive.OpenWith(filepath.Join(t.TempDir(), "archive.db"), store.Limits{Envelopes: 4, Items: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for n := uint64(1); n <= 40; n++ {
		if _, err := a.Apply(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
	if latest, err := a.Envelopes(t.Context(), killGroup, -1); err != nil || len(latest) != 4 {
		t.Errorf("%d envelopes are the latest, %v", len(latest), err)
	}
	items, err := a.Items(t.Context(), feedURL, -1)
	if err != nil || len(items) != 50 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for _, it := range items {
		env, ok, err := a.Proof(t.Context(), it)
		if err != nil || !ok || env.Seq != it.Seq || len(env.Wire) != 3000 {
			t.Errorf("no proof of %s: %v, %v", it.Key, ok, err)
		}
	}
	if err := a.Retain(t.Context(), archive.Retention{}, retainStart); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := a.Proof(t.Context(), items[49]); !ok {
		t.Error("a proof went before its item")
	}
	if _, ok, _ := a.Proof(t.Context(), store.Item{Feed: feedURL, Source: killSource, Epoch: 1, Seq: 2}); ok {
		t.Error("an envelope is left that proves nothing")
	}
	if d := a.Dropped(); d.Proofs == 0 {
		t.Errorf("counted: %+v", d)
	}
}

// What was let go gives its space back.
func TestFileShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	a := open(t, path)
	batch := store.Batch{Feed: &store.Feed{URL: feedURL}}
	noise := rand.NewChaCha8([32]byte{1}) // which no compression makes smaller
	for n := range 3000 {
		it := daily(n)
		it.Doc = make([]byte, 3000)
		_, _ = noise.Read(it.Doc)
		batch.Items = append(batch.Items, it)
	}
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		if err := a.CheckpointAll(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if err := a.Retain(t.Context(), archive.Retention{Bytes: 30_000}, retainStart); err != nil {
		t.Fatal(err)
	}
	if after := size(); before < 4<<20 || after > before/2 {
		t.Errorf("the file had %d bytes and has %d", before, after)
	}
	if n := len(held(t, a)); n != 10 {
		t.Errorf("%d items are left", n)
	}
}
