package proxy

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// Whatever a client sends, in the bytes of HTTP: an answer that is one, and, from
// another site's page, nothing followed.
func FuzzRequest(f *testing.F) {
	const host = "Host: 127.0.0.1:8089\r\n"
	for _, target := range []string{
		"/", "/feed/https://example.org/feed.xml", "/atom/https%3A%2F%2Fexample.org%2Ffeed.xml", "/feed/https:/example.org/feed.xml?page=1",
		"/json/?url=x", "/show?feed=https://example.org/feed.xml", "/item?feed=https://example.org/feed.xml&key=guid:1", "/api/v1/items?feed=x&limit=-1",
		"/api/v1/status", "/opml", "/page.css", "/hook/https://example.org/feed.xml", "/websub/x?hub.mode=subscribe&hub.challenge=c", "/metrics",
	} {
		f.Add("GET " + target + " HTTP/1.1\r\n" + host + "Accept-Encoding: gzip;q=0.5, identity;q=0\r\nIf-None-Match: W/\"x\", \"y\"\r\n\r\n")
	}
	f.Add("POST /ping HTTP/1.1\r\n" + host + "Content-Length: 55\r\n\r\n<methodCall><methodName>weblogUpdates.ping</methodName>")
	f.Add("POST /hub HTTP/1.1\r\n" + host + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 22\r\n\r\nhub.mode=publish&url=x")
	f.Add("POST /subscribe HTTP/1.1\r\n" + host + "Origin: https://evil.example\r\nContent-Length: 5\r\n\r\nurl=x")
	f.Add("HEAD /feed/https://example.org/feed.xml HTTP/1.0\r\nHost: evil.example\r\nIf-Modified-Since: x\r\n\r\n")
	n := newFakeNode()
	n.add(f, example, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	fuzz.Hold(f, func(t *testing.T, wire string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire)))
		if err != nil || strings.HasPrefix(r.URL.Path, "/api/v1/events") {
			return // the latter never ends
		}
		r.RemoteAddr = "127.0.0.1:9"
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("status %d", w.Code)
		}
		if strings.ContainsAny(w.Header().Get("Location"), "\r\n") {
			t.Errorf("a header of two lines: %q", w.Header())
		}
	})
}

// What content management systems send, or say that they are.
func FuzzPing(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><methodCall><methodName>weblogUpdates.ping</methodName><params><param><value>a</value></param>` +
		`<param><value><string>https://example.org/</string></value></param></params></methodCall>`))
	f.Add([]byte(`<?xml version="1.0" encoding="utf-16"?><methodCall>`))
	fuzz.Hold(f, func(t *testing.T, body []byte) {
		call, err := readCall(body)
		if err != nil {
			return
		}
		for _, u := range call.urls() {
			if !strings.Contains(u, "://") {
				t.Errorf("%q is no address", u)
			}
		}
	})
}

// What is shown of an item has nothing in it that is not on the list.
func FuzzClean(f *testing.F) {
	for _, a := range attacks()[:40] {
		f.Add(a)
	}
	f.Add(`<p>a <a href="https://example.org/">b</a> <img alt="x<y" src=z></p>`)
	fuzz.Hold(f, func(t *testing.T, markup string) {
		shown := clean(markup)
		if what := foreign(t, shown); what != "" {
			t.Errorf("%q is shown as %q, with %s", markup, shown, what)
		}
	})
}

// Headers and addresses of requests, each by itself.
func FuzzHeaders(f *testing.F) {
	f.Add("gzip;q=0.8, *;q=0", "[::1]:8089", "http://localhost:8089")
	f.Add("identity; q=1.0,gzip ;q=NaN", "EXAMPLE.org.", "moz-extension://x")
	g := newGuard([]string{"reader.lan:80"})
	fuzz.Hold(f, func(t *testing.T, encoding, host, origin string) {
		wantsGzip([]string{encoding})
		if g.knows(host) && !g.names[strings.ToLower(hostOnly(host))] {
			t.Errorf("the name %q is known", host)
		}
		g.ownOrigin(origin)
		split(host)
		typed(origin)
	})
}
