package fetch_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed/fetch"
)

const (
	feedURL = "http://news.example/feed.xml"
	doc     = `<rss version="2.0"><channel><title>News</title></channel></rss>`
)

// origin serves news.example and other.example, and a client that finds them.
func origin(t *testing.T, h http.HandlerFunc, change ...func(*fetch.Config)) *fetch.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	at := server.Listener.Addr().String()
	config := fetch.Config{
		Resolve: []string{"news.example:80:" + at, "other.example:80:" + at},
		Timeout: 5 * time.Second,
	}
	for _, c := range change {
		c(&config)
	}
	return client(t, config)
}

func client(t *testing.T, config fetch.Config) *fetch.Client {
	t.Helper()
	c, err := fetch.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func get(t *testing.T, c *fetch.Client, request fetch.Request) *fetch.Result {
	t.Helper()
	result, err := c.Get(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// fails checks that a fetch fails for a reason, with a message that says where.
func fails(t *testing.T, c *fetch.Client, request fetch.Request, want fetch.Reason) *fetch.Error {
	t.Helper()
	result, err := c.Get(t.Context(), request)
	var failed *fetch.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%s: got %+v, %v, want an error", request.URL, result, err)
	}
	if failed.Reason != want {
		t.Errorf("%s: reason %v (%v), want %v", request.URL, failed.Reason, err, want)
	}
	if u, parseErr := url.Parse(failed.URL); failed.URL == "" || parseErr == nil && u.User != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: the error does not say where, or says too much: %v", request.URL, err)
	}
	return failed
}

func TestPlain(t *testing.T) {
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=900")
		w.Header().Set("ETag", `W/"x y"`)
		w.Header().Set("Last-Modified", "yesterday, about noon")
		w.Header().Add("Link", `<https://hub.example/>; rel="hub"`)
		fmt.Fprint(w, doc)
	})
	r := get(t, c, fetch.Request{URL: feedURL + "?a=1"})
	if r.Status != 200 || r.NotModified || string(r.Body) != doc || r.ContentType != "application/rss+xml; charset=utf-8" ||
		r.URL != feedURL+"?a=1" || r.Moved != "" || r.MaxAge != 15*time.Minute || r.Private || r.RetryAfter != 0 ||
		r.BytesWire != int64(len(doc)) || r.Elapsed <= 0 {
		t.Errorf("%+v", r)
	}
	if want := (fetch.Validators{ETag: `W/"x y"`, LastModified: "yesterday, about noon"}); r.Validators != want {
		t.Errorf("validators %+v, want %+v", r.Validators, want)
	}
	if requests, bytes := c.Spent(); requests != 1 || bytes != uint64(len(doc)) {
		t.Errorf("spent %d requests and %d bytes", requests, bytes)
	}
	if got := r.Links("hub"); !slices.Equal(got, []string{"https://hub.example/"}) {
		t.Errorf("hubs %q", got)
	}
}

// What a polite client sends, and what it does not.
func TestRequestHeaders(t *testing.T) {
	var seen http.Header
	var asked string
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/feed.xml" {
			http.SetCookie(w, &http.Cookie{Name: "track", Value: "me"})
			http.Redirect(w, r, map[string]string{"": "", "elsewhere": "http://other.example"}[r.URL.RawQuery]+"/next?x=%20y", http.StatusFound)
			return
		}
		seen, asked = r.Header, r.RequestURI
	})
	get(t, c, fetch.Request{URL: feedURL, Validators: fetch.Validators{ETag: `"ü"`, LastModified: "not a date"}})
	agent := seen.Get("User-Agent")
	if !strings.HasPrefix(agent, "feedtree/") || !strings.HasSuffix(agent, " (+https://github.com/feedtree/feedtree)") {
		t.Errorf("User-Agent %q", agent)
	}
	for name, want := range map[string]string{
		"If-None-Match": `"ü"`, "If-Modified-Since": "not a date", "Accept-Encoding": "gzip, zstd", "Cookie": "", "Referer": "", "Authorization": "",
	} {
		if got := strings.Join(seen.Values(name), "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if asked != "/next?x=%20y" {
		t.Errorf("asked for %q", asked)
	}
	get(t, c, fetch.Request{URL: "http://me:secret@news.example/private"})
	if got := seen.Get("Authorization"); got != "Basic bWU6c2VjcmV0" {
		t.Errorf("user and password in the URL became %q", got)
	}
	get(t, c, fetch.Request{URL: "http://me:secret@news.example/feed.xml?elsewhere"})
	if got := seen.Get("Authorization"); got != "" {
		t.Errorf("another host was told %q", got)
	}
}

