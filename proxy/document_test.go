package proxy

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

func TestForms(t *testing.T) {
	n := newFakeNode()
	n.add(t, "https://h.example/rss", rss("1"))
	n.add(t, "https://h.example/atom", atomDoc)
	n.add(t, "https://h.example/json", jsonDoc)
	p := newProxy(n, Config{}, newClock().now)
	for _, c := range []struct {
		target, media string
		format        feed.Format
	}{
		{"/feed/https://h.example/rss", "application/rss+xml; charset=utf-8", feed.RSS},
		{"/feed/https://h.example/atom", "application/atom+xml; charset=utf-8", feed.Atom},
		{"/feed/https://h.example/json", "application/feed+json; charset=utf-8", feed.JSONFeed},
		{"/rss/https://h.example/json", "application/rss+xml; charset=utf-8", feed.RSS},
		{"/atom/https://h.example/rss", "application/atom+xml; charset=utf-8", feed.Atom},
		{"/json/https://h.example/atom", "application/feed+json; charset=utf-8", feed.JSONFeed},
	} {
		w := get(p, c.target)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != c.media {
			t.Fatalf("%s: %d, %s", c.target, w.Code, w.Header().Get("Content-Type"))
		}
		f, err := feed.Parse(w.Body.Bytes(), w.Header().Get("Content-Type"))
		if err != nil || f.Format != c.format || len(f.Items) != 1 {
			t.Fatalf("%s: %v, %+v", c.target, err, f)
		}
		if want := "http://127.0.0.1:8089" + c.target; f.Self != want {
			t.Errorf("%s says it is %s", c.target, f.Self)
		}
		if f.TTL != 0 {
			t.Errorf("%s passes a ttl of %v on", c.target, f.TTL)
		}
	}
}

