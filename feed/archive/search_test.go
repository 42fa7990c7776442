package archive_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/internal/fuzz"
)

func article(key, title, html string) store.Item {
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(html)
	return store.Item{Feed: feedURL, Key: key, Hash: [32]byte{byte(len(html)), byte(len(title))}, Trust: store.Fetched, ContentType: "application/rss+xml",
		Doc: []byte("<?xml version=\"1.0\"?><rss><channel><title>Not this</title><item><title>" + title + "</title><link>https://secret.example/linkword</link>" +
			"<guid>guidword</guid><description>" + escaped + "</description></item></channel></rss>")}
}

func searchable(t *testing.T, items ...store.Item) *archive.Archive {
	t.Helper()
	a := open(t, filepath.Join(t.TempDir(), "archive.db"))
	if _, err := a.Apply(t.Context(), store.Batch{Feed: &store.Feed{URL: feedURL}, Items: items}); err != nil {
		t.Fatal(err)
	}
	return a
}

func keys(t *testing.T, a *archive.Archive, query string) string {
	t.Helper()
	hits, err := a.Search(t.Context(), query, 10)
	if err != nil {
		t.Errorf("search for %q: %v", query, err)
	}
	var found []string
	for _, h := range hits {
		found = append(found, h.Item.Key)
	}
	return strings.Join(found, " ")
}

func TestSearch(t *testing.T) {
	a := searchable(t,
		article("a", "Trees in the forest", "<p>The oldest <b>oak</b> of Fran&ccedil;ois</p><script>hidden()</script>"),
		article("b", "News of the web", `<a href="https://x.example/attribute">Forest fires</a> &amp; smoke, 5 &lt; 6`),
		article("c", "東京タワー", "<p>Straße und Café</p>"),
		article("d", "C++ & the \"quoted\" NEAR AND OR", "state-of-the-art"),
	)
	for query, want := range map[string]string{
		"forest": "b a", "FOREST": "b a", "forest oak": "a", "oak forest": "a", "francois": "a", "François": "a",
		"fore": "b a", "for": "b a", "f": "", "oak*": "a", "oa*": "a", "smoke web": "b", "missing": "", "forest missing": "",
		"cafe": "c", "strasse": "", "straße": "c", "東京": "c", "タワー": "c", "京": "c", "東": "c", "大阪": "",
		"linkword": "", "guidword": "", "attribute": "", "hidden": "", "not this": "", "href": "",
		"near and or": "d", `"quoted"`: "d", "state-of-the-art": "d", "art state": "d", "c++": "d",
	} {
		if got := keys(t, a, query); got != want {
			t.Errorf("search for %q finds %q, want %q", query, got, want)
		}
	}
}

// What people type is never an error of syntax, and never a command.
func TestSearchTakesAnything(t *testing.T) {
	a := searchable(t, article("a", "word", "text"))
	for _, query := range []string{
		"", " ", `"`, `""`, `word"`, "*", "word*", "**", "-word", "^word", "words:word", "word NEAR(", "(", ")", "a AND", "NOT", "OR OR", "{words}:x",
		"'; DROP TABLE items; --", "\x00", "\xff\xfe", "word\x00text", "%", "_", "a:b:c", "+", "word + text", "\u200b", "🎉", "é́́", "𝔴𝔬𝔯𝔡",
		strings.Repeat("x", 1<<16), strings.Repeat("a b ", 5000), strings.Repeat(`"`, 999), "ﬁ", "İ", "ß", "ΑΣ", "\u0e01\u0e33",
	} {
		if _, err := a.Search(t.Context(), query, 3); err != nil {
			t.Errorf("search for %.40q: %v", query, err)
		}
	}
	if got := keys(t, a, "𝔴𝔬𝔯𝔡 text"); got != "a" {
		t.Errorf("letters in another dress find %q", got)
	}
}

func FuzzSearch(f *testing.F) {
	a, err := archive.Open(filepath.Join(f.TempDir(), "archive.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { a.Close() })
	f.Add("a title", "<p>some text</p>")
	f.Add("<b", "&#x41;]]>")
	fuzz.Hold(f, func(t *testing.T, query, html string) {
		it := article("a", "title", html)
		it.Doc = append(it.Doc, query...)
		if _, err := a.Apply(t.Context(), store.Batch{Feed: &store.Feed{URL: feedURL}, Items: []store.Item{it}}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Search(t.Context(), query, 3); err != nil {
			t.Fatalf("search for %q: %v", query, err)
		}
	})
}

// Only what an item says now is found, wherever its versions come from.
func TestSearchFollowsVersions(t *testing.T) {
	a := searchable(t, article("a", "first", "apple"))
	apply := func(b store.Batch) {
		t.Helper()
		if _, err := a.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	second := article("a", "second", "banana fruit")
	apply(store.Batch{Items: []store.Item{second}})
	if got := keys(t, a, "apple") + "|" + keys(t, a, "banana"); got != "|a" {
		t.Errorf("after a new version: %q", got)
	}
	apply(store.Batch{Items: []store.Item{article("a", "first", "apple")}}) // the origin shows it again
	if got := keys(t, a, "apple") + "|" + keys(t, a, "banana"); got != "a|" {
		t.Errorf("after the old version again: %q", got)
	}
	if err := a.DropFeed(t.Context(), feedURL); err != nil {
		t.Fatal(err)
	}
	apply(store.Batch{Feed: &store.Feed{URL: feedURL}})
	if got := keys(t, a, "apple"); got != "" {
		t.Errorf("after the feed was dropped: %q", got)
	}
	if found, err := a.Check(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("not sound: %v, %v", found, err)
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("filler ", 100) + "the Needle, here " + strings.Repeat("more ", 100)
	a := searchable(t, article("a", "Of <![CDATA[<i>Hay</i>]]>", "<p>"+long+"</p>"))
	hits, err := a.Search(t.Context(), "needle", 1)
	if err != nil || len(hits) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	h := hits[0]
	if h.Title != "Of Hay" || len(h.Marks) != 1 || h.Snippet[h.Marks[0][0]:h.Marks[0][1]] != "Needle," || len(h.Snippet) > 300 ||
		!strings.HasPrefix(h.Snippet, "… filler") || !strings.HasSuffix(h.Snippet, "more …") {
		t.Errorf("title %q, %q, marks %v", h.Title, h.Snippet, h.Marks)
	}
}

// The newest come first, and no more than were asked for.
func TestSearchLimit(t *testing.T) {
	var items []store.Item
	for n := range 30 {
		items = append(items, article(fmt.Sprint(n), "common", fmt.Sprint("number ", n)))
	}
	a := searchable(t, items...)
	hits, err := a.Search(t.Context(), "common", 3)
	if err != nil || len(hits) != 3 || hits[0].Item.Key != "29" || hits[2].Item.Key != "27" || hits[0].Item.Feed != feedURL {
		t.Errorf("%+v, %v", hits, err)
	}
}
