package proxy

import (
	"net/http"
	"strconv"
)

const mostItems = 500 // that one answer lists

// apiItems answers with the newest items as JSON: those of the feed that the
// parameter feed names, or of all.
func (p *Proxy) apiItems(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	limit := itemsShown
	if text := asked.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostItems {
			refuse(w, http.StatusBadRequest, "The parameter limit is a number from 1 to "+strconv.Itoa(mostItems)+".")
			return
		}
		limit = n
	}
	list := []news{}
	if asked.Get("feed") == "" {
		all, _ := p.view.newest.look(p.source.Status().Feeds)
		list = append(list, all[:min(len(all), limit)]...)
	} else {
		f, ok := p.source.Feed(asked.Get("feed"))
		if !ok {
			refuse(w, http.StatusNotFound, "This feed is not followed here.")
			return
		}
		list = append(list, p.itemsOf(r, f, limit)...)
	}
	answerJSON(w, map[string][]news{"items": list})
}

// apiItem answers with one item and its text as HTML that is safe to show.
func (p *Proxy) apiItem(w http.ResponseWriter, r *http.Request) {
	found, ok := p.findItem(r)
	if !ok {
		refuse(w, http.StatusNotFound, "This item is not here, or not any more.")
		return
	}
	answerJSON(w, struct {
		news
		HTML string `json:"html"`
	}{found.news(), bodyOf(found.says)})
}
