package proxy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/feedtree/feedtree"
)

func TestWhoIsServed(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	n.status.Feeds = []feedtree.FeedStatus{{URL: example}}
	p := newProxy(n, Config{Hosts: []string{"nas.local", "0.0.0.0:8089"}}, newClock().now)
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"loopback", []string{"Host", "127.0.0.1:8089"}, 200},
		{"loopback, another port", []string{"Host", "127.0.0.1:1"}, 200},
		{"loopback, no port", []string{"Host", "127.0.0.1"}, 200},
		{"IPv6", []string{"Host", "[::1]:8089"}, 200},
		{"localhost", []string{"Host", "LOCALHOST.:8089"}, 200},
		{"configured name", []string{"Host", "nas.local:8089"}, 200},
		{"rebound name", []string{"Host", "evil.example:8089"}, 403},
		{"name that ends alike", []string{"Host", "evil-nas.local"}, 403},
		{"another address", []string{"Host", "192.0.2.1:8089"}, 403},
		{"no name", []string{"Host", ""}, 403},
		{"own page's script", []string{"Origin", "http://127.0.0.1:8089"}, 200},
		{"reader in an extension", []string{"Origin", "moz-extension://0b2f"}, 200},
		{"foreign script", []string{"Origin", "https://evil.example"}, 403},
		{"sandboxed script", []string{"Origin", "null"}, 403},
		{"foreign image", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"link on a foreign page", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
	} {
		for _, target := range []string{"/", "/api/v1/status", "/feed/" + example} {
			if w := get(p, target, c.headers...); w.Code != c.want {
				t.Errorf("%s, %s: %d, want %d", c.name, target, w.Code, c.want)
			}
		}
	}
}

func TestReachedByItsAddress(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, newClock().now)
	for host, want := range map[string]int{"192.0.2.7:8089": 200, "192.0.2.8:8089": 403} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		at := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8089}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at))
		w := httptest.NewRecorder()
		if p.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
}

func TestOnlyReading(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, newClock().now)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		for _, target := range []string{"/", "/feed/" + example, "/api/v1/status"} {
			if w := ask(p, method, target); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d %v", method, target, w.Code, w.Header())
			}
		}
	}
}

func TestHealthNeedsNoName(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, newClock().now)
	w := get(p, "/healthz", "Host", "10.1.2.3:8089")
	if w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestNothingElse(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, newClock().now)
	for _, target := range []string{"/x", "/feeds", "/page.html", "/api", "/..", "//",
		"/../../etc/passwd", "/page.css/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/..\\..\\x", "/page.css%00", "/./page.css", "/show/../../x", "/item/../page.css"} {
		if w := get(p, target); w.Code != 404 {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}
