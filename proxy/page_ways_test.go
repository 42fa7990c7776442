package proxy

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// Issue: each step by which an item came is visible in the item's history.
func TestTheAPIAndThePageTellHowAnItemCame(t *testing.T) {
	n, s, at := newFakeNode(), store.NewMemory(), newClock().now()
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T", Version: 1, Items: 2}}
	n.ways = map[string][]feedtree.Way{"guid:a": {
		{How: feedtree.FromReplica, From: "12D3KooWabcdefgh", At: at, Asked: 3},
		{How: feedtree.FromOrigin, From: example, At: at.Add(time.Minute), Why: "by the schedule"},
	}}
	for i, guid := range []string{"a", "b"} {
		if _, err := s.Apply(t.Context(), oneItem(example, guid, at.Add(time.Duration(i)*time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	p := newProxy(n, Config{Store: s}, newClock().now)
	type item struct {
		Key  string
		Ways []struct {
			How, From, Why string
			At             time.Time
			Asked          int
		}
	}
	check := func(from string, it item) {
		t.Helper()
		if w := it.Ways; len(w) != 2 || w[0].How != "root replica" || w[0].From != "12D3KooWabcdefgh" || w[0].Asked != 3 || !w[0].At.Equal(at) ||
			w[1].How != "origin" || w[1].Why != "by the schedule" {
			t.Errorf("%s: %+v", from, it)
		}
	}
	for _, query := range []string{"", "?feed=" + example} {
		var got struct{ Items []item }
		body := get(p, "/api/v1/items"+query).Body.String()
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Items) != 2 {
			t.Fatalf("%v: %s", err, body)
		}
		check(query, got.Items[1])
		if !strings.Contains(body, `"ways": []`) {
			t.Errorf("%q: an item of which nothing is known: %s", query, body)
		}
	}
	n.ways["guid:b"] = []feedtree.Way{{How: feedtree.Pushed, From: "12D3KooWabcdefgh", At: at}} // the feed is the same
	if body := get(p, "/api/v1/items").Body.String(); !strings.Contains(body, `"how": "pushed"`) {
		t.Errorf("what is learned later is not told: %s", body)
	}
	var one item
	if err := json.Unmarshal(get(p, "/api/v1/item?feed="+example+"&key=guid:a").Body.Bytes(), &one); err != nil {
		t.Fatal(err)
	}
	check("one", one)
	page := get(p, "/item?"+url.Values{"feed": {example}, "key": {"guid:a"}}.Encode()).Body.String()
	for _, want := range []string{"How it came", "fetched from a node near the root after a gap, from …abcdefgh, after 2 others did not have it", "asked the site, by the schedule"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// An item that a revoked key said too late is nowhere.
func TestWhatIsTakenBackIsOnNoList(t *testing.T) {
	p, _, _ := past(t, example, rss("item-0"), 150)
	n := p.source.(*fakeNode)
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T", Version: 1, Items: 150}}
	ends, err := p.shelf.books[example].volumes.known(t.Context(), p.config.Store, example)
	if err != nil || len(ends) != 1 {
		t.Fatal(ends, err)
	}
	lists := map[string]string{ // and an item that is on each
		"/":                                "item-149",
		"/api/v1/items":                    "item-149",
		"/api/v1/items?feed=" + example:    "item-149",
		"/show?feed=" + example:            "item-149",
		pageURL("/feed/"+example, ends[0]): "item-50",
	}
	has := func(path, guid string) bool {
		w := get(p, path)
		doc, err := feed.Parse(w.Body.Bytes(), w.Header().Get("Content-Type"))
		if strings.HasPrefix(path, "/feed/") && err == nil {
			for _, it := range doc.Items {
				if it.GUID == guid {
					return true
				}
			}
			return false
		}
		return strings.Contains(w.Body.String(), guid+`"`)
	}
	for path, guid := range lists {
		if !has(path, guid) {
			t.Errorf("%s lacks %s", path, guid)
		}
	}
	one := "?feed=" + example + "&key=guid:item-149"
	n.change(func(s *feedtree.Status) {
		n.back = map[string]bool{"guid:item-149": true, "guid:item-50": true}
		s.Feeds[0].Version++ // as when the keys of a feed change
	})
	for path, guid := range lists {
		if has(path, guid) {
			t.Errorf("%s shows %s, which was taken back", path, guid)
		}
	}
	for _, path := range []string{"/api/v1/item", "/item", "/item/body"} {
		if w := get(p, path+one); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
