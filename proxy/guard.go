package proxy

import (
	"crypto/rand"
	"fmt"
	"github.com/feedtree/feedtree/internal/tally"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// The reasons for which a request is refused before anybody looks at what it
// wants. They are counted in the status.
const (
	whyName    = "request: by a name that is not this proxy's"
	whyScript  = "request: by a script of another site"
	whyPart    = "request: as part of another site's page"
	whyUnasked = "request: to follow a new feed, by another site's page"
)

// guard lets in readers on this machine and keeps out web pages that try to use
// the proxy through a browser: by DNS rebinding (a foreign name in Host), by
// scripts (a foreign Origin), by images and the like (Sec-Fetch-Site), or by forms
// that change something, which only the own pages know how to send (token).
type guard struct {
	names   map[string]bool
	token   string // in the own forms; another one after each start
	refused tally.Tally
}

func newGuard(hosts []string) *guard {
	g := &guard{names: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true}, token: rand.Text()}
	for _, h := range hosts {
		g.names[hostOnly(h)] = true
	}
	return g
}

// refuse returns why a request is not served: the reason that is counted and a
// sentence for whoever asked. Both are empty if it is served.
func (g *guard) refuse(r *http.Request) (reason, text string) {
	if !g.knows(r.Host) && !reachedByAddress(r) {
		return whyName, fmt.Sprintf("This proxy does not answer to the name %q.\n"+
			"Use the address of its page, or start it with --host %s if the name is meant to work.",
			clip(r.Host), clip(hostOnly(r.Host)))
	}
	if o := r.Header.Get("Origin"); o != "" && !g.ownOrigin(o) {
		return whyScript, "This proxy serves readers, not scripts of other web pages."
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "no-cors" {
		return whyPart, "This proxy serves readers, not parts of other web pages."
	}
	return "", ""
}

// unasked tells that another site's page sent the browser here: a link that the
// user followed, or a window that a script opened. It may look, but a feed is
// not followed because of it.
func unasked(r *http.Request) bool {
	return crossSite(r) && r.Header.Get("Origin") == ""
}

func (g *guard) knows(host string) bool { return g.names[hostOnly(host)] }

// reachedByAddress tells that the client named the very address it is connected
// to, which no rebound name can do.
func reachedByAddress(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	named, err := netip.ParseAddr(hostOnly(r.Host))
	return err == nil && named.Unmap() == at.Addr().Unmap().WithZone("")
}

// ownOrigin admits the proxy's own pages and extensions of the browser, which
// are readers; "null" is nobody in particular.
func (g *guard) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return g.knows(u.Host)
	case "moz-extension", "chrome-extension", "safari-web-extension":
		return true
	}
	return false
}

// hostOnly returns the host of HOST or HOST:PORT, lower-case, without brackets
// or trailing dot.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
