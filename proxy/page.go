package proxy

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
)

//go:embed page*.html page.css page.js opml.html
var assets embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"ago":       ago,
	"until":     until,
	"stamp":     stamp,
	"machine":   machine,
	"counted":   counted,
	"short":     short,
	"bytes":     bytesText,
	"thousands": thousands,
	"plural":    plural,
	"mark":      markOf,
	"legend":    legend,
	"pageOf":    pageOf,
	"itemOf":    itemPage,
	"wayOf":     waySays,
	"pin":       pinOf,
	"words":     inWords,
	"readers":   Readers,
	"name":      nameOf,
	"span":      span,
	"sparing":   sparing,
	"joined":    neighboursOf,
	"bytes64":   func(n uint64) string { return bytesText(int64(n)) },
	"saved":     func(alone, made int) int { return alone - made },
	"count":     func(of map[string]uint64, name string) int64 { return int64(of[name]) },
}).ParseFS(assets, "page*.html", "opml.html"))

// pageSecurity lets the pages use their own style and script, show an item in a
// frame of their own, and nothing else.
const pageSecurity = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; " +
	"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// view is what the pages have besides the proxy.
type view struct {
	newest *newest
	events *events
	caps   *caps
}

func newView(p *Proxy) *view {
	v := &view{
		events: &events{proxy: p, to: map[chan message]struct{}{}},
		caps:   &caps{source: p.source, store: p.config.Store, fixed: p.config.Polling, upload: int64(p.config.MaxUpload), log: p.config.Log},
	}
	v.newest = &newest{store: p.config.Store, knows: p.source, arrived: v.events.arrived, complain: func(url string, err error) {
		p.config.Log.Warn("the page cannot read items", "feed", feed.Redacted(url), "error", err)
	}}
	v.caps.restore()
	return v
}

// shell is what every page shows.
type shell struct {
	Base    string
	Token   string
	Now     time.Time
	Title   string
	Notice  notice
	Company company
}

// notice is what came of what the user just did.
type notice struct {
	Class string // "good" or "bad"
	Text  string
	Feed  string // a feed that was just added, by its URL
}

func (p *Proxy) shell(title string, s feedtree.Status) shell {
	return shell{Base: p.base, Token: p.guard.token, Now: p.now(), Title: title, Company: companyOf(s)}
}

// show answers with a page.
func show(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		panic("proxy: a page's template: " + err.Error())
	}
	secure(w.Header(), pageSecurity)
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// secure says what a browser may do with a page, and who may look into it.
func secure(h http.Header, policy string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the own forms would come from nowhere (Origin: null)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// asset serves the pages' style and script.
func (p *Proxy) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := assets.ReadFile(name)
	if err != nil {
		panic("proxy: " + err.Error())
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", assetTags[name])
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Type", "text/css; charset=utf-8")
	if strings.HasSuffix(name, ".js") {
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// assetTags are the entity tags of what the pages load.
var assetTags = func() map[string]string {
	tags := map[string]string{}
	for _, name := range []string{"page.css", "page.js"} {
		data, err := assets.ReadFile(name)
		if err != nil {
			panic("proxy: " + err.Error())
		}
		sum := sha256.Sum256(data)
		tags[name] = strconv.Quote(base64.RawURLEncoding.EncodeToString(sum[:16]))
	}
	return tags
}()
