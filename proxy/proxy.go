package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/internal/tally"
)

// Config sets up a Proxy. The zero value is a proxy for readers on this machine
// at the default address.
type Config struct {
	// Base is the proxy's own address as readers use it, without a slash at the
	// end. Empty: http://127.0.0.1:8089.
	Base string

	// Hosts are names and addresses, beyond those of the loopback interface, that
	// clients may use for the proxy. Where the listener is reached by its address,
	// that address need not be named.
	Hosts []string

	// Store is the node's. The page reads items from it, and keeps there what its
	// user chose. Nil: the page shows no items, and forgets.
	Store store.Store

	// PublicURL is where the outside reaches this proxy, for instance through a
	// reverse proxy, without a slash at the end. There it takes hints about feeds
	// and nothing else, and feeds' WebSub hubs are asked to send them there. A name
	// that is among Hosts is not the outside's. Empty: no subscriptions at hubs.
	PublicURL string

	// Client asks hubs. Nil: there are no subscriptions at hubs.
	Client *fetch.Client

	// Disk returns how many bytes what is kept takes, for /metrics. Nil: it is not
	// told.
	Disk func() (int64, error)

	// Damaged returns in how many places what is kept was found damaged, for
	// /metrics. Nil: it is not told.
	Damaged func() int

	// Version is what runs, in words, for /metrics and those who ask after it.
	Version string

	// Labels puts a short line at the end of each item in what readers are served,
	// which says why the item is believed. Identities stay.
	Labels bool

	// FirstFetch bounds how long a reader waits for a feed that is new. 0: 60 s.
	FirstFetch time.Duration

	// Forget is after how long a feed is left that no reader asks for. 0: 14 days.
	Forget time.Duration

	// Polling is what the node was made with. What it says about polling for
	// others is not overruled by what was chosen on the page before.
	Polling feedtree.Polling

	// MaxUpload is how many bytes an hour the node was made to send at most, if its
	// configuration says so: that is not overruled by what was chosen on the page.
	MaxUpload uint64

	// Log gets what a person running the proxy wants to know. Nil: nothing.
	Log *slog.Logger
}

// Proxy is an http.Handler over a node. Mount it at the root of a server: feeds'
// URLs stand in its paths, which an http.ServeMux would tidy away.
type Proxy struct {
	config  Config
	base    string
	guard   *guard
	routes  map[string]route // by path; those of feeds and of hints are none of them
	shelf   *shelf
	source  source
	hints   *hints
	imports *imports
	websub  *websub // nil: nobody could reach it
	view    *view
	now     func() time.Time
	ready   readiness
	served  tally.Tally // readers' requests for feeds, by the status of the answer
}

// New returns a proxy over a node, which stays the caller's to close.
func New(n *feedtree.Node, c Config) *Proxy { return newProxy(node{n}, c, time.Now) }

func newProxy(s source, c Config, now func() time.Time) *Proxy {
	if c.Base == "" {
		c.Base = "http://127.0.0.1:8089"
	}
	if c.FirstFetch <= 0 {
		c.FirstFetch = time.Minute
	}
	if c.Forget <= 0 {
		c.Forget = 14 * 24 * time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	base := strings.TrimSuffix(c.Base, "/")
	hosts := c.Hosts
	if u, err := url.Parse(base); err == nil {
		hosts = append([]string{u.Host}, hosts...)
	}
	p := &Proxy{
		config: c, base: base, guard: newGuard(hosts), source: s, now: now,
		shelf: &shelf{source: s, timeout: c.FirstFetch, now: now, books: make(map[string]*book)},
	}
	public, err := url.Parse(c.PublicURL)
	if err != nil || public.Host == "" {
		public = nil
	}
	p.hints = newHints(public, now)
	p.imports = newImports(p)
	p.view = newView(p)
	p.routes = p.newRoutes()
	if public != nil && c.Client != nil {
		p.websub = newWebsub(p, public, c.Client)
	}
	return p
}

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		p.health(w)
		return
	}
	if p.hint(w, r) {
		return
	}
	if reason, text := p.guard.refuse(r); reason != "" {
		p.guard.refused.Count(reason)
		refuse(w, http.StatusForbidden, text)
		return
	}
	if format, rest, ok := split(target(r)); ok {
		get := func(w http.ResponseWriter, r *http.Request) { p.document(w, r, format, rest) }
		p.countServed(w, func(w http.ResponseWriter) { route{get: get}.answer(w, r) })
		return
	}
	if to, ok := p.routes[r.URL.Path]; ok {
		to.answer(w, r)
		return
	}
	nowhere := func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "There is nothing here. The page of this proxy is "+p.base+"/")
	}
	route{get: nowhere}.answer(w, r)
}

