package proxy

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

// past is a proxy over a feed of which the store holds n items, as many readers
// find one that they follow for long.
func past(t *testing.T, url, doc string, n int) (*Proxy, *store.Memory, *fakeFeed) {
	t.Helper()
	node, s := newFakeNode(), store.NewMemory()
	f := node.add(t, url, doc)
	if _, err := s.Apply(t.Context(), store.Batch{Feed: &store.Feed{URL: url}}); err != nil {
		t.Fatal(err)
	}
	come(t, s, f, url, 0, n)
	p := newProxy(node, Config{Store: s}, newClock().now)
	if w := get(p, "/feed/"+url); w.Code != 200 {
		t.Fatalf("the feed itself: %d", w.Code)
	}
	return p, s, f
}

// come stores items from to to, and lets the document show what a node's would:
// those that came last.
func come(t *testing.T, s *store.Memory, f *fakeFeed, url string, from, to int) {
	t.Helper()
	batch := store.Batch{}
	for n := from; n < to; n++ {
		batch.Items = append(batch.Items, pastItem(url, n, 1))
	}
	if _, err := s.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	items, err := s.Items(t.Context(), url, 100)
	if err != nil {
		t.Fatal(err)
	}
	f.change(func() {
		f.doc = f.doc.Only(nil)
		for _, it := range items {
			doc, err := feed.Parse(it.Doc, it.ContentType)
			if err != nil {
				t.Fatal(err)
			}
			f.doc.Items = append(f.doc.Items, doc.Items[0])
		}
		f.state.Version++
	})
}

func pastItem(url string, n int, version byte) store.Item {
	at := time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
	return store.Item{Feed: url, Key: fmt.Sprintf("guid:item-%d", n), Hash: [32]byte{byte(n), byte(n >> 8), version}, Trust: store.Fetched,
		Published: at, Received: at, ContentType: "application/rss+xml",
		Doc: fmt.Appendf(nil, `<rss version="2.0"><channel><title>x</title><item><guid isPermaLink="false">item-%d</guid><title>Version %d</title><pubDate>%s</pubDate></item></channel></rss>`,
			n, version, at.Format(time.RFC1123Z))}
}

// archived is a document as RFC 5005 sees it, whatever its format.
type archived struct {
	self, prev, next, current string
	archive                   bool
	ids                       []string
}

// read5005 reads a document with an XML reader of the test's own.
func read5005(t *testing.T, doc []byte) (a archived) {
	t.Helper()
	const atom, history = "http://www.w3.org/2005/Atom", "http://purl.org/syndication/history/1.0"
	d := xml.NewDecoder(strings.NewReader(string(doc)))
	depth, inItem := 0, false
	for {
		token, err := d.Token()
		if token == nil {
			if depth != 0 {
				t.Fatalf("no XML: %v", err)
			}
			return a
		}
		switch token := token.(type) {
		case xml.EndElement:
			depth--
			inItem = inItem && token.Name.Local != "item" && token.Name.Local != "entry"
		case xml.StartElement:
			depth++
			attrs := map[string]string{}
			for _, x := range token.Attr {
				attrs[x.Name.Local] = x.Value
			}
			switch {
			case token.Name.Local == "item" || token.Name.Local == "entry":
				inItem = true
			case inItem && (token.Name.Local == "guid" || token.Name.Local == "id"):
				text, _ := d.Token()
				a.ids = append(a.ids, string(text.(xml.CharData)))
			case inItem:
			case token.Name == xml.Name{Space: history, Local: "archive"}:
				a.archive = true
			case token.Name == xml.Name{Space: history, Local: "complete"}:
				t.Error("a document that has a history says that it is all there is")
			case token.Name == xml.Name{Space: atom, Local: "link"}:
				for rel, to := range map[string]*string{"self": &a.self, "prev-archive": &a.prev, "next-archive": &a.next, "current": &a.current} {
					if attrs["rel"] == rel {
						if *to != "" {
							t.Errorf("two links are %s", rel)
						}
						*to = attrs["href"]
					}
				}
			}
		}
	}
}

const base = "http://127.0.0.1:8089"

