package proxy

import (
	"errors"
	"net/url"
	"strings"

	"github.com/feedtree/feedtree/feed"
)

// own stands for the family of formats that the feed itself is written in.
const own feed.Format = 0

// forms are the first path segments under which documents are served.
var forms = map[string]feed.Format{
	"feed": own,
	"rss":  feed.RSS,
	"atom": feed.Atom,
	"json": feed.JSONFeed,
}

// split takes a request target apart: "/atom/https://example.org/x?y" is a
// document in Atom, and the rest names the feed. Targets are taken as they came
// over the wire: a URL in a path does not survive any cleaning of paths.
func split(target string) (format feed.Format, rest string, ok bool) {
	word := strings.TrimPrefix(target, "/")
	end := strings.IndexAny(word, "/?")
	if end < 0 {
		end = len(word)
	}
	format, ok = forms[word[:end]]
	return format, strings.TrimPrefix(word[end:], "/"), ok
}

var errNoScheme = errors.New("it has no scheme: put https:// or http:// in front")

// address undoes what clients do to a URL inside a URL: some send it as it is,
// some collapse its "//", some percent-encode it, all of it or all but its
// slashes, or only its colon. An encoded slash beside plain ones is the URL's
// own, hence so is everything else that is encoded.
func address(rest string) (string, error) {
	path, query, asked := strings.Cut(rest, "?")
	if scheme, tail, ok := cutEncodedColon(path); ok {
		path = scheme + ":" + tail
		if hasPrefixFold(tail, "%2f") || !strings.Contains(strings.ToLower(tail), "%2f") {
			decoded, err := url.PathUnescape(path)
			if err != nil {
				return "", err
			}
			path = decoded
		}
	}
	if asked {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + query
	}
	return withSlashes(path)
}

// cutEncodedColon splits "https%3A…" at its encoded colon.
func cutEncodedColon(path string) (scheme, tail string, ok bool) {
	i := strings.IndexByte(path, '%')
	if i < 0 || !isScheme(path[:i]) || !hasPrefixFold(path[i:], "%3a") {
		return "", "", false
	}
	return path[:i], path[i+3:], true
}

// withSlashes puts back the "//" of a URL, and reads feed: as readers do:
// feed:https://… is that address, feed://… is plain http.
func withSlashes(addr string) (string, error) {
	scheme, tail, ok := strings.Cut(addr, ":")
	if !ok || !isScheme(scheme) {
		return "", errNoScheme
	}
	if strings.EqualFold(scheme, "feed") {
		if strings.HasPrefix(tail, "/") {
			return withSlashes("http:" + tail)
		}
		return withSlashes(tail)
	}
	if strings.HasPrefix(tail, "/") && !strings.HasPrefix(tail, "//") {
		tail = "/" + tail
	}
	return scheme + ":" + tail, nil
}

func isScheme(s string) bool {
	switch strings.ToLower(s) {
	case "http", "https", "feed":
		return true
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// typed reads an address that a person typed, with or without a scheme.
func typed(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.Contains(s, ":/") {
		return "https://" + s
	}
	return s
}
