package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// world is a web of origins with a clock of its own. It is the transport of a client
// and writes the access log of all origins, as Caddy does.
type world struct {
	now   time.Time
	sites map[string]*site
	log   *json.Encoder
	zip   *gzip.Writer
	asked int

	before func(*http.Request)  // spoils requests
	after  func(*http.Response) // spoils answers, after they were logged
}

// site is one origin: its temper, and what it has to say.
type site struct {
	rng     *rand.Rand
	temper  temper
	host    string
	version int
	next    time.Time // when there is news
	served  int
	until   time.Time // in a bad mood
	recent  time.Time // last request that was let through
}

// temper answers a request.
type temper func(w *world, s *site, r *http.Request, h http.Header) (status int, body string)

const clientAddress = "192.0.2.1"

func newWorld(log io.Writer) *world {
	w := &world{now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), sites: map[string]*site{}, zip: gzip.NewWriter(nil)}
	w.log = json.NewEncoder(log)
	w.log.SetEscapeHTML(false)
	return w
}

func (w *world) add(host string, t temper, seed uint64) string {
	w.sites[host] = &site{rng: rand.New(rand.NewPCG(seed, 3)), temper: t, host: host, next: w.now}
	return "http://" + host + "/feed.xml"
}

// RoundTrip answers as the host's temper is, and logs it.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.before != nil {
		w.before(r)
	}
	w.asked++
	s := w.sites[r.URL.Host]
	if s == nil {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Name: r.URL.Host, Err: "no such host", IsNotFound: true}}
	}
	began := w.now
	s.age(w.now)
	h := http.Header{"Date": {w.now.Format(http.TimeFormat)}}
	status, body := s.temper(w, s, r, h)
	s.served++
	if status == 0 {
		w.now = w.now.Add(defaultTimeout)
		return nil, context.DeadlineExceeded
	}
	if status == http.StatusOK && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(body) > 200 {
		var b bytes.Buffer
		w.zip.Reset(&b)
		io.WriteString(w.zip, body)
		w.zip.Close()
		h.Set("Content-Encoding", "gzip")
		body = b.String()
	}
	w.write(began, r, status, len(body), h)
	response := &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
	if w.after != nil {
		w.after(response)
	}
	return response, nil
}

// logLine is a line of Caddy's access log.
type logLine struct {
	At      float64 `json:"ts"`
	Request struct {
		From   string      `json:"remote_ip"`
		Method string      `json:"method"`
		Host   string      `json:"host"`
		URI    string      `json:"uri"`
		Header http.Header `json:"headers"`
	} `json:"request"`
	Status int         `json:"status"`
	Size   int         `json:"size"`
	Header http.Header `json:"resp_headers"`
}

func (w *world) write(at time.Time, r *http.Request, status, size int, h http.Header) {
	line := logLine{At: float64(at.UnixMilli()) / 1000, Status: status, Size: size, Header: h}
	line.Request.From, line.Request.Method, line.Request.Header = clientAddress, r.Method, r.Header
	line.Request.Host, line.Request.URI = r.URL.Host, r.URL.RequestURI()
	if err := w.log.Encode(line); err != nil {
		panic(err)
	}
}

// age brings the site's news up to date: some have several items a day, some one a
// week.
func (s *site) age(now time.Time) {
	for !now.Before(s.next) {
		s.version++
		s.next = s.next.Add(time.Duration(s.rng.ExpFloat64() * float64(14*time.Hour)))
	}
}