// walk follows the history from the current document back, as RFC 5005 §4 has a
// client do it, and returns its pages' documents by their addresses, the newest
// first.
func walk(t *testing.T, p *Proxy, from string) (addresses []string, docs []archived, bodies []string) {
	t.Helper()
	for at := from; at != ""; {
		w := get(p, strings.TrimPrefix(at, base))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", at, w.Code, w.Body)
		}
		a := read5005(t, w.Body.Bytes())
		if a.self != at {
			t.Errorf("%s says that it is %s", at, a.self)
		}
		if a.archive != (at != from) || at != from && a.current != from {
			t.Errorf("%s: archive %v, current %s", at, a.archive, a.current)
		}
		if len(docs) > 1 && a.next != addresses[len(addresses)-1] {
			t.Errorf("%s: the next one is %q, not %s", at, a.next, addresses[len(addresses)-1])
		}
		if slices.Contains(addresses, a.prev) {
			t.Fatalf("a circle at %s", a.prev)
		}
		addresses, docs, bodies = append(addresses, at), append(docs, a), append(bodies, w.Body.String())
		at = a.prev
	}
	return addresses, docs, bodies
}

const plainRSS = `<rss version="2.0"><channel><title>f</title><link>https://h.example/</link><description/></channel></rss>`

// The current document and the pages of the history leave no item out, in every
// form, and for addresses with a query, even one that asks for a page.
func TestHistoryIsComplete(t *testing.T) {
	for _, url := range []string{"https://h.example/f", "https://h.example/f?page=3", "https://h.example/?a=b&page=2"} {
		p, _, _ := past(t, url, plainRSS, 517)
		for _, form := range []string{"feed", "rss", "atom"} {
			addresses, docs, _ := walk(t, p, base+"/"+form+"/"+url)
			ids := map[string]int{}
			for n, d := range docs {
				if n > 0 && len(d.ids) != 100 {
					t.Errorf("%s holds %d items", addresses[n], len(d.ids))
				}
				for _, id := range d.ids {
					ids[id]++
				}
			}
			if len(docs) != 6 || len(ids) != 517 {
				t.Errorf("%s: %d documents hold %d items", url, len(docs), len(ids))
			}
			if docs[5].prev != "" || docs[1].next != "" {
				t.Errorf("%s: before the first page %q, after the last %q", url, docs[5].prev, docs[1].next)
			}
		}
	}
}

// What is on a page stays there, with the same bytes, whatever comes.
func TestHistoryStays(t *testing.T) {
	const url = "https://h.example/f"
	p, s, f := past(t, url, plainRSS, 250)
	addresses, _, before := walk(t, p, base+"/feed/"+url)
	come(t, s, f, url, 250, 390)
	if _, err := s.Apply(t.Context(), store.Batch{Items: []store.Item{pastItem(url, 7, 2)}}); err != nil { // an old one changes
		t.Fatal(err)
	}
	later, docs, after := walk(t, p, base+"/feed/"+url)
	if len(addresses) != 3 || len(later) != 4 || !slices.Equal(addresses[1:], later[2:]) {
		t.Fatalf("pages were %v, are %v", addresses, later)
	}
	if before[2] != after[3] {
		t.Errorf("the first page changed:\n%s\nis now\n%s", before[2], after[3])
	}
	if docs[2].next != later[1] {
		t.Error("the page that was the last one names none after it")
	}
	if !strings.Contains(after[3], "Version 1") || strings.Contains(after[3], "Version 2") {
		t.Error("a page shows what came later")
	}
	restarted := newProxy(p.source, Config{Store: s}, newClock().now)
	get(restarted, "/feed/"+url)
	again, _, _ := walk(t, restarted, base+"/feed/"+url)
	if !slices.Equal(again, later) {
		t.Errorf("after a restart the pages are %v", again)
	}
}

// What volunteers say of an item later changes the current document, and no page:
// readers keep pages.
func TestHistoryStaysWhateverIsSaidLater(t *testing.T) {
	const url = "https://h.example/f"
	p, s, _ := past(t, url, plainRSS, 250)
	p = newProxy(p.source, Config{Store: s, Labels: true}, newClock().now)
	_, _, before := walk(t, p, base+"/feed/"+url)
	n := p.source.(*fakeNode)
	n.doubts = map[string]witness.State{}
	for i := range 250 {
		n.doubts[pastItem(url, i, 1).Key] = witness.Contradicted
	}
	p = newProxy(n, Config{Store: s, Labels: true}, newClock().now)
	_, _, after := walk(t, p, base+"/feed/"+url)
	if len(before) != 3 || !slices.Equal(before[1:], after[1:]) {
		t.Errorf("of %d pages, not all are as they were", len(before))
	}
	for _, page := range after[1:] {
		if strings.Contains(page, "FeedTree:") || strings.Contains(page, "contradicted") {
			t.Errorf("a page says what can change:\n%.600s", page)
		}
	}
}

