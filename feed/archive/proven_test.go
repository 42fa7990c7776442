package archive_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

// believing proves what the batches of these tests say, which nobody signed.
func believing(_ store.Feed, e store.Envelope) ([]store.Item, error) {
	if e.Group != killGroup || e.Beat != 0 {
		return nil, nil
	}
	return numbered(e.Seq).Items, nil
}

// trusts counts the items of an imported feed by trust.
func trusts(t *testing.T, a *archive.Archive) map[store.Trust]int {
	t.Helper()
	items, err := a.Items(t.Context(), feedURL, -1)
	if err != nil {
		t.Fatal(err)
	}
	n := make(map[store.Trust]int)
	for _, it := range items {
		n[it.Trust]++
	}
	return n
}

// An import makes nothing signed that no envelope in it proves, whatever the file
// says, and shows what stands in the envelope.
func TestImportProves(t *testing.T) {
	path, _ := library(t)
	file, _ := exported(t, open(t, path))
	const all = 12 * perBatch
	for name, c := range map[string]struct {
		prove   archive.Prove
		signed  int
		refused int
	}{
		"all of it proved": {believing, all, 0},
		"nothing is in the envelopes": {func(store.Feed, store.Envelope) ([]store.Item, error) {
			return nil, nil
		}, 0, 0},
		"the envelopes are forged": {func(store.Feed, store.Envelope) ([]store.Item, error) {
			return nil, errors.New("forged")
		}, 0, 13},
		"signed by somebody": {func(f store.Feed, e store.Envelope) ([]store.Item, error) {
			items, err := believing(f, e)
			for i := range items {
				items[i].Trust = store.Unconfirmed
			}
			return items, err
		}, 0, 0},
		"the envelopes hold other items": {func(f store.Feed, e store.Envelope) ([]store.Item, error) {
			e.Seq++
			return believing(f, e)
		}, 0, 0},
		"one of them is": {func(f store.Feed, e store.Envelope) ([]store.Item, error) {
			if e.Seq != 3 {
				return nil, errors.New("forged")
			}
			return believing(f, e)
		}, perBatch, 12},
	} {
		b := open(t, filepath.Join(t.TempDir(), "archive.db"))
		held, err := b.Import(t.Context(), bytes.NewReader(file), c.prove)
		if err != nil || held.Refused != c.refused {
			t.Errorf("%s: %+v, %v", name, held, err)
		}
		if got := trusts(t, b); got[store.Signed] != c.signed || got[store.Signed]+got[store.Unconfirmed] != all {
			t.Errorf("%s: %v", name, got)
		}
		if found, err := b.Check(t.Context(), nil); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// Where the file has put other words behind the key and the hash of an item, those
// of its publisher are shown, and found.
func TestImportOfOtherWords(t *testing.T) {
	a := open(t, filepath.Join(t.TempDir(), "a.db"))
	batch := numbered(1)
	truth := slices.Clone(batch.Items)
	batch.Items[0].Doc = []byte("<rss><item><title>forged words</title></item></rss>")
	truth[0].Doc = []byte("<rss><item><title>what was signed</title></item></rss>")
	if _, err := a.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	file, _ := exported(t, a)
	b := open(t, filepath.Join(t.TempDir(), "b.db"))
	prove := func(store.Feed, store.Envelope) ([]store.Item, error) { return truth, nil }
	for range 2 {
		if _, err := b.Import(t.Context(), bytes.NewReader(file), prove); err != nil {
			t.Fatal(err)
		}
		forged, err := b.Search(t.Context(), "forged", 1)
		signed, err2 := b.Search(t.Context(), "signed", 1)
		if err != nil || err2 != nil || len(forged) != 0 || len(signed) != 1 || signed[0].Item.Trust != store.Signed {
			t.Errorf("found %v and %v, %v, %v", forged, signed, err, err2)
		}
		if found, err := b.Check(t.Context(), nil); err != nil || len(found) > 0 {
			t.Errorf("not sound: %v, %v", found, err)
		}
	}
}
