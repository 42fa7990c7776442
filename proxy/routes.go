package proxy

import (
	"net/http"
	"strings"
)

// route is who answers at one path.
type route struct {
	get  http.HandlerFunc // GET and HEAD
	post http.HandlerFunc // made by Proxy.change: nothing else changes anything
}

// newRoutes lists what is at one path each.
func (p *Proxy) newRoutes() map[string]route {
	return map[string]route{
		"/":              {get: p.home},
		"/show":          {get: p.feedPage},
		"/item":          {get: p.item},
		"/item/body":     {get: p.itemBody},
		"/page.css":      {get: p.asset},
		"/page.js":       {get: p.asset},
		"/api/v1/status": {get: p.status},
		"/api/v1/items":  {get: p.apiItems},
		"/api/v1/item":   {get: p.apiItem},
		"/api/v1/events": {get: p.stream},
		"/api/v1/token":  {get: p.token},
		"/api/v1/pins":   {get: p.pins, post: p.change(formFields, p.pin)},
		"/readyz":        {get: p.answerReady},
		"/metrics":       {get: p.newMetrics().ServeHTTP},
		"/opml":          {get: p.export, post: p.change(listBytes, p.takeList)},
		"/opml/result":   {get: p.listResult},
		"/subscribe":     {post: p.change(formFields, p.subscribe)},
		"/choose":        {post: p.change(formFields, p.choose)},
		"/unsubscribe":   {post: p.change(formFields, p.unsubscribe)},
		"/volunteer":     {post: p.change(formFields, p.volunteer)},
		"/pin":           {post: p.change(formFields, p.pinByForm)},
		"/limits":        {post: p.change(formFields, p.limit)},
	}
}

func (t route) answer(w http.ResponseWriter, r *http.Request) {
	var to http.HandlerFunc
	var allowed []string
	if t.get != nil {
		allowed = append(allowed, http.MethodGet, http.MethodHead)
	}
	if t.post != nil {
		allowed = append(allowed, http.MethodPost)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		to = t.get
	case http.MethodPost:
		to = t.post
	}
	if to == nil {
		names := strings.Join(allowed, ", ")
		w.Header().Set("Allow", names)
		refuse(w, http.StatusMethodNotAllowed, "Only "+names+" are answered here.")
		return
	}
	to(w, r)
}
