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

// Issue: a pin that the user can see and set, and that never moves silently.
func TestThePageShowsAndSetsPins(t *testing.T) {
	const mine, before, other = "sha-256:aaaa", "sha-256:bbbb", "sha-256:cccc"
	at := newClock().now()
	n := newFakeNode()
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T"}}
	p := newProxy(n, Config{}, newClock().now)
	page := func(change func(*feedtree.FeedStatus)) string {
		n.change(func(s *feedtree.Status) {
			s.Feeds[0] = feedtree.FeedStatus{URL: example, Title: "T"}
			change(&s.Feeds[0])
		})
		return get(p, pageOf(example)).Body.String()
	}
	for name, c := range map[string]struct {
		change func(*feedtree.FeedStatus)
		want   []string
		not    []string
	}{
		"no key": {func(*feedtree.FeedStatus) {}, []string{"announces no key", "Set it by hand"}, []string{"Forget this key", "sha-256:a"}},
		"first sight": {func(f *feedtree.FeedStatus) { f.Pin = &feedtree.PinStatus{Fingerprint: mine, How: "https", Since: at} },
			[]string{mine, "Since 2026-11-20 12:00:00 UTC", "over HTTPS when it was first seen", "Forget this key"}, []string{"another key now", "Before:"}},
		"over plain HTTP": {func(f *feedtree.FeedStatus) { f.Pin = &feedtree.PinStatus{Fingerprint: mine, How: "http", Since: at} },
			[]string{"anybody on the way could have put it"}, nil},
		"by hand, and another is announced": {func(f *feedtree.FeedStatus) {
			f.Pin = &feedtree.PinStatus{Fingerprint: mine, How: "manual", Since: at, Rival: other, RivalSince: &at}
			f.Keys.Sentence = "Somebody has to look at this."
		}, []string{mine, "set by hand, and moves only by hand", "announces another key now", other, "Somebody has to look at this."}, nil},
		"moved": {func(f *feedtree.FeedStatus) {
			f.Pin = &feedtree.PinStatus{Fingerprint: mine, How: "https", Since: at, MovedFrom: before, MovedAt: &at, MovedWhy: "rotated"}
		}, []string{"Before:", before, "the keys before signed that"}, nil},
	} {
		body := page(c.change)
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page does not say %q", name, want)
			}
		}
		for _, not := range c.not {
			if strings.Contains(body, not) {
				t.Errorf("%s: the page says %q", name, not)
			}
		}
	}
	n.errs["https://unknown.example/"] = fmt.Errorf("pin: %w https://unknown.example/", feedtree.ErrUnknown)
	n.errs["https://a.example/bad"] = fmt.Errorf("fingerprint %q: want %q", "x", "sha-256:")
	for _, c := range []struct {
		form url.Values
		want int
		pins int
	}{
		{url.Values{"url": {example}, "fingerprint": {mine}}, 403, 0},
		{url.Values{"url": {example}, "token": {p.guard.token}}, 422, 0}, // an empty field must not take a pin back
		{url.Values{"url": {"https://unknown.example/"}, "fingerprint": {mine}, "token": {p.guard.token}}, 404, 0},
		{url.Values{"url": {"https://a.example/bad"}, "fingerprint": {"x"}, "token": {p.guard.token}}, 422, 0},
		{url.Values{"url": {example}, "fingerprint": {mine}, "token": {p.guard.token}}, 303, 1},
		{url.Values{"url": {example}, "forget": {"1"}, "token": {p.guard.token}}, 303, 2},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/pin", strings.NewReader(c.form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != c.want || len(n.pins) != c.pins {
			t.Errorf("%v: %d, %d pins set; want %d, %d", c.form, w.Code, len(n.pins), c.want, c.pins)
		}
		if w.Code == 303 && w.Header().Get("Location") != pageOf(example) {
			t.Errorf("leads to %s", w.Header().Get("Location"))
		}
	}
	if last := n.pins[len(n.pins)-1]; last.Fingerprint != "" || last.URL != example {
		t.Errorf("taken back: %+v", last)
	}
}
