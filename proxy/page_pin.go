package proxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/feedtree/feedtree"
)

// pinned is which root keys a feed's publisher must have, for a person.
type pinned struct {
	Fingerprint string // "" where no key is known
	Since       time.Time
	How         string // how that is known
	Moved       string // where it was before, and why it is there no more; ""
	Rival       string // what the feed announces now, if that is another key; ""
	Trouble     string // what is wrong with the keys and what to do; ""
	ByHand      bool
}

var howPinned = map[string]string{
	"https":     "the feed announced it over HTTPS when it was first seen here",
	"http":      "the feed announced it over plain HTTP, where anybody on the way could have put it: it is used to refuse others, not to believe",
	"manual":    "it was set by hand, and moves only by hand",
	"recovered": "the feed announced it for 72 hours in the place of another",
}

var whyMoved = map[string]string{
	"rotated":   "the keys before signed that",
	"recovered": "the feed announced the new ones for 72 hours, and others saw them too",
}

// pinOf says how it stands with a feed's pin.
func pinOf(f feedtree.FeedStatus) pinned {
	w := pinned{Trouble: f.Keys.Sentence}
	p := f.Pin
	if p == nil {
		return w
	}
	w.Fingerprint, w.Since, w.ByHand = p.Fingerprint, p.Since, p.How == "manual"
	how, known := howPinned[p.How]
	if !known {
		how = p.How
	}
	w.How = how
	if p.MovedFrom != "" {
		w.Moved = p.MovedFrom
		if p.MovedAt != nil {
			w.Moved += ", until " + stamp(*p.MovedAt)
		}
		if why := whyMoved[p.MovedWhy]; why != "" {
			w.Moved += ": " + why
		}
	}
	if p.Rival != "" {
		w.Rival = p.Rival
		if p.RivalSince != nil {
			w.Rival += ", since " + stamp(*p.RivalSince)
		}
	}
	return w
}

// pinByForm answers the form by which a pin is set or taken back.
func (p *Proxy) pinByForm(w http.ResponseWriter, r *http.Request) {
	addr := r.PostForm.Get("url")
	fingerprint := r.PostForm.Get("fingerprint")
	if fingerprint == "" && r.PostForm.Get("forget") != "1" {
		p.sorry(w, r, http.StatusUnprocessableEntity, "There is no fingerprint in the form: it begins with sha-256: and stands on the publisher’s site.")
		return
	}
	err := p.source.SetPin(r.Context(), addr, fingerprint)
	switch {
	case errors.Is(err, feedtree.ErrUnknown):
		p.sorry(w, r, http.StatusNotFound, "The feed "+clip(addr)+" is not followed here.")
	case err != nil:
		p.sorry(w, r, http.StatusUnprocessableEntity, "It is not pinned: "+clip(err.Error()))
	default:
		http.Redirect(w, r, pageOf(addr), http.StatusSeeOther)
	}
}