// Both validators are renewed by every answer, byte for byte, and kept where a
// 304 does not repeat them.
func TestValidators(t *testing.T) {
	etag, modified, status := "", "", 200
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"ETag": etag, "Last-Modified": modified} {
			if value != "" {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(status)
	})
	held := fetch.Validators{ETag: "a", LastModified: "b"}
	for _, step := range []struct {
		status         int
		etag, modified string
		want           fetch.Validators
	}{
		{304, "", "", fetch.Validators{ETag: "a", LastModified: "b"}},
		{304, "c", "", fetch.Validators{ETag: "c", LastModified: "b"}},
		{304, "c", "d", fetch.Validators{ETag: "c", LastModified: "d"}},
		{200, "e", "", fetch.Validators{ETag: "e"}},
		{200, "", "", fetch.Validators{}},
	} {
		status, etag, modified = step.status, step.etag, step.modified
		r := get(t, c, fetch.Request{URL: feedURL, Validators: held})
		if r.Validators != step.want || r.NotModified != (step.status == 304) {
			t.Errorf("%+v: got %+v, not modified %v", step, r.Validators, r.NotModified)
		}
	}
	// Without validators there is nothing that a 304 could speak of.
	status = 304
	if failed := fails(t, c, fetch.Request{URL: feedURL}, fetch.Status); failed.Status != 304 {
		t.Errorf("status %d", failed.Status)
	}
	// One that cannot be sent is left out.
	status = 200
	get(t, c, fetch.Request{URL: feedURL, Validators: fetch.Validators{ETag: "a\nb: c"}})
}

func TestStatuses(t *testing.T) {
	status, after := 0, ""
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "<html>sorry</html>")
	})
	for _, status = range []int{201, 204, 206, 226, 300, 400, 401, 403, 404, 410, 418, 429, 500, 502, 503, 599} {
		failed := fails(t, c, fetch.Request{URL: feedURL}, fetch.Status)
		if failed.Status != status || failed.RetryAfter != 0 || !strings.Contains(failed.Error(), fmt.Sprint(status)) {
			t.Errorf("%d: %v after %v", status, failed, failed.RetryAfter)
		}
	}
	status, after = 429, "120"
	if failed := fails(t, c, fetch.Request{URL: feedURL}, fetch.Status); failed.RetryAfter != 2*time.Minute {
		t.Errorf("Retry-After in seconds: %v", failed.RetryAfter)
	}
	status, after = 503, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if failed := fails(t, c, fetch.Request{URL: feedURL}, fetch.Status); failed.RetryAfter < 59*time.Minute || failed.RetryAfter > time.Hour {
		t.Errorf("Retry-After as a date: %v", failed.RetryAfter)
	}
}

func TestRedirects(t *testing.T) {
	var hops atomic.Int32
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		// /301/302/end answers 301 to /302/end, and so on.
		step, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch step {
		case "301", "302", "303", "307", "308":
			var code int
			fmt.Sscan(step, &code)
			http.Redirect(w, r, "/"+rest, code)
		case "other":
			http.Redirect(w, r, "http://other.example/"+rest+"#part", http.StatusMovedPermanently)
		case "circle":
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		case "nowhere":
			w.WriteHeader(http.StatusFound)
		case "gopher":
			http.Redirect(w, r, "gopher://news.example/", http.StatusFound)
		case "bad":
			w.Header().Set("Location", "http://[bad/")
			w.WriteHeader(http.StatusFound)
		case "secret":
			http.Redirect(w, r, "http://me:secret@news.example/gone", http.StatusFound)
		case "gone":
			w.WriteHeader(http.StatusGone)
		default:
			fmt.Fprint(w, doc)
		}
	})
	const base = "http://news.example/"
	for path, want := range map[string]struct{ url, moved string }{
		"end":                     {base + "end", ""},
		"301/end":                 {base + "end", base + "end"},
		"308/301/end":             {base + "end", base + "end"},
		"302/end":                 {base + "end", ""},
		"301/302/end":             {base + "end", base + "302/end"},
		"302/301/end":             {base + "end", ""},
		"307/308/end":             {base + "end", ""},
		"303/end":                 {base + "end", ""},
		"301/301/301/301/301/end": {base + "end", base + "end"},
		"other/end":               {"http://other.example/end", "http://other.example/end"},
	} {
		r := get(t, c, fetch.Request{URL: base + path})
		if r.URL != want.url || r.Moved != want.moved || string(r.Body) != doc {
			t.Errorf("%s: at %q, moved %q, want %+v", path, r.URL, r.Moved, want)
		}
	}
	fails(t, c, fetch.Request{URL: base + "301/301/301/301/301/301/end"}, fetch.Redirects)
	hops.Store(0)
	fails(t, c, fetch.Request{URL: base + "circle"}, fetch.Redirects)
	if n := hops.Load(); n != 6 {
		t.Errorf("%d requests in a circle, want 6", n)
	}
	fails(t, c, fetch.Request{URL: base + "nowhere"}, fetch.Redirects)
	fails(t, c, fetch.Request{URL: base + "bad"}, fetch.Redirects)
	fails(t, c, fetch.Request{URL: base + "gopher"}, fetch.BadURL)
	if failed := fails(t, c, fetch.Request{URL: base + "secret"}, fetch.Status); failed.URL != "http://me:xxxxx@news.example/gone" {
		t.Errorf("it failed at %q", failed.URL)
	}
}

