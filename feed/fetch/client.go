package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// Config says how to fetch. The zero value is a polite client of the public
// internet.
type Config struct {
	// UserAgent names the client, its version and a contact to the origin.
	UserAgent string
	// Resolve has HOST:PORT:ADDR or HOST:PORT:ADDR:PORT entries, as curl's
	// --resolve: connections to HOST:PORT go to ADDR, whatever it is. An IPv6
	// ADDR stands in brackets.
	Resolve []string
	// AllowPrivate names hosts whose addresses may be private.
	AllowPrivate []string
	// Timeout bounds one Get with all its redirects; 30 s if zero.
	Timeout time.Duration
	// MaxBytes bounds a body on the wire, MaxDecoded after decompression; 8
	// MiB each if zero.
	MaxBytes   int64
	MaxDecoded int64
	// RootCAs are trusted to vouch for origins; the system's if nil.
	RootCAs *x509.CertPool
	// Rules say how long origins are left alone between polls.
	Rules polite.Rules
}

const (
	defaultTimeout = 30 * time.Second
	defaultBytes   = 8 << 20
	maxRedirects   = 5
	maxHeader      = 256 << 10
)

// Client fetches documents. It keeps connections and is safe for concurrent
// use.
type Client struct {
	config    Config
	door      door
	transport http.RoundTripper
	now       func() time.Time
	requests  atomic.Uint64
	bytes     atomic.Uint64
}

// Validators are an origin's ETag and Last-Modified, byte for byte.
type Validators struct {
	ETag         string
	LastModified string
}

// Request names a document and the version of it that is held.
type Request struct {
	URL        string
	Validators Validators
	From       string // the URL that the validators came from; only it is told them. "": not known
	Local      bool   // the URL's host may be one that is private by its name or address
	Delta      bool   // only what is new since the version held is wanted (RFC 3229)
}

// Result is an origin's answer.
type Result struct {
	Status      int
	NotModified bool   // the version that the request's validators name is current
	Delta       bool   // Body holds only what is new since then (226)
	Unchanged   bool   // Poll: Body is that of the last answer
	URL         string // where the answer came from, after redirects
	Moved       string // where the permanent redirects (301, 308) at the beginning led, or ""
	Body        []byte // decoded
	ContentType string
	Validators  Validators    // to ask with next time
	MaxAge      time.Duration // how long the answer stays fresh; 0: not at all, or not said
	SaysFresh   bool          // the answer says how long it stays fresh
	RetryAfter  time.Duration // how long the origin wants to be left alone; 0: not said
	Private     bool          // Cache-Control says private or no-store
	NoArchive   bool          // X-Robots-Tag asks that no copies be kept for others
	Link        []string      // the Link headers as they came
	Date        time.Time     // now, by the clock of who answered; zero: not said
	BytesWire   int64         // of the body, as transferred
	Elapsed     time.Duration
}

// New returns a client. The error is about an entry of Resolve.
func New(config Config) (*Client, error) {
	config.UserAgent = cmp.Or(config.UserAgent, defaultUserAgent())
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	config.MaxBytes = cmp.Or(config.MaxBytes, defaultBytes)
	config.MaxDecoded = cmp.Or(config.MaxDecoded, defaultBytes)
	config.Rules = config.Rules.WithDefaults()
	c := &Client{config: config, now: time.Now}
	if err := c.door.init(config.Resolve, config.AllowPrivate); err != nil {
		return nil, err
	}
	c.transport = &http.Transport{
		DialContext:            c.door.dial,
		TLSClientConfig:        &tls.Config{RootCAs: config.RootCAs},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // done here, with limits
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}
	return c, nil
}

// Close closes the connections kept for later.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Spent returns how many requests were sent since the client was made, each hop of
// a redirect being one, and the bytes of the bodies that came, as transferred.
func (c *Client) Spent() (requests, bytes uint64) { return c.requests.Load(), c.bytes.Load() }

// Rules returns what the client goes by, with nothing left to default.
func (c *Client) Rules() polite.Rules { return c.config.Rules }

// Get fetches a document unless the origin says that the version held is
// current. Every error is an *Error.
func (c *Client) Get(ctx context.Context, request Request) (*Result, error) {
	start := c.now()
	bounded, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	f := &flight{client: c, ctx: bounded, request: request, local: request.Local}
	result, err := f.run()
	if err != nil {
		return nil, f.explain(ctx, err)
	}
	result.Elapsed = c.now().Sub(start)
	return result, nil
}

// flight is one Get in progress.
type flight struct {
	client    *Client
	ctx       context.Context
	request   Request
	local     bool     // private hosts are allowed so far
	at        *url.URL // the hop being asked
	sent      Validators
	moved     string
	temporary bool // a redirect on the way was not permanent
	untrusted atomic.Bool
}

func (f *flight) run() (*Result, error) {
	at, err := url.Parse(f.request.URL)
	if err != nil {
		return nil, refusal(BadURL, err)
	}
	for range maxRedirects + 1 {
		f.at = at
		if err := f.admit(); err != nil {
			return nil, err
		}
		response, err := f.ask()
		if err != nil {
			return nil, err
		}
		next, err := f.next(response)
		if err == nil && next == nil {
			return f.answer(response)
		}
		discard(response)
		if err != nil {
			return nil, err
		}
		at = next
	}
	return nil, refusal(Redirects, errTooMany)
}

