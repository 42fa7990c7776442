package proxy

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

//go:embed page.html page.css page.js opml.html
var assets embed.FS

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"ago":     ago,
	"until":   until,
	"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"duty":    duty,
	"counted": counted,
	"short":   short,
}).ParseFS(assets, "page.html"))

// pageSecurity lets the page use its own style and script and nothing else.
const pageSecurity = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const newsShown = 20

// pageData is what the page shows.
type pageData struct {
	feedtree.Status
	Base  string
	Now   time.Time
	Token string
	Added string // a feed that was just added, by its URL
	News  []news
}

// news is an item on the page.
type news struct {
	Feed, Title, Link string
	Trust             store.Trust
	Received          time.Time
}

func (p *Proxy) page(w http.ResponseWriter, r *http.Request) {
	data := pageData{Status: p.overall(), Base: p.base, Token: p.guard.token, Now: p.now(), Added: r.URL.Query().Get("added")}
	data.News = p.news(r.Context(), data.Feeds)
	if !slices.ContainsFunc(data.Feeds, func(f feedtree.FeedStatus) bool { return f.URL == data.Added }) {
		data.Added = ""
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, data); err != nil {
		panic("proxy: the page's template: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pageSecurity)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(out.Bytes())
}

// asset serves the page's style and script.
func (p *Proxy) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := assets.ReadFile(name)
	if err != nil {
		panic("proxy: " + err.Error())
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "text/css; charset=utf-8")
	if strings.HasSuffix(name, ".js") {
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// news returns the items that arrived last, over all feeds. It reads the store
// rather than documents: asking for a document counts as reading the feed.
func (p *Proxy) news(ctx context.Context, feeds []feedtree.FeedStatus) []news {
	if p.config.Store == nil {
		return nil
	}
	var latest []store.Item
	titles := make(map[string]string)
	for _, f := range feeds {
		titles[f.URL] = cmp.Or(f.Title, f.URL)
		items, err := p.config.Store.Items(ctx, f.URL, newsShown)
		if err != nil {
			p.config.Log.Warn("the page cannot read items", "feed", f.URL, "error", err)
			continue
		}
		latest = append(latest, items...)
	}
	slices.SortStableFunc(latest, func(a, b store.Item) int {
		return cmp.Or(b.Received.Truncate(time.Second).Compare(a.Received.Truncate(time.Second)),
			b.Published.Compare(a.Published), cmp.Compare(b.Seen, a.Seen))
	})
	var shown []news
	for _, it := range latest[:min(len(latest), newsShown)] {
		doc, err := feed.Parse(it.Doc, it.ContentType)
		if err != nil || len(doc.Items) == 0 {
			continue
		}
		shown = append(shown, news{
			Feed: titles[it.Feed], Title: cmp.Or(doc.Items[0].Title, "(no title)"), Link: doc.Items[0].Link,
			Trust: it.Trust, Received: it.Received,
		})
	}
	return shown
}

// duty says in words what the node does for a feed.
func duty(f feedtree.FeedStatus) string {
	switch f.Role {
	case feedtree.RoleVolunteer:
		return "polls it for everybody"
	case feedtree.RoleLocal:
		return "polls it for you alone"
	case feedtree.RolePublisher:
		return "publishes it"
	}
	if f.Live {
		return "gets it from the publisher"
	}
	return "gets it from others"
}

// count is one reason of refusal and how often it occurred.
type count struct {
	Reason string
	N      uint64
}

// counted sorts reasons by how often they occurred.
func counted(m map[string]uint64) []count {
	var list []count
	for reason, n := range m {
		if n > 0 {
			list = append(list, count{reason, n})
		}
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// short returns the end of a peer ID, which is where IDs differ.
func short(id string) string {
	const most = 8
	if len(id) <= most {
		return id
	}
	return "…" + id[len(id)-most:]
}

// ago says how long before now something was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= 2*time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// until says how long after now something will be.
func until(now, t time.Time) string {
	if d := t.Sub(now); d >= time.Second {
		return "in " + span(d)
	}
	return "now"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Truncate(time.Hour).String(), "0m0s")
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}
