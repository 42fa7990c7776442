package feed

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// histories returns the real documents that lie beside the repository, if any.
func histories(t testing.TB) []string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		found, _ := filepath.Glob(filepath.Join(dir, "shared", "data", "feed-histories", "*", "*.xml"))
		if len(found) > 0 {
			return found
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no shared/data/feed-histories in any parent directory: real documents are not checked here")
		}
		dir = parent
	}
}

func render(t testing.TB, f *Feed, format Format, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Render(&b, f, format, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustParse(t testing.TB, doc []byte) *Feed {
	t.Helper()
	f, err := Parse(doc, "")
	if err != nil {
		t.Fatalf("%v in:\n%s", err, doc)
	}
	return f
}

// sameIdentity is what a pushed payload must keep of every item.
func sameIdentity(t testing.TB, got, want []Item) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d items became %d", len(want), len(got))
	}
	for i := range want {
		if got[i].Key() != want[i].Key() {
			t.Errorf("item %d: key %q became %q", i, want[i].Key(), got[i].Key())
		}
		if got[i].Hash() != want[i].Hash() {
			t.Errorf("item %d (%s): hash changed\nwas %+v\nis  %+v", i, want[i].Key(), bare(want[i]), bare(got[i]))
		}
	}
}

func bare(it Item) Item { it.source = nil; return it }

func TestHistoriesSurviveBeingPushed(t *testing.T) {
	channels := map[string]*Feed{}
	for _, path := range histories(t) {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := mustParse(t, doc)
		if len(f.Defects) > 0 {
			t.Logf("%s: %v", path, f.Defects)
		}
		for i := range f.Items {
			one := f.Only(f.Items[i : i+1])
			back := mustParse(t, render(t, one, f.Format, Options{}))
			sameIdentity(t, back.Items, one.Items)
		}
		for _, format := range []Format{RSS, Atom, JSONFeed} {
			back := mustParse(t, render(t, f, format, Options{}))
			sameItems(t, back.Items, f.Items)
		}
		// Items out of one document in the channel of another.
		dir := filepath.Dir(path)
		if other := channels[dir]; other != nil {
			mixed := Assemble(other, append(f.Items[:len(f.Items):len(f.Items)], other.Items...))
			back := mustParse(t, render(t, mixed, f.Format, Options{}))
			sameIdentity(t, back.Items, mixed.Items)
		}
		channels[dir] = f
	}
}

// sameItems compares what a rendering in any format must keep.
func sameItems(t testing.TB, got, want []Item) {
	t.Helper()
	sameIdentity(t, got, want)
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		// Where a format has one date only, a missing one may come back as the other.
		if !g.Published.Equal(w.Published) && !(w.Published.IsZero() && g.Published.Equal(w.Updated)) {
			t.Errorf("item %d: published %v became %v", i, w.Published, g.Published)
		}
		if !g.Updated.Equal(w.Updated) && !(w.Updated.IsZero() && g.Updated.Equal(w.Published)) {
			t.Errorf("item %d: updated %v became %v", i, w.Updated, g.Updated)
		}
		if g.Title != w.Title || g.Link != w.Link {
			t.Errorf("item %d: %q %q became %q %q", i, w.Title, w.Link, g.Title, g.Link)
		}
	}
}
