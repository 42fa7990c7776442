package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// sendOn redirects who asked for a web page to the feed it led to, and tells of the
// others that the page announces. The redirect is a temporary one: a reader keeps
// the address that its user gave, and the site may announce another feed one day.
func (p *Proxy) sendOn(w http.ResponseWriter, r *http.Request, sub subscription, asked string) bool {
	links, page := sub.Announced()
	if !page || sub.URL() == asked {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(target(r), "/"), "/")
	others := ""
	for _, l := range links {
		if l.URL == sub.URL() {
			continue
		}
		link := "<" + p.base + "/" + word + "/" + l.URL + `>; rel="alternate"`
		if l.Title != "" {
			link += "; title*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(l.Title), "+", "%20") // RFC 8187
		}
		w.Header().Add("Link", link)
		others += p.base + "/" + word + "/" + l.URL + "  " + clip(l.Title) + "\n"
	}
	text := "That is a web page. Its feed is here as " + p.base + "/" + word + "/" + sub.URL() + "\n"
	if others != "" {
		text += "\nIt announces others as well:\n" + others
	}
	w.Header().Set("Location", "/"+word+"/"+sub.URL())
	refuse(w, http.StatusFound, text)
	return true
}
