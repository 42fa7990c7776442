package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		target string
		format feed.Format
		rest   string
		ok     bool
	}{
		{"/feed/https://h/x", own, "https://h/x", true},
		{"/rss/https://h/x?y=/z", feed.RSS, "https://h/x?y=/z", true},
		{"/atom/https%3A%2F%2Fh", feed.Atom, "https%3A%2F%2Fh", true},
		{"/json/", feed.JSONFeed, "", true},
		{"/feed?url=x", own, "?url=x", true},
		{"/feed/?url=x", own, "?url=x", true},
		{"/feeds/https://h/x", own, "https://h/x", false},
		{"/", own, "", false},
	} {
		format, rest, ok := split(c.target)
		if ok != c.ok || ok && (format != c.format || rest != c.rest) {
			t.Errorf("split(%q) = %v, %q, %v", c.target, format, rest, ok)
		}
	}
}

// Every spelling that clients make of an address leads to one feed.
func TestSpellings(t *testing.T) {
	const url = "https://example.org/a/feed?format=xml&u=http://x/"
	n := newFakeNode()
	n.add(t, url, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	for _, target := range []string{
		"/feed/" + url,
		"/feed/https:/example.org/a/feed?format=xml&u=http://x/",
		"/feed/HTTPS://Example.ORG:443/a/feed?format=xml&u=http://x/",
		"/feed/https%3A%2F%2Fexample.org%2Fa%2Ffeed%3Fformat%3Dxml%26u%3Dhttp%3A%2F%2Fx%2F",
	} {
		if w := get(p, target); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if got := n.subscriptions(url); got != 1 {
		t.Errorf("the feed was subscribed to %d times", got)
	}
}

func TestBadAddressTeaches(t *testing.T) {
	p := newProxy(newFakeNode(), Config{Base: "http://127.0.0.1:9"}, newClock().now)
	for _, target := range []string{"/feed/example.org/feed", "/feed/", "/feed", "/feed/https://", "/rss/javascript:alert(1)"} {
		w := get(p, target)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "http://127.0.0.1:9/feed/https://example.org/feed.xml") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestLookupLeadsToTheAddress(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	for _, c := range []struct{ target, to string }{
		{"/feed/?url=https%3A%2F%2FExample.org%2Ffeed.xml", "/feed/" + example},
		{"/atom/?url=example.org/feed.xml", "/atom/" + example},
		{"/feed?url=https://example.org/x?y=z", "/feed/https://example.org/x?y=z"},
	} {
		w := get(p, c.target)
		if w.Code/100 != 3 || w.Header().Get("Location") != c.to {
			t.Errorf("%s leads to %d %q", c.target, w.Code, w.Header().Get("Location"))
		}
	}
	if w := get(p, "/feed/?url=javascript:alert(1)"); w.Code != http.StatusBadRequest {
		t.Errorf("a script as an address: %d", w.Code)
	}
}
