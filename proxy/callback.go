package proxy

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/feedtree/feedtree"
)

const (
	pushBody      = 8 << 20 // of what a hub sends, which is read for its signature only
	mostChallenge = 4 << 10
)

// callback answers a hub at the address that it was given for one subscription.
// Who does not know the token gets nothing.
func (p *Proxy) callback(w http.ResponseWriter, r *http.Request, rest string) {
	token, query, _ := strings.Cut(rest, "?")
	var l lease
	found, loaded := false, true
	if p.websub != nil {
		l, found, loaded = p.websub.at(token)
	}
	switch {
	case !loaded:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "Just started: come again.")
	case !found && r.Method == http.MethodPost: // WebSub §7: then the hub ends the subscription
		p.hints.refused.Count("websub: no such subscription")
		refuse(w, http.StatusGone, "There is no such subscription.")
	case !found:
		p.hints.refused.Count("websub: no such subscription")
		refuse(w, http.StatusNotFound, "There is no such subscription.")
	case r.Method == http.MethodPost:
		p.pushed(w, r, l)
	case r.Method == http.MethodGet:
		p.verify(w, query, l)
	default:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, "Hubs verify with GET and send with POST.")
	}
}

// verify tells a hub whether a subscription was meant (WebSub §5.3), or hears
// that it is denied (§5.2).
func (p *Proxy) verify(w http.ResponseWriter, query string, l lease) {
	asked, err := url.ParseQuery(query)
	now, challenge := p.now(), asked.Get("hub.challenge")
	switch mode := asked.Get("hub.mode"); {
	case err != nil:
		p.unread(w, err)
	case mode == "denied" && asked.Get("hub.topic") == l.Topic:
		p.websub.change(l.Token, func(l *lease) {
			l.failed(now, longestWait)
			l.Until = now
		})
		p.hints.refused.Count("websub: denied by the hub")
		p.config.Log.Info("a hub denies a subscription", "feed", l.Feed, "hub", l.Hub, "reason", clip(asked.Get("hub.reason")))
		w.WriteHeader(http.StatusOK)
	case mode != "subscribe" || challenge == "" || len(challenge) > mostChallenge || !l.intended(asked.Get("hub.topic"), now):
		p.hints.refused.Count("websub: not asked for")
		refuse(w, http.StatusNotFound, "That was not asked for.")
	default:
		p.websub.change(l.Token, func(l *lease) { l.verified(now, asked.Get("hub.lease_seconds")) })
		p.config.Log.Info("subscribed at a hub", "feed", l.Feed, "hub", l.Hub)
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, challenge)
	}
}

// pushed takes what a hub sends as a hint: its content is read for the signature
// and forgotten. A wrong signature is answered as a right one is (WebSub §7.1), so
// that nobody can try secrets out.
func (p *Proxy) pushed(w http.ResponseWriter, r *http.Request, l lease) {
	if !l.live(p.now()) {
		p.hints.refused.Count("websub: before it is verified, or after its end")
		refuse(w, http.StatusNotFound, "The subscription is not in force.")
		return
	}
	strong := l.Strong
	var large *http.MaxBytesError
	switch err := l.check(r.Header["X-Hub-Signature"], http.MaxBytesReader(w, r.Body, pushBody)); {
	case errors.As(err, &large):
		p.unread(w, err)
		return
	case errors.Is(err, errUnsigned), errors.Is(err, errSignature), errors.Is(err, errWeak):
		p.hints.refused.Count(err.Error())
		w.WriteHeader(http.StatusAccepted)
		return
	case err != nil:
		p.unread(w, err)
		return
	}
	if l.Strong && !strong {
		p.websub.change(l.Token, func(l *lease) { l.Strong = true })
	}
	var refused *feedtree.HintError
	err := p.source.Hint(r.Context(), l.Feed, "websub "+l.Hub)
	switch {
	case errors.As(err, &refused) && refused.Reason != feedtree.HintPublished:
		p.websub.end(l.Token)
		refuse(w, http.StatusGone, "The feed is not followed here any more.")
	case err != nil && refused == nil:
		refuse(w, http.StatusServiceUnavailable, "Come again.")
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}