func TestIdentityIsTheSources(t *testing.T) {
	const guid = " tag:x,2026:A%2fb&amp;c é "
	n := newFakeNode()
	n.add(t, example, rss(guid))
	w := get(newProxy(n, Config{}, newClock().now), "/feed/"+example)
	f, err := feed.Parse(w.Body.Bytes(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Items[0].GUID, "tag:x,2026:A%2fb&c é"; got != want {
		t.Errorf("the guid became %q, want %q", got, want)
	}
}

// RFC 9110 §13: which conditions are looked at, and what they compare.
func TestConditions(t *testing.T) {
	n, c := newFakeNode(), newClock()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	first := get(p, "/feed/"+example)
	tag, date := first.Header().Get("ETag"), first.Header().Get("Last-Modified")
	if strings.HasPrefix(tag, "W/") || !strings.HasPrefix(tag, `"`) || date == "" {
		t.Fatalf("ETag %q, Last-Modified %q", tag, date)
	}
	earlier := c.now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for _, x := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"no condition", nil, 200},
		{"same tag", []string{"If-None-Match", tag}, 304},
		{"weak prefix: weak comparison", []string{"If-None-Match", "W/" + tag}, 304},
		{"list", []string{"If-None-Match", `"other", ` + tag + `, W/"third"`}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another tag", []string{"If-None-Match", `"other"`}, 200},
		{"no tag at all", []string{"If-None-Match", "other"}, 200},
		{"same date", []string{"If-Modified-Since", date}, 304},
		{"earlier date", []string{"If-Modified-Since", earlier}, 200},
		{"no date", []string{"If-Modified-Since", "yesterday"}, 200},
		{"tag outranks date: changed", []string{"If-None-Match", `"other"`, "If-Modified-Since", date}, 200},
		{"tag outranks date: same", []string{"If-None-Match", tag, "If-Modified-Since", earlier}, 304},
		{"must match, does", []string{"If-Match", tag}, 200},
		{"must match, does not", []string{"If-Match", `"other"`}, 412},
	} {
		w := get(p, "/feed/"+example, x.headers...)
		if w.Code != x.want {
			t.Errorf("%s: %d, want %d", x.name, w.Code, x.want)
		}
		if w.Code == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != tag ||
			w.Header().Get("Cache-Control") == "" || w.Header().Get("Vary") == "") {
			t.Errorf("%s: a 304 with %v and %d bytes", x.name, w.Header(), w.Body.Len())
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	full, head := get(p, "/feed/"+example), ask(p, http.MethodHead, "/feed/"+example)
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("ETag") != full.Header().Get("ETag") ||
		head.Header().Get("Content-Length") != full.Header().Get("Content-Length") {
		t.Errorf("HEAD: %d, %v, %d bytes", head.Code, head.Header(), head.Body.Len())
	}
}

func TestGzip(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1", "2", "3"))
	p := newProxy(n, Config{}, newClock().now)
	plain := get(p, "/feed/"+example)
	for _, c := range []struct {
		accept string
		zipped bool
	}{
		{"gzip", true}, {"deflate, gzip;q=0.5", true}, {"GZIP", true}, {"x-gzip", true}, {"*", true}, {"br;q=1, *;q=0.1", true},
		{"", false}, {"identity", false}, {"br", false}, {"gzip;q=0", false}, {"*;q=0", false}, {"gzip;q=0, *", false},
		{"gzip;q=0.5, identity", false}, {"gzip;q=high", false}, {"gzip;q=2", false}, {"gzip;level=9", false},
	} {
		w := get(p, "/feed/"+example, "Accept-Encoding", c.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.zipped {
			t.Errorf("Accept-Encoding %q: gzip %v", c.accept, got)
			continue
		}
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: Vary %q", c.accept, w.Header().Get("Vary"))
		}
		if !c.zipped {
			continue
		}
		r, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil || string(body) != plain.Body.String() {
			t.Errorf("Accept-Encoding %q: another document, %v", c.accept, err)
		}
		tag := w.Header().Get("ETag")
		if tag == plain.Header().Get("ETag") {
			t.Errorf("one strong tag for two codings")
		}
		if w := get(p, "/feed/"+example, "Accept-Encoding", c.accept, "If-None-Match", tag); w.Code != 304 || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("condition on the gzip tag: %d, %v", w.Code, w.Header())
		}
	}
}

func TestNewsIsSeenAtOnce(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	one := get(p, "/feed/"+example)
	f.set(t, rss("2", "1"))
	two := get(p, "/feed/"+example, "If-None-Match", one.Header().Get("ETag"))
	if two.Code != 200 || !strings.Contains(two.Body.String(), "Item 2") {
		t.Fatalf("%d %s", two.Code, two.Body)
	}
	// Twice within one second: a reader that goes by dates alone must not miss it.
	w := get(p, "/feed/"+example, "If-Modified-Since", one.Header().Get("Last-Modified"))
	if w.Code != 200 {
		t.Errorf("the change is hidden behind its date: %d", w.Code)
	}
}

func TestUnchangedDocumentKeepsItsDate(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	one := get(p, "/feed/"+example)
	c.advance(time.Minute)
	f.set(t, rss("1")) // another version of the state, the same document
	two := get(p, "/feed/"+example)
	if one.Header().Get("ETag") != two.Header().Get("ETag") || one.Header().Get("Last-Modified") != two.Header().Get("Last-Modified") {
		t.Errorf("%v became %v", one.Header(), two.Header())
	}
}

func TestDocumentsAreMadeOncePerChange(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	for range 10 {
		get(p, "/feed/"+example)
	}
	if f.made != 1 {
		t.Errorf("made %d times", f.made)
	}
	c.advance(2 * time.Hour)
	get(p, "/feed/"+example)
	if f.made != 2 {
		t.Errorf("the node is not told that the feed is still read: made %d times", f.made)
	}
}

func TestStateHeader(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	if got := get(p, "/feed/"+example).Header().Get("X-FeedTree-State"); got != "subscriber" {
		t.Errorf("state %q", got)
	}
	f.change(func() {
		f.status.Role, f.status.Live = feedtree.RoleVolunteer, true
		f.state.Stale, f.state.Failure = true, "the origin answered 503\r\nX-Evil: yes é"
	})
	c.advance(2 * time.Second)
	w := get(p, "/feed/"+example)
	want := `volunteer; signed; stale; failure="the origin answered 503\ufffd\nX-Evil: yes \u00e9"`
	if got := w.Header().Get("X-FeedTree-State"); got != want {
		t.Errorf("state %s, want %s", got, want)
	}
	if w.Code != 200 || w.Header().Get("Retry-After") != "" {
		t.Errorf("an origin's failure became the reader's: %d, %v", w.Code, w.Header())
	}
}

func TestHeldDocumentOutlivesFailures(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	get(p, "/feed/"+example)
	f.change(func() { f.err = http.ErrHandlerTimeout; f.state.Version++ })
	if w := get(p, "/feed/"+example); w.Code != 200 || !strings.Contains(w.Body.String(), "Item 1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTrustIsMarked(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	trusted(f, store.Signed)
	p := newProxy(n, Config{}, c.now)
	if body := get(p, "/feed/"+example).Body.String(); !strings.Contains(body, "signed") {
		t.Errorf("no mark in %s", body)
	}
}

// With labels each item ends with a line that says why it is believed; without, the
// bytes are as ever. Identities stay, and the entity tag tells one from the other.
func TestLabelsAreALineInEachItem(t *testing.T) {
	n, c := newFakeNode(), newClock()
	f := n.add(t, example, rss("1"))
	trusted(f, store.Corroborated)
	plain, labelled := newProxy(n, Config{}, c.now), newProxy(n, Config{Labels: true}, c.now)
	without, with := get(plain, "/feed/"+example), get(labelled, "/feed/"+example)
	const line = "<description>FeedTree: corroborated, several independent nodes saw the same.</description>"
	if strings.Replace(with.Body.String(), line, "", 1) != without.Body.String() || !strings.Contains(with.Body.String(), line) {
		t.Errorf("with labels\n%s\nwithout\n%s", with.Body, without.Body)
	}
	if with.Header().Get("ETag") == without.Header().Get("ETag") {
		t.Error("one entity tag for both")
	}
	f.change(func() {
		f.state.Trust["guid:1"] = store.Unconfirmed
		f.state.Doubt = map[string]witness.State{"guid:1": witness.Disputed}
		f.state.Version++
	})
	for _, form := range []string{"/rss/", "/atom/", "/json/"} {
		if body := get(labelled, form+example).Body.String(); !strings.Contains(body, "unconfirmed and disputed") {
			t.Errorf("%s: %s", form, body)
		}
	}
}
