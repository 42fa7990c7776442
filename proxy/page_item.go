package proxy

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

const itemsSearched = 1000 // of a feed, the newest: older ones are not shown

// bodyStyle is the style of an item's text, in a frame of its own.
const bodyStyle = `:root{color-scheme:light dark}body{margin:1.25rem;max-width:44rem;font:17px/1.6 system-ui,sans-serif;color:#1c2430;background:#fff;overflow-wrap:anywhere}` +
	`a{color:#17604a}pre{white-space:pre-wrap;font:.9em/1.5 ui-monospace,monospace}code{font:.9em ui-monospace,monospace}blockquote{margin-inline:0;padding-inline-start:1rem;border-inline-start:3px solid #dde2e8}` +
	`table{border-collapse:collapse}td,th{border:1px solid #dde2e8;padding:.25rem .5rem}h1,h2,h3,h4,h5,h6{line-height:1.25}` +
	`@media(prefers-color-scheme:dark){body{color:#e3e8ee;background:#181d25}a{color:#6fd0aa}td,th,blockquote{border-color:#2c3440}}`

// bodySecurity shows text in one style, and lets links open in a window of their
// own. Nothing runs and nothing is loaded, whatever a feed got past the cleaner.
var bodySecurity = func() string {
	sum := sha256.Sum256([]byte(bodyStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
}()

// itemPageData is the page of one item.
type itemPageData struct {
	shell
	Feed feedtree.FeedStatus
	Name string
	Item news
	Body string // where its text is
}

// found is an item and what is known of it.
type foundItem struct {
	feed   feedtree.FeedStatus
	record store.Item
	says   feed.Item
	knows  teller
}

func (f foundItem) news() news {
	n := newsFrom(f.knows, f.record, f.says)
	n.FeedTitle = nameOf(f.feed)
	return n
}

// itemPage is where the page of an item is.
func itemPage(n news) string { return "/item?" + itemQuery(n) }

func itemQuery(n news) string { return url.Values{"feed": {n.Feed}, "key": {n.Key}}.Encode() }

// item answers with the page of an item.
func (p *Proxy) item(w http.ResponseWriter, r *http.Request) {
	found, ok := p.findItem(r)
	if !ok {
		p.homeWith(w, r, http.StatusNotFound, notice{"bad", "This item is not here, or not any more.", ""})
		return
	}
	n := found.news()
	show(w, http.StatusOK, "item", itemPageData{
		shell: p.shell(n.Title, p.overall()), Feed: found.feed, Name: nameOf(found.feed), Item: n, Body: "/item/body?" + itemQuery(n),
	})
}

// itemBody answers with an item's text alone, cleaned.
func (p *Proxy) itemBody(w http.ResponseWriter, r *http.Request) {
	found, ok := p.findItem(r)
	if !ok {
		refuse(w, http.StatusNotFound, "This item is not here, or not any more.")
		return
	}
	body := bodyOf(found.says)
	if body == "" {
		body = "<p>The feed has no text for this item, only its title and link.</p>"
	}
	secure(w.Header(), bodySecurity)
	_, _ = w.Write([]byte(`<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<meta name="referrer" content="no-referrer"><title>Item</title><style>` + bodyStyle + `</style></head><body>` + body + `</body></html>`))
}

// findItem reads the item that the parameters feed and key name.
func (p *Proxy) findItem(r *http.Request) (foundItem, bool) {
	asked := r.URL.Query()
	f, ok := p.source.Feed(asked.Get("feed"))
	if !ok || p.config.Store == nil {
		return foundItem{}, false
	}
	items, err := p.config.Store.Items(r.Context(), f.URL, itemsSearched)
	if err != nil {
		p.config.Log.Warn("the page cannot read items", "feed", feed.Redacted(f.URL), "error", err)
		return foundItem{}, false
	}
	i := slices.IndexFunc(items, func(it store.Item) bool { return it.Key == asked.Get("key") })
	if i < 0 || p.source.Believed(items[i]).TakenBack {
		return foundItem{}, false
	}
	doc, err := feed.Parse(items[i].Doc, items[i].ContentType)
	if err != nil || len(doc.Items) == 0 {
		return foundItem{}, false
	}
	return foundItem{f, items[i], doc.Items[0], p.source}, true
}
