package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/feedtree/feedtree"
)

// submit sends a form as the proxy's page does, unless headers say otherwise; they
// come in pairs, and an empty one is left out.
func submit(p *Proxy, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089"+path, strings.NewReader(form.Encode()))
	r.RequestURI = path
	return deliver(p, r, append([]string{
		"Content-Type", "application/x-www-form-urlencoded",
		"Origin", "http://127.0.0.1:8089", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate",
	}, headers...))
}

func deliver(p *Proxy, r *http.Request, headers []string) *httptest.ResponseRecorder {
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func following(p *Proxy) url.Values {
	return url.Values{"token": {p.guard.token}, "url": {example}}
}

func exampleProxy(t *testing.T) (*Proxy, *fakeNode) {
	t.Helper()
	n := newFakeNode()
	n.add(t, example, rss("1"))
	return newProxy(n, Config{}, newClock().now), n
}

// What other web pages can make a browser send, and what they cannot, by the rows
// of the matrix that DNS rebinding and CSRF span (CVE-2025-66414, CVE-2026-34742).
// Each is refused, counted, and changes nothing.
func TestChangesByOthersAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, why string
		status    int
		form      url.Values // nil: the right one
		headers   []string
	}{
		{"rebound name", whyName, 403, nil, []string{"Host", "evil.example:8089", "Origin", "http://evil.example:8089"}},
		{"rebound name, no Origin", whyName, 403, nil, []string{"Host", "evil.example:8089", "Origin", ""}},
		{"name that begins alike", whyName, 403, nil, []string{"Host", "localhost.evil.example", "Origin", ""}},
		{"cross-site form", whyScript, 403, nil, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
		{"cross-site form, old browser", whyScript, 403, nil, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", ""}},
		{"sandboxed form", whyScript, 403, nil, []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}},
		{"no Origin, cross-site", whyForged, 403, nil, []string{"Origin", "", "Sec-Fetch-Site", "cross-site"}},
		{"another port of this machine", whyForged, 403, nil, []string{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"}},
		{"another port, old browser", whyForged, 403, nil, []string{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", ""}},
		{"another name of this machine", whyForged, 403, nil, []string{"Origin", "http://localhost:8089", "Sec-Fetch-Site", "cross-site"}},
		{"extension", whyForged, 403, nil, []string{"Origin", "moz-extension://0b2f", "Sec-Fetch-Site", "cross-site"}},
		{"no token", whyToken, 403, url.Values{"url": {example}}, nil},
		{"empty token", whyToken, 403, url.Values{"url": {example}, "token": {""}}, nil},
		{"wrong token", whyToken, 403, url.Values{"url": {example}, "token": {strings.Repeat("A", 26)}}, nil},
		{"wrong token, as a program", whyToken, 403, url.Values{"url": {example}}, []string{"Origin", "", "Sec-Fetch-Site", "", tokenHeader, "x"}},
		{"form of another kind", whyToken, 403, nil, []string{"Content-Type", "text/plain"}},
		{"no form", whyGarbled, 400, url.Values{}, []string{"Content-Type", "multipart/form-data"}},
		{"too large", whyTooMuch, 413, url.Values{"url": {strings.Repeat("x", formFields)}}, nil},
	} {
		p, n := exampleProxy(t)
		form := c.form
		if form == nil {
			form = following(p)
		}
		w := submit(p, "/subscribe", form, c.headers...)
		if w.Code != c.status || n.subscriptions(example) != 0 {
			t.Errorf("%s: %d, followed %d times", c.name, w.Code, n.subscriptions(example))
		}
		if got := p.overall().Refused; got[c.why] != 1 || len(got) != 1 {
			t.Errorf("%s: counted as %v, want %q", c.name, got, c.why)
		}
	}
}

func TestChangesByOneself(t *testing.T) {
	for name, headers := range map[string][]string{
		"page":             nil,
		"old browser":      {"Sec-Fetch-Site", ""},
		"no Origin either": {"Sec-Fetch-Site", "", "Origin", ""},
	} {
		p, n := exampleProxy(t)
		if w := submit(p, "/subscribe", following(p), headers...); w.Code != 303 || n.subscriptions(example) != 1 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// A program reads the token and sends it in a header, with or without a form.
func TestChangesByAProgram(t *testing.T) {
	p, n := exampleProxy(t)
	var told struct{ Token string }
	if err := json.Unmarshal(get(p, "/api/v1/token").Body.Bytes(), &told); err != nil || told.Token != p.guard.token {
		t.Fatal(told, err)
	}
	w := submit(p, "/subscribe", url.Values{"url": {example}}, "Origin", "", "Sec-Fetch-Site", "", tokenHeader, told.Token)
	if w.Code != 303 || n.subscriptions(example) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	got := ""
	raw := p.change(100, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if got = string(body); err != nil {
			t.Error(err)
		}
	})
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/x", strings.NewReader("<opml/>"))
	r.Header.Set(tokenHeader, told.Token)
	if raw(httptest.NewRecorder(), r); got != "<opml/>" {
		t.Errorf("a body that is no form is %q", got)
	}
}

func TestChangeWithAFile(t *testing.T) {
	p, _ := exampleProxy(t)
	got := ""
	upload := p.change(10<<20, func(_ http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(f)
		if got = string(body); err != nil {
			t.Error(err)
		}
	})
	for _, size := range []int{7, formMemory + 1<<20, 11 << 20} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "feeds.opml")
		if err != nil {
			t.Fatal(err)
		}
		content := strings.Repeat("o", size)
		_, _ = part.Write([]byte(content))
		_ = form.WriteField(tokenField, p.guard.token) // whichever comes first
		_ = form.Close()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/x", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		got = ""
		upload(w, r)
		switch {
		case size > 10<<20 && (w.Code != 413 || body.Len() != 0):
			t.Errorf("%d bytes: %d, %d unread", size, w.Code, body.Len())
		case size <= 10<<20 && got != content:
			t.Errorf("%d bytes: %d, got %d", size, w.Code, len(got))
		}
	}
}

func TestTokenIsNobodyElses(t *testing.T) {
	one, _ := exampleProxy(t)
	other, _ := exampleProxy(t)
	if one.guard.token == other.guard.token || len(one.guard.token) < 26 {
		t.Errorf("tokens %q and %q", one.guard.token, other.guard.token)
	}
	for _, headers := range [][]string{
		{"Host", "evil.example"},
		{"Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	} {
		if w := get(one, "/api/v1/token", headers...); w.Code != 403 || strings.Contains(w.Body.String(), one.guard.token) {
			t.Errorf("%v: %d %s", headers, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/", "/api/v1/token"} {
		if h := get(one, target, "Origin", "moz-extension://0b2f").Header(); h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by others: %v", target, h)
		}
	}
}

// A page of another site can send a browser here, with a link or a window; that
// must not make the node follow what that page likes.
func TestOnlyTheUserFollowsFeeds(t *testing.T) {
	for _, c := range []struct {
		name    string
		known   bool
		headers []string
		want    int
	}{
		{"a reader", false, nil, 200},
		{"typed in", false, []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
		{"own page", false, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a reader in an extension", false, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Origin", "moz-extension://0b2f"}, 200},
		{"a foreign link", false, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"a link from another port", false, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"a foreign link to a feed that is followed", true, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
	} {
		p, n := exampleProxy(t)
		if c.known {
			n.status.Feeds = []feedtree.FeedStatus{{URL: example}}
		}
		w := get(p, "/feed/"+example, c.headers...)
		if w.Code != c.want || (w.Code == 200) != (n.subscriptions(example) == 1) {
			t.Errorf("%s: %d, followed %d times", c.name, w.Code, n.subscriptions(example))
		}
		if refused := p.overall().Refused[whyUnasked]; (refused == 1) != (c.want == 403) {
			t.Errorf("%s: counted %d times", c.name, refused)
		}
	}
}

func TestUnsubscribe(t *testing.T) {
	p, n := exampleProxy(t)
	get(p, "/feed/"+example)
	w := submit(p, "/unsubscribe", following(p))
	if w.Code != 303 || len(n.left) != 1 || n.left[0] != example {
		t.Fatalf("%d %s, left %v", w.Code, w.Body, n.left)
	}
	if p.shelf.holds(example) {
		t.Error("the feed is still on the shelf")
	}
}
