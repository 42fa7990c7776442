package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"

	"github.com/feedtree/feedtree/feed"
)

// door is the only way out: it decides which addresses are dialled.
type door struct {
	overrides map[string]string // host:port → address:port
	allowed   map[string]bool   // hosts that may have private addresses
	guarded   net.Dialer
	open      net.Dialer
}

const dialTimeout = 10 * time.Second

var errPort = errors.New("a port of another protocol")

func (d *door) init(resolve, allowPrivate []string) error {
	d.overrides = make(map[string]string)
	for _, entry := range resolve {
		from, to, err := parseResolve(entry)
		if err != nil {
			return fmt.Errorf("resolve %q: %w", entry, err)
		}
		d.overrides[from] = to
	}
	d.allowed = make(map[string]bool)
	for _, host := range allowPrivate {
		d.allowed[asciiHost(host)] = true
	}
	guardian := ssrf.New(ssrf.WithAnyPort())
	d.open = net.Dialer{Timeout: dialTimeout}
	d.guarded = net.Dialer{Timeout: dialTimeout, Control: guardian.Safe}
	return nil
}

// dial connects to a host by name, as the transport asks.
func (d *door) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if to, ok := d.overrides[net.JoinHostPort(asciiHost(host), port)]; ok {
		return d.open.DialContext(ctx, network, to)
	}
	// A host that is private by its name got past admit: it is meant.
	if d.allowed[asciiHost(host)] || privateHost(&url.URL{Host: address}) != "" {
		return d.open.DialContext(ctx, network, address)
	}
	// Below 1024 other protocols live; some of their servers act on a GET.
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n < 1024 && n != 80 && n != 443 {
		return nil, errPort
	}
	return d.guarded.DialContext(ctx, network, address)
}

// exempt reports whether a URL's host was named by the user as one that may be
// private.
func (d *door) exempt(u *url.URL) bool {
	host := asciiHost(u.Hostname())
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	_, ok := d.overrides[net.JoinHostPort(host, port)]
	return ok || d.allowed[host]
}

// privateHost says why a URL's host cannot be on the public internet, or "".
func privateHost(u *url.URL) string {
	_, why := feed.Public("http://" + asciiAuthority(u) + "/")
	return why
}

func asciiAuthority(u *url.URL) string {
	host := asciiHost(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	return host
}

// asciiHost is a host as connections and overrides are keyed.
func asciiHost(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// parseResolve reads HOST:PORT:ADDR and HOST:PORT:ADDR:PORT.
func parseResolve(entry string) (from, to string, err error) {
	host, rest, _ := strings.Cut(entry, ":")
	port, addr, ok := strings.Cut(rest, ":")
	if !ok || host == "" {
		return "", "", errors.New("want HOST:PORT:ADDR, an IPv6 ADDR in brackets")
	}
	if err := checkPort(port); err != nil {
		return "", "", err
	}
	ip, toPort, err := addressAndPort(addr, port)
	if err != nil {
		return "", "", err
	}
	return net.JoinHostPort(asciiHost(host), port), net.JoinHostPort(ip.String(), toPort), nil
}

// addressAndPort reads ADDR or ADDR:PORT.
func addressAndPort(s, port string) (netip.Addr, string, error) {
	text, rest, more := strings.Cut(s, ":")
	bracketed := strings.HasPrefix(s, "[")
	if bracketed {
		var closed bool
		text, rest, closed = strings.Cut(s[1:], "]")
		rest, more = strings.CutPrefix(rest, ":")
		if !closed || !more && rest != "" {
			text = ""
		}
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || bracketed != ip.Is6() {
		return ip, "", fmt.Errorf("%q is no IP address; an IPv6 one stands in brackets", s)
	}
	if more {
		port = rest
	}
	return ip, port, checkPort(port)
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is no port", port)
	}
	return nil
}
