package feed

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fixtures are documents of every format, each with what that format can say.
var fixtures = []string{
	"rss20.xml", "rss10.rdf", "rss090.rdf", "rss091.xml", "atom10.xml", "atom03.xml",
	"feed11.json", "feed10.json", "broken.xml",
}

var formats = []Format{RSS, Atom, JSONFeed}

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

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return doc
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

// sameItems compares what a rendering in any format must keep.
func sameItems(t testing.TB, got, want []Item) {
	t.Helper()
	sameIdentity(t, got, want)
	for i := range want {
		g, w := got[i], want[i]
		// Where a format demands a date, a missing one may come back as the other.
		if !g.Published.Equal(w.Published) && !(w.Published.IsZero() && g.Published.Equal(w.Updated.Truncate(1e9))) {
			t.Errorf("item %d: published %v became %v", i, w.Published, g.Published)
		}
		if !g.Updated.Equal(w.Updated) && !(w.Updated.IsZero() && g.Updated.Equal(w.Published)) {
			t.Errorf("item %d: updated %v became %v", i, w.Updated, g.Updated)
		}
		if g.Title != w.Title || g.Link != w.Link || g.GUID != w.GUID {
			t.Errorf("item %d: %q %q %q became %q %q %q", i, w.Title, w.Link, w.GUID, g.Title, g.Link, g.GUID)
		}
		if !slices.Equal(g.Authors, w.Authors) || !slices.Equal(g.Categories, w.Categories) || !slices.Equal(g.Enclosures, w.Enclosures) {
			t.Errorf("item %d:\nwas %+v\nis  %+v", i, bare(w), bare(g))
		}
	}
}

// pushed checks the property on which the whole of FeedTree stands: an item pushed
// alone, in the source's format, is the item that the source's document has.
func pushed(t testing.TB, f *Feed) {
	t.Helper()
	for i := range f.Items {
		one := f.Only(f.Items[i : i+1])
		payload := render(t, one, f.Format, Options{})
		back := mustParse(t, payload)
		sameItems(t, back.Items, one.Items)
		if again := render(t, back, f.Format, Options{}); !bytes.Equal(again, payload) {
			t.Errorf("a payload rendered again differs:\n%s\n%s", payload, again)
		}
		if t.Failed() {
			t.Fatalf("payload:\n%s", payload)
		}
	}
}

func TestHistoriesSurviveBeingPushed(t *testing.T) {
	channels := map[string]*Feed{}
	done := map[[32]byte]bool{} // versions of a document share most of their items
	for _, path := range histories(t) {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := mustParse(t, doc)
		pushed(t, f.Only(slices.DeleteFunc(slices.Clone(f.Items), func(it Item) bool {
			h := it.Hash()
			if done[h] {
				return true
			}
			done[h] = true
			return false
		})))
		// Items out of one document in the channel of another.
		dir := filepath.Dir(path)
		other := channels[dir]
		if other == nil {
			for _, format := range formats {
				sameItems(t, mustParse(t, render(t, f, format, Options{})).Items, f.Items)
			}
		} else {
			mixed := Assemble(other, append(slices.Clone(f.Items), other.Items...))
			sameIdentity(t, mustParse(t, render(t, mixed, f.Format, Options{})).Items, mixed.Items)
		}
		channels[dir] = f
		if t.Failed() {
			t.Fatalf("in %s", path)
		}
	}
}

func TestFixturesSurviveBeingPushed(t *testing.T) {
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) { pushed(t, mustParse(t, fixture(t, name))) })
	}
}

func TestFixturesSurviveEveryFormat(t *testing.T) {
	for _, name := range fixtures {
		f := mustParse(t, fixture(t, name))
		for _, via := range formats {
			t.Run(name+" as "+via.String(), func(t *testing.T) {
				doc := render(t, f, via, Options{})
				back := mustParse(t, doc)
				sameItems(t, back.Items, f.Items)
				if back.Title != f.Title || back.Link != f.Link || back.Self != f.Self || !slices.Equal(back.Hubs, f.Hubs) {
					t.Errorf("channel %q %q %q %q became %q %q %q %q", f.Title, f.Link, f.Self, f.Hubs, back.Title, back.Link, back.Self, back.Hubs)
				}
				// And out of that format into the others.
				for _, to := range formats {
					sameItems(t, mustParse(t, render(t, back, to, Options{})).Items, back.Items)
				}
				if t.Failed() {
					t.Logf("%s", doc)
				}
			})
		}
	}
}

// Items of every dialect in one channel of each: namespaces, bases and languages of
// the documents they come from differ in every way.
func TestAssembledFromDifferentDocuments(t *testing.T) {
	for _, channel := range fixtures {
		head := mustParse(t, fixture(t, channel))
		var items []Item
		for _, name := range fixtures {
			items = append(items, mustParse(t, fixture(t, name)).Items...)
		}
		f := Assemble(head, items)
		for _, format := range formats {
			doc := render(t, f, format, Options{})
			if format != JSONFeed {
				wellFormed(t, doc)
			}
			if sameItems(t, mustParse(t, doc).Items, f.Items); t.Failed() {
				t.Fatalf("channel of %s as %v:\n%s", channel, format, doc)
			}
		}
	}
}

func TestAssembleKeepsTheFirstOfAKey(t *testing.T) {
	a := Item{GUID: "x", Title: "new"}
	b := Item{GUID: "x", Title: "old"}
	f := Assemble(nil, []Item{a, b, {GUID: "y"}})
	if len(f.Items) != 2 || f.Items[0].Title != "new" {
		t.Fatalf("%+v", f.Items)
	}
}

func TestRenderingIsDeterministic(t *testing.T) {
	for _, name := range fixtures {
		a, b := mustParse(t, fixture(t, name)), mustParse(t, fixture(t, name))
		for _, format := range formats {
			one := render(t, a, format, Options{Self: "https://x.example/", Live: true})
			two := render(t, b, format, Options{Self: "https://x.example/", Live: true})
			if !bytes.Equal(one, two) {
				t.Errorf("%s as %v: two renderings differ", name, format)
			}
		}
	}
}
