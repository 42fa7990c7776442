package fetch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// header makes one from "Name: value" lines.
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestFreshness(t *testing.T) {
	for _, c := range []struct {
		header  http.Header
		fresh   time.Duration
		private bool
	}{
		{header(), 0, false},
		{header("Cache-Control: max-age=60"), time.Minute, false},
		{header(`Cache-Control: Public , MAX-AGE = "60"`), time.Minute, false},
		{header("Cache-Control: s-maxage=9, max-age=60, max-age=70"), time.Minute, false},
		{header("Cache-Control: private, max-age=60"), time.Minute, true},
		{header(`Cache-Control: max-age=5`, `Cache-Control: private="Set-Cookie"`), 5 * time.Second, true},
		{header("Cache-Control: no-store"), 0, true},
		{header("Cache-Control: max-age=60, no-cache"), 0, false},
		{header("Cache-Control: max-age=60", "Age: 20"), 40 * time.Second, false},
		{header("Cache-Control: max-age=60", "Age: 90"), 0, false},
		{header("Cache-Control: max-age=-1"), 0, false},
		{header("Cache-Control: max-age=1.5"), 0, false},
		{header("Cache-Control: max-age=99999999999999999999"), maxDelay, false},
		{header("Cache-Control: max-age=0", "Expires: Sun, 01 Mar 2026 13:00:00 GMT"), 0, false},
		{header("Expires: Sun, 01 Mar 2026 13:00:00 GMT"), time.Hour, false},
		{header("Expires: Sun, 01 Mar 2026 13:00:00 GMT", "Date: Sun, 01 Mar 2026 12:30:00 GMT"), 30 * time.Minute, false},
		{header("Expires: 0"), 0, false},
		{header("Expires: Sun, 01 Mar 2020 13:00:00 GMT"), 0, false},
	} {
		if fresh, _, private := freshness(c.header, noon); fresh != c.fresh || private != c.private {
			t.Errorf("%v: %v, private %v, want %v, %v", c.header, fresh, private, c.fresh, c.private)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "-5": 0, "1.5": 0, "soon": 0, "99999999999999999999": maxDelay,
		"Sun, 01 Mar 2026 13:00:00 GMT": time.Hour, "Sun, 01 Mar 2026 11:00:00 GMT": 0, "Sunday, 01-Mar-26 12:01:00 GMT": time.Minute,
		"Sun Mar  1 12:00:30 2026": 30 * time.Second, "Fri, 31 Dec 9999 23:59:59 GMT": maxDelay,
	} {
		if got := retryAfter(header("Retry-After: "+value), noon); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	// The server's clock may be off: its date counts from its own.
	h := header("Retry-After: Sun, 01 Mar 2026 13:00:00 GMT", "Date: Sun, 01 Mar 2026 12:59:00 GMT")
	if got := retryAfter(h, noon); got != time.Minute {
		t.Errorf("by the server's clock: %v", got)
	}
}

// A cache passes on an old date and says how old it is (RFC 9111 §5.1).
func TestDated(t *testing.T) {
	date := "Date: Sun, 01 Mar 2026 11:00:00 GMT"
	for _, c := range []struct {
		h    http.Header
		want time.Time
	}{
		{header(), time.Time{}},
		{header("Date: yesterday"), time.Time{}},
		{header(date), noon.Add(-time.Hour)},
		{header(date, "Age: 3600"), noon},
		{header(date, "Age: -1"), noon.Add(-time.Hour)},
	} {
		if got := dated(c.h); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.h, got, c.want)
		}
	}
}

func TestLinks(t *testing.T) {
	r := &Result{URL: "https://news.example/a/feed", Link: []string{
		`<https://hub.example/>; rel="hub"`,
		`<../self>;rel=self, <https://two.example/;,>; title="a, <b>; rel=hub \" c"; rel="x HUB"`,
		`<https://three.example/>; rel=other; rel=hub`,
		`<https://four.example/>`, `nonsense`, `<https://five.example/`, `<:bad>; rel=hub`, `<https://six.example/>; rel="hub`,
	}}
	for rel, want := range map[string][]string{
		"hub":  {"https://hub.example/", "https://two.example/;,", "https://six.example/"},
		"self": {"https://news.example/self"},
		"next": nil,
	} {
		if got := r.Links(rel); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", rel, got, want)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(`max-age="60", private`, "120", `<a>; rel="hub self", <b>;rel=c`, "60")
	f.Add("max-age=18446744073709551616", "Sun, 01 Mar 2026 13:00:00 GMT", `<`, "x")
	f.Add(`private="x`, "-1", `<a>;rel="\`, "")
	fuzz.Hold(f, func(t *testing.T, cache, retry, link, age string) {
		h := http.Header{"Cache-Control": {cache}, "Retry-After": {retry}, "Expires": {retry}, "Age": {age}, "Date": {age}}
		fresh, _, _ := freshness(h, noon)
		if after := retryAfter(h, noon); fresh < 0 || fresh > maxDelay || after < 0 || after > maxDelay {
			t.Errorf("fresh for %v, retry after %v", fresh, after)
		}
		r := &Result{URL: "https://news.example/", Link: []string{link}}
		if n := len(r.Links("hub")); n > len(link)/3 {
			t.Errorf("%d links in %q", n, link)
		}
	})
}

func FuzzBody(f *testing.F) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(make([]byte, 5000))
	w.Close()
	f.Add("gzip", b.Bytes())
	f.Add("zstd", []byte("\x28\xb5\x2f\xfd\x04\x00\x19\x00\x00abc\x91\x9d\xee\x4f"))
	f.Add("deflate", []byte("\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27"))
	f.Add("gzip, deflate", b.Bytes())
	f.Add("br", []byte("x"))
	f.Add(strings.Repeat("gzip,", 10_000), b.Bytes()) // took 2 GiB
	fuzz.Hold(f, func(t *testing.T, coding string, wire []byte) {
		const maxWire, maxDecoded = 2000, 4000
		response := &http.Response{Header: http.Header{"Content-Encoding": {coding}}, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(wire))}
		body, n, err := readBody(response, maxWire, maxDecoded)
		var failed *Error
		switch {
		case err != nil && !errors.As(err, &failed):
			t.Errorf("an error without a reason: %v", err)
		case err != nil && body != nil:
			t.Errorf("a body of %d bytes beside the error %v", len(body), err)
		case len(body) > maxDecoded || n > maxWire+1:
			t.Errorf("%d bytes from %d", len(body), n)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("news.example:443:192.0.2.1")
	f.Add("news.example:443:[2001:db8::1]:8443")
	fuzz.Hold(f, func(t *testing.T, entry string) {
		from, to, err := parseResolve(entry)
		if err == nil && (from == "" || strings.Count(to, ":") == 0) {
			t.Errorf("%q: %q to %q", entry, from, to)
		}
	})
}
