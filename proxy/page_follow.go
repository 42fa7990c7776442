package proxy

import (
	"net/http"
	"net/url"

	"github.com/feedtree/feedtree/feed"
)

// subscribe answers the form of the page by which a feed is added.
func (p *Proxy) subscribe(w http.ResponseWriter, r *http.Request) {
	asked := r.PostForm.Get("url")
	addr, err := feed.Embedded(typed(asked))
	if err == nil {
		addr, err = feed.Canonical(addr)
	}
	if err != nil {
		p.badAddress(w, asked, err)
		return
	}
	b, err := p.shelf.take(r.Context(), addr)
	if err != nil {
		p.noFeed(w, addr, err)
		return
	}
	http.Redirect(w, r, "/?added="+url.QueryEscape(b.sub.URL()), http.StatusSeeOther)
}

// unsubscribe answers the form by which a feed is left.
func (p *Proxy) unsubscribe(w http.ResponseWriter, r *http.Request) {
	addr := r.PostForm.Get("url")
	if err := p.source.Unsubscribe(r.Context(), addr); err != nil {
		refuse(w, http.StatusConflict, "The feed "+clip(addr)+" is not left: "+clip(err.Error()))
		return
	}
	p.shelf.dropFeed(addr)
	http.Redirect(w, r, "/?left="+url.QueryEscape(addr), http.StatusSeeOther)
}