// A page answers conditions and may be kept for a day; of what is let go it says so.
func TestHistoryAsHTTP(t *testing.T) {
	const url = "https://h.example/f"
	p, s, _ := past(t, url, plainRSS, 250)
	addresses, _, _ := walk(t, p, base+"/feed/"+url)
	first := strings.TrimPrefix(addresses[2], base)
	w := get(p, first)
	if w.Header().Get("Cache-Control") != "private, max-age=86400" || w.Header().Get("Last-Modified") != "Thu, 01 Jan 2026 01:39:00 GMT" {
		t.Errorf("headers: %v", w.Header())
	}
	if again := get(p, first, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("the same again: %d", again.Code)
	}
	for target, want := range map[string]string{
		"/feed/" + url + "?ft:page=99999":                "no such page",
		"/feed/" + url + "?ft:page=1":                    "no such page",
		"/feed/https://unknown.example/?ft:page=100":     "not followed here",
		"/feed/https://unknown.example/?x=y&ft:page=100": "not followed here",
	} {
		if w := get(p, target); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if n := p.source.(*fakeNode).subscriptions("https://unknown.example/"); n != 0 {
		t.Error("a page of a feed that is not followed makes it followed")
	}
	small := store.NewMemoryWith(store.Limits{})
	p.config.Store = small
	if err := s.DropFeed(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	p.config.Store = s
	if w := get(p, first); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "nothing of it is left") {
		t.Errorf("after all was let go: %d %s", w.Code, w.Body)
	}
}

// What the origin says of its own history is of other documents.
func TestHistoryOfTheOrigin(t *testing.T) {
	const url = "https://h.example/f"
	doc := `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0"><title>f</title><id>x</id><updated>2026-01-01T00:00:00Z</updated>
		<fh:complete/><link rel="prev-archive" href="https://h.example/old"/><link rel="next" href="https://h.example/2"/><link rel="alternate" href="https://h.example/"/></feed>`
	p, _, _ := past(t, url, doc, 120)
	w := get(p, "/feed/"+url)
	a := read5005(t, w.Body.Bytes())
	if !strings.HasPrefix(a.prev, base) || strings.Contains(w.Body.String(), "h.example/2") || !strings.Contains(w.Body.String(), `rel="alternate"`) {
		t.Errorf("links: %+v in\n%s", a, w.Body)
	}
	p, _, _ = past(t, url, strings.Replace(doc, "<fh:complete/>", "", 1), 50)
	if a := read5005(t, get(p, "/feed/"+url).Body.Bytes()); a.prev != "https://h.example/old" {
		t.Errorf("without a history of our own: %+v", a)
	}
}

func TestHistoryInJSON(t *testing.T) {
	const url = "https://h.example/f"
	p, _, _ := past(t, url, plainRSS, 120)
	w := get(p, "/json/"+url)
	if !strings.Contains(w.Body.String(), `"next_url": "`+base+"/json/"+url+"?ft:page=100") {
		t.Errorf("%.600s", w.Body)
	}
	if w := get(p, "/json/"+url+"?ft:page=100"); w.Code != 200 || strings.Contains(w.Body.String(), "next_url") || strings.Count(w.Body.String(), `"id":`) != 100 {
		t.Errorf("%d %.600s", w.Code, w.Body)
	}
}

// Only the last parameter is the proxy's, and only as it is written here.
func TestCutPage(t *testing.T) {
	for rest, want := range map[string]string{
		"https://h.example/f?ft:page=12":        "https://h.example/f 12",
		"https://h.example/f?a=b&ft:page=12":    "https://h.example/f?a=b 12",
		"https://h.example/f?page=12":           "https://h.example/f?page=12",
		"https://h.example/f?ft:page=12&x=y":    "https://h.example/f?ft:page=12&x=y",
		"https://h.example/f?ft%3Apage=12":      "https://h.example/f?ft%3Apage=12",
		"https://h.example/ft:page=12":          "https://h.example/ft:page=12",
		"https%3A%2F%2Fh.example%2Ff?ft:page=9": "https%3A%2F%2Fh.example%2Ff 9",
	} {
		addr, page, paged := cutPage(rest)
		if paged {
			addr += fmt.Sprint(" ", page)
		}
		if addr != want {
			t.Errorf("%s is %s, want %s", rest, addr, want)
		}
	}
	for _, bad := range []string{"-1", "0", "x", "", "99999999999999999999"} {
		if _, _, paged := cutPage("https://h.example/f?ft:page=" + bad); paged {
			t.Errorf("page %q is one", bad)
		}
	}
}
