package proxy

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/feedtree/feedtree/feed"
)

// hook answers a webhook of any system that can send one after publishing. The
// feed's address stands behind /hook/, as it does behind /feed/; then nothing of
// the body is looked at. Or it is the parameter url, in the query, in a form, or
// in a JSON object.
func (p *Proxy) hook(w http.ResponseWriter, r *http.Request, from hintFrom) {
	addr, err := p.hooked(r, from.rest)
	if err != nil {
		p.unread(w, err)
		return
	}
	told(w, from, p.first(r, []string{addr}, "hook"))
}

func (p *Proxy) hooked(r *http.Request, rest string) (string, error) {
	if named := strings.TrimPrefix(rest, "/"); named != "" && named[0] != '?' {
		return feed.Embedded(named)
	}
	if _, query, ok := strings.Cut(rest, "?"); ok {
		values, err := url.ParseQuery(query)
		if err != nil || values.Get("url") != "" {
			return values.Get("url"), err
		}
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", errNoURL
	}
	if media == "application/json" {
		var body struct{ URL string }
		err := json.NewDecoder(r.Body).Decode(&body)
		return orNone(body.URL, err)
	}
	err = r.ParseForm()
	return orNone(r.PostForm.Get("url"), err)
}

func orNone(addr string, err error) (string, error) {
	if err == nil && addr == "" {
		err = errNoURL
	}
	return addr, err
}
