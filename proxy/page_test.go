package proxy

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

const hostile = `</a><script>alert("1")</script><img src=x onerror=alert(2)>`

func hostileProxy(t *testing.T) *Proxy {
	t.Helper()
	c := newClock()
	n := newFakeNode()
	n.status = feedtree.Status{
		PeerID: "12D3KooWtest", Addrs: []string{"/ip4/127.0.0.1/tcp/1/p2p/12D3KooWtest"}, Peers: 2, Since: c.now(),
		Refused: map[string]uint64{hostile: 3, "signature": 7},
		Feeds: []feedtree.FeedStatus{{
			URL: example, Title: hostile, Role: feedtree.RoleSubscriber, Parent: hostile, Children: []string{"a", "b"},
			Items: 1, Failure: hostile, Local: hostile, LastEvent: c.now(), Refused: map[string]uint64{"not the feed's key": 4},
		}},
	}
	s := store.NewMemory()
	doc := `<rss version="2.0"><channel><title>x</title><item><guid>1</guid><link>javascript:alert(3)</link>` +
		`<title>` + strings.ReplaceAll(hostile, "<", "&lt;") + `</title></item></channel></rss>`
	_, err := s.Apply(t.Context(), store.Batch{
		Feed:  &store.Feed{URL: example},
		Items: []store.Item{{Feed: example, Key: "guid:1", Doc: []byte(doc), Trust: store.Signed, Received: c.now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newProxy(n, Config{Store: s}, c.now)
}

// The page shows text from feeds and peers, and none of it becomes markup.
func TestHostileTextStaysText(t *testing.T) {
	w := get(hostileProxy(t), "/")
	doc, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode:
			text.WriteString(n.Data)
		case n.Data == "img", n.Data == "script" && n.FirstChild != nil:
			t.Errorf("an element <%s> %v that is not ours", n.Data, n.Attr)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	for _, want := range []string{hostile, "signed", "7 × signature", "to 2 other nodes"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	csp := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	for _, h := range []string{"X-Content-Type-Options", "Referrer-Policy"} {
		if w.Header().Get(h) == "" {
			t.Errorf("no %s", h)
		}
	}
}

func TestPageAsksNobodyElse(t *testing.T) {
	w := get(newProxy(newFakeNode(), Config{}, newClock().now), "/")
	doc, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "src" || n.Data == "link" && a.Key == "href" {
				if !strings.HasPrefix(a.Val, "/") && a.Val != "data:," {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
	}
	for path, media := range map[string]string{"/page.css": "text/css", "/page.js": "text/javascript"} {
		w := get(newProxy(newFakeNode(), Config{}, newClock().now), path)
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), media) {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

// Looking at the page is not reading the feeds.
func TestPageReadsNoDocument(t *testing.T) {
	p := hostileProxy(t)
	get(p, "/")
	if n := p.source.(*fakeNode); len(n.asked) != 0 {
		t.Errorf("asked for %v", n.asked)
	}
}

func TestAddedFeedIsNamedOnlyIfItIsThere(t *testing.T) {
	p := hostileProxy(t)
	if body := get(p, "/?added="+example).Body.String(); !strings.Contains(body, "Added.") {
		t.Error("the page does not tell the new address")
	}
	if body := get(p, "/?added=https://evil.example/").Body.String(); strings.Contains(body, "evil.example") {
		t.Error("the page repeats an address of anybody's choice")
	}
}

// The names of the status are a promise to programs.
func TestStatusNames(t *testing.T) {
	w := get(hostileProxy(t), "/api/v1/status")
	var got struct {
		Feeds []map[string]any `json:"feeds"`
	}
	var top map[string]any
	for _, into := range []any{&got, &top} {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"peer_id", "addrs", "peers", "feeds"} {
		if _, ok := top[name]; !ok {
			t.Errorf("no %q", name)
		}
	}
	for _, name := range []string{"url", "role", "parent", "children", "items", "events_received", "origin_requests", "last_event"} {
		if _, ok := got.Feeds[0][name]; !ok {
			t.Errorf("no %q of a feed", name)
		}
	}
	if w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%v", w.Header())
	}
}

func TestTimesInWords(t *testing.T) {
	now := newClock().now()
	for d, want := range map[time.Duration]string{
		0: "just now", 5 * time.Second: "5 s ago", 3*time.Minute + time.Second: "3 min ago",
		2*time.Hour + time.Minute: "2 h ago", 72 * time.Hour: "3 days ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := ago(now, time.Time{}); got != "never" {
		t.Error(got)
	}
	if got := until(now, now.Add(90*time.Minute)); got != "in 1 h" {
		t.Error(got)
	}
}

// Where other volunteers say otherwise, the page and the API say so.
func TestDoubtsAreShown(t *testing.T) {
	n, c, s := newFakeNode(), newClock(), store.NewMemory()
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T"}}
	n.doubts = map[string]witness.State{"guid:1": witness.Disputed, "guid:2": witness.Contradicted}
	b := store.Batch{Feed: &store.Feed{URL: example}}
	for _, guid := range []string{"1", "2", "3"} {
		b.Items = append(b.Items, store.Item{Feed: example, Key: "guid:" + guid, Doc: []byte(rss(guid)), Trust: store.Corroborated, Received: c.now()})
	}
	if _, err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p := newProxy(n, Config{Store: s}, c.now)
	for guid, want := range map[string]string{
		"1": `"trust": "unconfirmed",\s+"doubt": "disputed"`, "2": `"trust": "unconfirmed",\s+"doubt": "contradicted"`, "3": `"trust": "corroborated",\s+"doubt": ""`,
	} {
		if body := get(p, "/api/v1/item?feed="+url.QueryEscape(example)+"&key=guid%3A"+guid).Body.String(); !regexp.MustCompile(want).MatchString(body) {
			t.Errorf("item %s: %s", guid, body)
		}
	}
	if body := get(p, "/").Body.String(); !strings.Contains(body, "disputed") || !strings.Contains(body, "contradicted") {
		t.Error("the page does not say so")
	}
}