// admit checks the URL of a hop before anything is sent.
func (f *flight) admit() error {
	if f.at.Scheme != "http" && f.at.Scheme != "https" || f.at.Hostname() == "" {
		return refusal(BadURL, errScheme)
	}
	why := ""
	if !f.client.door.exempt(f.at) {
		why = privateHost(f.at)
	}
	if why == "" {
		// From the public internet no redirect leads back to a private host.
		f.local = false
		return nil
	}
	if !f.local {
		return refusal(Refused, privateError(why))
	}
	return nil
}

func (f *flight) ask() (*http.Response, error) {
	// What the handshake says is the reason, whatever the transport makes of it.
	trace := &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
		if err != nil {
			f.untrusted.Store(true)
		}
	}}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(f.ctx, trace), http.MethodGet, f.at.String(), nil)
	if err != nil {
		return nil, refusal(BadURL, err)
	}
	r.Header.Set("User-Agent", f.client.config.UserAgent)
	r.Header.Set("Accept", "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5")
	r.Header.Set("Accept-Encoding", "gzip, zstd")
	f.condition(r)
	if user := f.at.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	f.client.requests.Add(1)
	// The transport and not an http.Client: redirects are followed in run.
	return f.client.transport.RoundTrip(r)
}

// condition makes the request conditional, at the URL whose version is held: to
// another one its validators mean nothing, and would be a cookie.
func (f *flight) condition(r *http.Request) {
	f.sent = Validators{}
	if from := f.request.From; from != "" && from != f.at.String() {
		return
	}
	if v := f.request.Validators.ETag; v != "" && httpguts.ValidHeaderFieldValue(v) {
		f.sent.ETag = v
		r.Header.Set("If-None-Match", v)
		if f.request.Delta {
			r.Header.Set("A-IM", "feed")
		}
	}
	if v := f.request.Validators.LastModified; v != "" && httpguts.ValidHeaderFieldValue(v) {
		f.sent.LastModified = v
		r.Header.Set("If-Modified-Since", v)
	}
}

// next returns where a redirect leads, nil if the response is none.
func (f *flight) next(response *http.Response) (*url.URL, error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		f.temporary = true
	default:
		return nil, nil
	}
	next, err := response.Location()
	if err != nil {
		return nil, refusal(Redirects, err)
	}
	next.Fragment, next.RawFragment = "", ""
	if !f.temporary {
		f.moved = next.String()
	}
	return next, nil
}

// discard reads what little there is, so that the connection can be used again.
func discard(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4096)
	response.Body.Close()
}

// answer reads the response that is no redirect.
func (f *flight) answer(response *http.Response) (*Result, error) {
	defer response.Body.Close()
	now := f.client.now()
	result := &Result{
		Status: response.StatusCode, URL: f.at.String(), Moved: f.moved, ContentType: response.Header.Get("Content-Type"),
		Link: response.Header.Values("Link"), RetryAfter: retryAfter(response.Header, now), Date: dated(response.Header),
		Validators: Validators{ETag: response.Header.Get("ETag"), LastModified: response.Header.Get("Last-Modified")},
	}
	result.MaxAge, result.SaysFresh, result.Private = freshness(response.Header, now)
	result.NoArchive = noArchive(response.Header.Values("X-Robots-Tag"))
	switch {
	case response.StatusCode == http.StatusNotModified && f.sent != Validators{}:
		result.NotModified = true
		result.Validators.ETag = cmp.Or(result.Validators.ETag, f.request.Validators.ETag)
		result.Validators.LastModified = cmp.Or(result.Validators.LastModified, f.request.Validators.LastModified)
		return result, nil
	case f.isDelta(response):
		result.Delta = true
	case response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNonAuthoritativeInfo:
		discard(response)
		return nil, &Error{Reason: Status, Status: response.StatusCode, RetryAfter: result.RetryAfter}
	}
	var err error
	defer func() { f.client.bytes.Add(uint64(result.BytesWire)) }()
	if result.Body, result.BytesWire, err = readBody(response, f.client.config.MaxBytes, f.client.config.MaxDecoded); err != nil {
		return nil, err
	}
	return result, nil
}

// isDelta reports an answer made by the one instance manipulation that was asked
// for (RFC 3229 §10.4.1, and the "feed" manipulation of Wyman's draft).
func (f *flight) isDelta(response *http.Response) bool {
	return response.StatusCode == http.StatusIMUsed && f.request.Delta && f.sent.ETag != "" &&
		strings.EqualFold(strings.TrimSpace(response.Header.Get("IM")), "feed")
}

const module = "github.com/feedtree/feedtree"

// defaultUserAgent names this module as it was built into the program.
func defaultUserAgent() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" && m.Version != "(devel)" {
				version = m.Version
			}
		}
	}
	return "feedtree/" + version + " (+https://" + module + ")"
}
