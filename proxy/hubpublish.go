package proxy

import (
	"errors"
	"net/http"

	"github.com/feedtree/feedtree"
)

// hubPublish answers hub.mode=publish, with which publishers tell a hub of news:
// the URLs stand in hub.url (PubSubHubbub 0.3 and 0.4, repeatable) or hub.topic.
// Subscriptions to this hub are not taken: readers here ask the proxy itself.
func (p *Proxy) hubPublish(w http.ResponseWriter, r *http.Request, from hintFrom) {
	if err := r.ParseForm(); err != nil {
		p.unread(w, err)
		return
	}
	urls := append(r.Form["hub.url"], r.Form["hub.topic"]...)
	switch mode := r.Form.Get("hub.mode"); {
	case mode == "subscribe" || mode == "unsubscribe":
		p.hints.refused.Count(whyMalformed)
		refuse(w, http.StatusNotImplemented, "This hub takes publish pings only. Readers find the feed at "+p.base+"/feed/")
		return
	case mode != "publish" || len(urls) == 0 || len(urls) > hintURLs:
		p.hints.refused.Count(whyMalformed)
		refuse(w, http.StatusBadRequest, "Send hub.mode=publish and the feed's address as hub.url, 16 at most.")
		return
	}
	last, taken := errNoURL, false
	for _, u := range urls {
		if err := p.source.Hint(r.Context(), u, "publish "+r.RemoteAddr); err != nil {
			last = err
		} else {
			taken = true
		}
	}
	var reason *feedtree.HintError
	if taken || from.public && errors.As(last, &reason) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	told(w, from, last)
}
