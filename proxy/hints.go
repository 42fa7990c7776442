package proxy

import (
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/internal/tally"
)

const (
	hintBody    = 16 << 10 // of a ping or a form; a WordPress ping has 500 bytes
	hintURLs    = 16       // in one request
	hintsPerSec = 50       // taken from all clients together,
	hintBurst   = 500      // with so many at once;
	clientRate  = 2        // from one address that is not this machine's
	clientBurst = 30
	mostClients = 1024 // addresses told apart; the others share one allowance
)

// The reasons for which a request with a hint is refused here. The node has more.
const (
	whyFlood     = "hint: too many requests"
	whyTooLarge  = "hint: too large a request"
	whyMalformed = "hint: not understood"
	whyForeign   = "hint: from another site's page"
)

// hints is what stands between strangers and the node: how much is taken from
// whom, and what was refused.
type hints struct {
	public  *url.URL // the proxy as the outside reaches it; nil if it does not
	refused tally.Tally
	all     *rate.Limiter
	now     func() time.Time

	mu      sync.Mutex
	clients map[netip.Addr]*rate.Limiter
	others  *rate.Limiter
}

func newHints(public *url.URL, now func() time.Time) *hints {
	return &hints{
		public: public, now: now, all: rate.NewLimiter(hintsPerSec, hintBurst),
		clients: map[netip.Addr]*rate.Limiter{}, others: rate.NewLimiter(clientRate, clientBurst),
	}
}

// path returns the target of a request to this proxy, and whether it came by the
// public address, which is for hints only. A name that readers use as well is
// theirs.
func (h *hints) path(r *http.Request, g *guard) (path string, public bool) {
	path = target(r)
	if h.public == nil || g.knows(r.Host) || hostOnly(r.Host) != hostOnly(h.public.Host) {
		return path, false
	}
	if under := strings.TrimSuffix(h.public.Path, "/"); under != "" {
		if rest, ok := strings.CutPrefix(path, under); ok && strings.HasPrefix(rest, "/") {
			path = rest // or else whoever passed it on took it off
		}
	}
	return path, true
}

// hint answers a request on one of the routes by which others tell of news, and
// reports whether it was one.
func (p *Proxy) hint(w http.ResponseWriter, r *http.Request) bool {
	path, public := p.hints.path(r, p.guard)
	word, rest := path, ""
	if end := strings.IndexAny(strings.TrimPrefix(path, "/"), "/?"); end >= 0 && path[0] == '/' {
		word, rest = path[:end+1], path[end+1:]
	}
	var answer func(http.ResponseWriter, *http.Request, hintFrom)
	switch {
	case word == "/websub":
		p.callback(w, r, strings.TrimPrefix(rest, "/"))
		return true
	case word == "/hook":
		answer = p.hook
	case rest != "" && rest[0] == '/':
	case word == "/ping" || word == "/RPC2":
		answer = p.ping
	case word == "/hub":
		answer = p.hubPublish
	}
	if answer == nil {
		if public {
			refuse(w, http.StatusForbidden, "Nothing but hints about feeds is taken at this address.")
		}
		return public
	}
	p.admit(w, r, hintFrom{public: public, rest: rest}, answer)
	return true
}

// hintFrom is a request's way in, and what of its target follows the route.
type hintFrom struct {
	public bool
	rest   string
}

// admit answers a request with a hint if it may come in at all.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request, from hintFrom, answer func(http.ResponseWriter, *http.Request, hintFrom)) {
	if !from.public {
		_, why := p.guard.refuse(r)
		if why == "" && crossSite(r) {
			why = "This proxy takes hints from publishing programs, not from other sites' pages."
		}
		if why != "" {
			p.hints.refused.Count(whyForeign)
			refuse(w, http.StatusForbidden, why)
			return
		}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "Hints about news are sent here with POST.")
		return
	}
	if !p.hints.room(r) {
		p.hints.refused.Count(whyFlood)
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusTooManyRequests, "Too many hints: the next ones are taken in a minute.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, hintBody)
	answer(w, r, from)
}

func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// room reports whether one more hint is taken from a client.
func (h *hints) room(r *http.Request) bool {
	now := h.now()
	if c := client(r); !c.IsLoopback() && !h.allowance(c, now).AllowN(now, 1) {
		return false
	}
	return h.all.AllowN(now, 1)
}

// allowance is the client's own, as long as not too many are told apart.
func (h *hints) allowance(c netip.Addr, now time.Time) *rate.Limiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.clients[c]
	if own == nil && len(h.clients) >= mostClients {
		maps.DeleteFunc(h.clients, func(_ netip.Addr, l *rate.Limiter) bool { return l.TokensAt(now) >= clientBurst })
	}
	switch {
	case own != nil:
		return own
	case len(h.clients) >= mostClients:
		return h.others
	}
	own = rate.NewLimiter(clientRate, clientBurst)
	h.clients[c] = own
	return own
}

// client is the address that a request comes from; of IPv6 the network, which
// one client has all of.
func client(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() && !addr.IsLoopback() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return addr
}

// unread tells what is wrong with the body of a request with a hint.
func (p *Proxy) unread(w http.ResponseWriter, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		p.hints.refused.Count(whyTooLarge)
		refuse(w, http.StatusRequestEntityTooLarge, "A hint is short: it names a feed and brings no content.")
	default:
		p.hints.refused.Count(whyMalformed)
		refuse(w, http.StatusBadRequest, "This is no hint that can be understood: "+clip(err.Error()))
	}
}

// first tells the node of the first of several URLs that it does anything with.
func (p *Proxy) first(r *http.Request, urls []string, way string) error {
	err := errNoURL
	for _, u := range urls[:min(len(urls), hintURLs)] {
		if err = p.source.Hint(r.Context(), u, way+" "+r.RemoteAddr); err == nil {
			return nil
		}
	}
	return err
}

var errNoURL = errors.New("it names no feed")

// told answers a hint. Strangers are not told which feeds are followed here.
func told(w http.ResponseWriter, from hintFrom, err error) {
	var reason *feedtree.HintError
	switch {
	case err == nil, from.public && errors.As(err, &reason):
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Noted.\n")
	default:
		refuse(w, hintStatus(err), "Nothing is done about it: "+clip(err.Error()))
	}
}

// hintStatus is the status that says why a hint was refused.
func hintStatus(err error) int {
	var refused *feedtree.HintError
	if !errors.As(err, &refused) {
		if errors.Is(err, errNoURL) {
			return http.StatusBadRequest
		}
		return http.StatusServiceUnavailable
	}
	switch refused.Reason {
	case feedtree.HintBadURL:
		return http.StatusBadRequest
	case feedtree.HintPrivate:
		return http.StatusForbidden
	case feedtree.HintUnknown:
		return http.StatusNotFound
	case feedtree.HintGone:
		return http.StatusGone
	case feedtree.HintTooMany:
		return http.StatusTooManyRequests
	}
	return http.StatusConflict
}