func compress(t *testing.T, with string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch with {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "flate":
		w, _ = flate.NewWriter(&b, 6)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEncodings(t *testing.T) {
	var coding string
	var wire []byte
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Write(wire)
	})
	gzipped := compress(t, "gzip", []byte(doc))
	for _, e := range []struct {
		coding string
		wire   []byte
	}{
		{"gzip", gzipped}, {"X-Gzip", gzipped}, {"identity", []byte(doc)}, {"", []byte(doc)},
		{"zstd", compress(t, "zstd", []byte(doc))}, {"deflate", compress(t, "zlib", []byte(doc))}, {"deflate", compress(t, "flate", []byte(doc))},
		{"gzip, zstd", compress(t, "zstd", gzipped)}, {"gzip", append(slices.Clone(gzipped), gzipped[:0]...)},
		{"gzip", []byte(doc)}, {"zstd", []byte(doc)}, // said, but not done
	} {
		coding, wire = e.coding, e.wire
		r := get(t, c, fetch.Request{URL: feedURL})
		if string(r.Body) != doc || r.BytesWire != int64(len(wire)) {
			t.Errorf("%q: %q from %d bytes, want %d", coding, r.Body, r.BytesWire, len(wire))
		}
	}
	damaged := slices.Clone(gzipped)
	damaged[len(damaged)-6] ^= 1 // in the checksum
	for _, e := range []struct {
		coding string
		wire   []byte
		want   fetch.Reason
	}{
		{"gzip", damaged, fetch.Encoding}, {"gzip", gzipped[:len(gzipped)/2], fetch.Truncated}, {"gzip", gzipped[:5], fetch.Truncated},
		{"br", []byte("\x0b\x02\x80abc"), fetch.Encoding}, {"gzip, gzip, gzip", gzipped, fetch.Encoding},
		{"zstd", append(compress(t, "zstd", []byte(doc)), "and more"...), fetch.Encoding},
		{"deflate", []byte("\xff\xff\xff\xff\xff"), fetch.Encoding},
	} {
		coding, wire = e.coding, e.wire
		if failed := fails(t, c, fetch.Request{URL: feedURL}, e.want); failed.Reason != e.want {
			t.Errorf("%q: %q", coding, wire)
		}
	}
}

func TestLimits(t *testing.T) {
	bomb := map[string][]byte{}
	zeros := make([]byte, 10<<20)
	for _, coding := range []string{"gzip", "zstd"} {
		bomb[coding] = compress(t, coding, zeros)
	}
	endless := make([]byte, 64<<10)
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch name := r.URL.Path[1:]; name {
		case "gzip", "zstd":
			w.Header().Set("Content-Encoding", name)
			w.Write(bomb[name])
		case "endless":
			for {
				if _, err := w.Write(endless); err != nil {
					return
				}
			}
		default:
			var size int
			fmt.Sscan(name, &size)
			w.Header().Set("Content-Length", name)
			w.Write(make([]byte, size))
		}
	}, func(c *fetch.Config) { c.MaxBytes, c.MaxDecoded = 1<<20, 2<<20 })
	const base = "http://news.example/"
	if r := get(t, c, fetch.Request{URL: base + "1048576"}); len(r.Body) != 1<<20 {
		t.Errorf("%d bytes at the limit", len(r.Body))
	}
	for _, path := range []string{"1048577", "endless", "gzip", "zstd"} {
		fails(t, c, fetch.Request{URL: base + path}, fetch.TooLarge)
	}
}
