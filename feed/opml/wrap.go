package opml

import (
	"net/url"
	"slices"
	"strings"

	"github.com/feedtree/feedtree/feed"
)

// forms are the first path segments under which a proxy serves feeds. Wrap writes
// the first. Package proxy has the same ones.
var forms = []string{"feed", "rss", "atom", "json"}

// Wrap returns the list with each feed behind a proxy, whose own address base is:
// http://127.0.0.1:8089, say. What is there already, and what is no address of a
// feed, is left as it is. The list given is not changed.
func Wrap(l *List, base string) *List {
	return l.readdressed(func(addr string) string {
		if _, ok := behind(addr, base); ok || check(Feed{URL: addr}) != nil {
			return addr
		}
		return strings.TrimSuffix(base, "/") + "/" + forms[0] + "/" + addr
	})
}

// Unwrap returns the list with the feeds' own addresses. A proxy on this machine
// is known by any of its names, 127.0.0.1, localhost and [::1].
func Unwrap(l *List, base string) *List {
	return l.readdressed(func(addr string) string {
		if own, ok := behind(addr, base); ok {
			return own
		}
		return addr
	})
}

// readdressed returns a copy with the addresses of feeds changed.
func (l *List) readdressed(change func(string) string) *List {
	c := *l
	c.Outlines = readdressed(l.Outlines, change)
	return &c
}

func readdressed(list []Outline, change func(string) string) []Outline {
	list = slices.Clone(list)
	for i := range list {
		o := &list[i]
		o.Attrs = slices.Clone(o.Attrs)
		if at := o.place(); at != nil && o.include() == "" {
			at.Value = change(strings.TrimSpace(at.Value))
		}
		o.Outlines = readdressed(o.Outlines, change)
	}
	return list
}

// behind returns the feed's own address if addr is that of a proxy and what it
// serves.
func behind(addr, base string) (own string, ok bool) {
	scheme, rest, ok := strings.Cut(addr, "://")
	proxyScheme, proxy, _ := strings.Cut(strings.TrimSuffix(base, "/"), "://")
	if !ok || !strings.EqualFold(scheme, proxyScheme) {
		return "", false
	}
	host, path, _ := strings.Cut(rest, "/")
	proxyHost, under, _ := strings.Cut(proxy, "/")
	if sameMachine(host) != sameMachine(proxyHost) {
		return "", false
	}
	if under != "" {
		if path, ok = strings.CutPrefix(path, under+"/"); !ok {
			return "", false
		}
	}
	form, rest, _ := strings.Cut(path, "/")
	if !slices.Contains(forms, form) || rest == "" {
		return "", false
	}
	if before, _, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(before, "/?%") {
		return rest, true // as it was wrapped
	}
	own, err := feed.Embedded(rest)
	return own, err == nil
}

// sameMachine writes the names of the loopback interface as one.
func sameMachine(host string) string {
	u := url.URL{Host: strings.ToLower(host)}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return "localhost:" + u.Port()
	}
	return u.Host
}