// target returns the path and query as the client sent them.
func target(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI() // sent as to a forward proxy, with the host
}

// document answers a request for a feed.
func (p *Proxy) document(w http.ResponseWriter, r *http.Request, format feed.Format, rest string) {
	if rest == "" || rest[0] == '?' {
		p.lookup(w, r)
		return
	}
	rest, page, paged := cutPage(rest)
	addr, err := feed.Embedded(rest)
	if err == nil {
		addr, err = feed.Canonical(addr)
	}
	if err != nil {
		p.badAddress(w, rest, err)
		return
	}
	if paged {
		p.history(w, r, addr, format, page)
		return
	}
	if unasked(r) && !p.follows(addr) {
		p.guard.refused.Count(whyUnasked)
		refuse(w, http.StatusForbidden, "Another site's page leads here, and the feed "+clip(addr)+" is not followed yet.\n"+
			"To follow it, enter its address on the page of this proxy, "+p.base+"/")
		return
	}
	if b, err := p.shelf.take(r.Context(), addr); err == nil && p.sendOn(w, r, b.sub, addr) {
		return
	}
	doc, state, err := p.copy(r.Context(), addr, format)
	if err != nil {
		p.noFeed(w, addr, err)
		return
	}
	h := w.Header()
	h.Set("X-FeedTree-State", state)
	h.Set("Cache-Control", "private, max-age=60")
	send(w, r, doc)
}

// follows reports whether a feed is followed already, so that asking for it begins
// nothing.
func (p *Proxy) follows(addr string) bool {
	if p.shelf.holds(addr) {
		return true
	}
	_, ok := p.source.Feed(addr)
	return ok
}

// copy returns the document at hand. A feed that was left meanwhile is followed
// again, once.
func (p *Proxy) copy(ctx context.Context, addr string, format feed.Format) (*copied, string, error) {
	for again := false; ; again = true {
		b, err := p.shelf.take(ctx, addr)
		if err != nil {
			return nil, "", err
		}
		now := p.now()
		at := p.place(format, b.sub.URL())
		at.find = func(ctx context.Context) *feed.Paging { return p.paging(ctx, b, at.self) }
		doc, err := b.copies.get(ctx, b.sub, format, at, p.config.Labels, now)
		if err == nil {
			return doc, b.copies.state(b.sub, now), nil
		}
		ended := errors.Is(err, feedtree.ErrClosed) || errors.Is(err, feedtree.ErrUnknown)
		if again || !ended {
			return nil, "", err
		}
		p.shelf.drop(addr, b)
	}
}

// place returns where a feed's document is served, in the form that readers paste.
func (p *Proxy) place(format feed.Format, canonical string) place {
	for word, f := range forms {
		if f == format {
			return place{self: p.base + "/" + word + "/" + canonical, origin: canonical}
		}
	}
	panic("proxy: no form for " + format.String())
}

// send answers with a document in the coding that the client prefers.
// http.ServeContent knows conditional requests (RFC 9110 §13).
func send(w http.ResponseWriter, r *http.Request, doc *copied) {
	h := w.Header()
	b := doc.plain
	if wantsGzip(r.Header["Accept-Encoding"]) {
		b = doc.zipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(b.bytes)))
	h.Set("Content-Type", doc.media)
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", b.etag)
	http.ServeContent(w, r, "", doc.changed, bytes.NewReader(b.bytes))
}

// lookup leads to the address that a feed has here.
func (p *Proxy) lookup(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	addr, err := feed.Embedded(typed(asked.Get("url")))
	if err == nil {
		addr, err = feed.Canonical(addr)
	}
	if err != nil {
		p.badAddress(w, asked.Get("url"), err)
		return
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("Location", "/"+word+"/"+addr)
	w.WriteHeader(http.StatusFound)
}

func (p *Proxy) health(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-FeedTree-Version", p.config.Version)
	_, _ = w.Write([]byte("ok\n"))
}

func (p *Proxy) status(w http.ResponseWriter, _ *http.Request) { answerJSON(w, p.overall()) }

// answerJSON answers with what a program reads.
func answerJSON(w http.ResponseWriter, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("proxy: an answer that is no JSON: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(append(data, '\n'))
}

// overall is the node's status with what was refused here.
func (p *Proxy) overall() feedtree.Status {
	s := p.source.Status()
	all := p.guard.refused.All()
	for _, more := range []map[string]uint64{p.hints.refused.All(), s.Refused} {
		for why, n := range more {
			all[why] += n
		}
	}
	s.Refused = all
	return s
}
