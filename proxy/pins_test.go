package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/feedtree/feedtree"
)

func TestPins(t *testing.T) {
	n := newFakeNode()
	n.errs["https://unknown.example/"] = fmt.Errorf("pin: %w https://unknown.example/", feedtree.ErrUnknown)
	n.errs["https://a.example/bad"] = fmt.Errorf("fingerprint %q: want %q", "x", "sha-256:")
	p := newProxy(n, Config{}, nil)
	ask := func(method, token string, form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://127.0.0.1:8089/api/v1/pins", strings.NewReader(form.Encode()))
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(tokenHeader, token)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w
	}
	good := url.Values{"url": {"https://a.example/feed"}, "fingerprint": {"sha-256:00"}}
	if w := ask(http.MethodPost, "guessed", good); w.Code != http.StatusForbidden || len(n.pins) != 0 {
		t.Errorf("without the token: %d", w.Code)
	}
	for addr, want := range map[string]int{"https://unknown.example/": 404, "https://a.example/bad": 422, "https://a.example/feed": 200} {
		if w := ask(http.MethodPost, p.guard.token, url.Values{"url": {addr}, "fingerprint": {"sha-256:00"}}); w.Code != want {
			t.Errorf("%s: %d %s, want %d", addr, w.Code, w.Body, want)
		}
	}
	var got []feedtree.Pin
	if err := json.Unmarshal(ask(http.MethodGet, "", nil).Body.Bytes(), &got); err != nil || len(got) != 1 || got[0].How != "manual" {
		t.Errorf("%v, %v", got, err)
	}
}