// document is what the site shows now, with more in its channel.
func (s *site) document(extra string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<rss version="2.0" xmlns:sy="%s"><channel><title>%s</title>%s`, syndication, s.host, extra)
	for n := s.version; n > max(s.version-5, 0); n-- {
		fmt.Fprintf(&b, `<item><guid>%s/%d</guid><title>Item %[2]d</title><description>What item %[2]d of %[1]s has to say.</description></item>`, s.host, n)
	}
	b.WriteString(`</channel></rss>`)
	return b.String()
}

func (s *site) etag() string { return fmt.Sprintf(`W/"v %d"`, s.version) }

func (s *site) modified() string {
	return time.Date(2026, 11, 1, 0, 0, s.version, 0, time.UTC).Format(http.TimeFormat)
}

// conditional answers as most servers do: with validators, and 304 where they are
// current.
func (s *site) conditional(r *http.Request, h http.Header, etag, modified, extra string) (int, string) {
	if etag != "" {
		h.Set("ETag", etag)
	}
	if modified != "" {
		h.Set("Last-Modified", modified)
	}
	match, since := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")
	if match != "" && match == etag || match == "" && since != "" && since == modified {
		return 304, ""
	}
	return 200, s.document(extra)
}

func plain(w *world, s *site, r *http.Request, h http.Header) (int, string) {
	return s.conditional(r, h, s.etag(), s.modified(), "")
}

// saying is plain with headers, and words in the channel.
func saying(extra string, headers ...string) temper {
	return func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return s.conditional(r, h, s.etag(), s.modified(), extra)
	}
}

// moody refuses for a while, now and then.
func moody(status int, length time.Duration, header func(w *world, s *site) string) temper {
	return func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		if w.now.After(s.until) && s.rng.IntN(20) == 0 {
			s.until = w.now.Add(length)
		}
		if w.now.Before(s.until) {
			if header != nil {
				h.Set("Retry-After", header(w, s))
			}
			return status, "later"
		}
		return plain(w, s, r, h)
	}
}

// during has a site answer with a status between two days.
func during(from, to, status int) temper {
	return func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		if day := w.now.Day(); day > from && day <= to {
			return status, "nothing here"
		}
		return plain(w, s, r, h)
	}
}

// moving redirects the feed to another place.
func moving(status int, to func(host string) string) temper {
	return func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		if r.URL.Path == "/feed.xml" {
			h.Set("Location", to(s.host))
			return status, ""
		}
		return plain(w, s, r, h)
	}
}

func sameHost(host string) string  { return "http://" + host + "/new.xml" }
func otherHost(host string) string { return "http://mirror.example/" + host }

// tempers are all that a month has.
var tempers = []temper{
	plain,
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // ETag only
		return s.conditional(r, h, s.etag(), "", "")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // an ETag without quotes
		return s.conditional(r, h, fmt.Sprint("v", s.version), "", "")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // Last-Modified only, and no date
		return s.conditional(r, h, "", fmt.Sprint("version ", s.version), "")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // no validators
		return s.conditional(r, h, "", "", "")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // a new ETag for the same body
		return s.conditional(r, h, fmt.Sprintf(`"%d"`, s.served), "", "")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // a new Last-Modified with each 304
		h.Set("ETag", s.etag())
		h.Set("Last-Modified", w.now.Format(http.TimeFormat))
		if r.Header.Get("If-None-Match") == s.etag() {
			return 304, ""
		}
		return 200, s.document("")
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // a 304 without any
		status, body := plain(w, s, r, h)
		if status == 304 {
			h.Del("ETag")
			h.Del("Last-Modified")
		}
		return status, body
	},
	moody(429, 3*time.Hour, nil),
	moody(429, 5*time.Hour, func(w *world, s *site) string { return fmt.Sprint(int(s.until.Sub(w.now).Seconds()) + 1) }),
	moody(503, 7*time.Hour, func(w *world, s *site) string { return s.until.Add(time.Second).Format(http.TimeFormat) }),
	moody(500, 2*time.Hour, nil),
	moody(0, time.Hour, nil), // silent
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // slow
		w.now = w.now.Add(20 * time.Second)
		return plain(w, s, r, h)
	},
	moving(301, sameHost), moving(308, otherHost), moving(302, sameHost), moving(307, otherHost),
	during(9, 31, 410), during(4, 11, 404), during(14, 16, 410),
	saying("", "Cache-Control", "public, max-age=10800"),
	saying("", "Cache-Control", "max-age=31536000"),
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		h.Set("Expires", w.now.Add(2*time.Hour).Format(http.TimeFormat))
		return plain(w, s, r, h)
	},
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // no validators, but max-age
		h.Set("Cache-Control", "max-age=7200")
		return s.conditional(r, h, "", "", "")
	},
	saying("<ttl>120</ttl>"),
	saying("<skipHours><hour>2</hour><hour>3</hour></skipHours><skipDays><day>Sunday</day></skipDays>"),
	saying("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"),
	saying("", "Set-Cookie", "id=1; Path=/"),
	func(w *world, s *site, r *http.Request, h http.Header) (int, string) { // a page where the feed was
		if s.served%30 == 29 {
			h.Set("Content-Type", "text/html")
			return 200, "<html><body>We are moving our servers</body></html>"
		}
		return plain(w, s, r, h)
	},
}

const shared = "shared.example" // a host of many feeds, one request a minute

func oneAMinute(w *world, s *site, r *http.Request, h http.Header) (int, string) {
	if wait := s.recent.Add(time.Minute).Sub(w.now); wait > 0 {
		h.Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		return 429, "one a minute"
	}
	s.recent = w.now
	return plain(w, s, r, h)
}

// populate makes count origins of every temper and twenty feeds on one host, and
// returns their URLs.
func (w *world) populate(count int, seed uint64) (urls []string) {
	for n := range count - 20 {
		urls = append(urls, w.add(fmt.Sprintf("site%d.example", n), tempers[n%len(tempers)], seed+uint64(n)))
	}
	w.add("mirror.example", plain, seed)
	w.add(shared, oneAMinute, seed)
	for n := range 20 {
		urls = append(urls, fmt.Sprintf("http://%s/r/%d.rss", shared, n))
	}
	return urls
}
