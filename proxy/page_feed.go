package proxy

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
)

const itemsShown = 50 // of one feed

// feedPage is the page of one feed.
type feedPage struct {
	shell
	Feed  feedtree.FeedStatus
	Name  string
	Tree  drawing
	Items []news
}

// pageOf is where the page of a feed is.
func pageOf(feedURL string) string { return "/show?feed=" + url.QueryEscape(feedURL) }

// feedPage answers with the page of the feed that the parameter feed names.
func (p *Proxy) feedPage(w http.ResponseWriter, r *http.Request) {
	f, ok := p.source.Feed(r.URL.Query().Get("feed"))
	if !ok {
		p.homeWith(w, r, http.StatusNotFound, notice{"bad", "This feed is not followed here.", ""})
		return
	}
	page := feedPage{shell: p.shell(nameOf(f), p.overall()), Feed: f, Name: nameOf(f), Tree: draw(f)}
	page.Items = p.itemsOf(r, f, itemsShown)
	show(w, http.StatusOK, "feed", page)
}

// itemsOf reads the newest items of a feed.
func (p *Proxy) itemsOf(r *http.Request, f feedtree.FeedStatus, most int) []news {
	if p.config.Store == nil {
		return nil
	}
	items, err := p.config.Store.Items(r.Context(), f.URL, most)
	if err != nil {
		p.config.Log.Warn("the page cannot read items", "feed", feed.Redacted(f.URL), "error", err)
		return nil
	}
	slices.SortStableFunc(items, newestFirst)
	list := make([]news, 0, len(items))
	for _, it := range items {
		if what, ok := newsOf(p.source, it); ok {
			what.FeedTitle = nameOf(f)
			list = append(list, what)
		}
	}
	return list
}

// subscribe answers the form by which a feed is added.
func (p *Proxy) subscribe(w http.ResponseWriter, r *http.Request) {
	asked := r.PostForm.Get("url")
	addr, err := feed.Embedded(typed(asked))
	if err == nil {
		addr, err = feed.Canonical(addr)
	}
	if err != nil {
		p.sorry(w, r, http.StatusBadRequest, noAddress(asked, err))
		return
	}
	before := p.source.Status().Feeds
	b, err := p.shelf.take(r.Context(), addr)
	if err != nil {
		status, text := p.whyNot(addr, err)
		p.sorry(w, r, status, text)
		return
	}
	known := slices.ContainsFunc(before, func(f feedtree.FeedStatus) bool { return f.URL == b.sub.URL() })
	if p.offerChoice(w, r, b.sub, addr, known) {
		return
	}
	http.Redirect(w, r, "/?added="+url.QueryEscape(b.sub.URL()), http.StatusSeeOther)
}

// unsubscribe answers the form by which a feed is left.
func (p *Proxy) unsubscribe(w http.ResponseWriter, r *http.Request) {
	addr := r.PostForm.Get("url")
	if err := p.source.Unsubscribe(r.Context(), addr); err != nil {
		p.sorry(w, r, http.StatusConflict, "The feed "+clip(addr)+" cannot be left: "+clip(err.Error()))
		return
	}
	p.shelf.dropFeed(addr)
	http.Redirect(w, r, "/?left="+url.QueryEscape(addr), http.StatusSeeOther)
}
