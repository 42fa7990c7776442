package proxy

import (
	"errors"
	"net/http"

	"github.com/feedtree/feedtree"
)

// pins lists which root keys each feed's publisher must have.
func (p *Proxy) pins(w http.ResponseWriter, _ *http.Request) { answerJSON(w, p.source.Pins()) }

// pin sets one by hand.
func (p *Proxy) pin(w http.ResponseWriter, r *http.Request) {
	addr := r.PostForm.Get("url")
	err := p.source.SetPin(r.Context(), addr, r.PostForm.Get("fingerprint"))
	switch {
	case errors.Is(err, feedtree.ErrUnknown):
		refuse(w, http.StatusNotFound, "The feed "+clip(addr)+" is not followed here: subscribe to it first.")
	case err != nil:
		refuse(w, http.StatusUnprocessableEntity, "It is not pinned: "+clip(err.Error()))
	default:
		p.pins(w, r)
	}
}
