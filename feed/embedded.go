package feed

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

var errNoScheme = errors.New("it has no scheme: put https:// or http:// in front")

// Embedded undoes what clients do to a feed's URL that stands behind another
// address, as in http://127.0.0.1:8089/feed/URL: some send it as it is, some
// collapse its "//", some percent-encode it, all of it or all but its slashes, or
// only its colon. An encoded slash beside plain ones is the URL's own, hence so is
// everything else that is encoded. The scheme feed: is read as readers do:
// feed:https://… is that address, feed://… is plain http.
//
// What it returns is an address, not yet the feed's [Canonical] one.
func Embedded(rest string) (string, error) {
	path, query, asked := strings.Cut(rest, "?")
	if scheme, tail, ok := cutEncodedColon(path); ok {
		path = scheme + ":" + tail
		if hasPrefixFold(tail, "%2f") || !strings.Contains(strings.ToLower(tail), "%2f") {
			decoded, err := url.PathUnescape(path)
			if err != nil {
				return "", fmt.Errorf("%w: %v", ErrURL, err)
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

// withSlashes puts back the "//" of a URL, and takes feed: away.
func withSlashes(addr string) (string, error) {
	scheme, tail, ok := strings.Cut(addr, ":")
	if !ok || !isScheme(scheme) {
		return "", fmt.Errorf("%w: %w", ErrURL, errNoScheme)
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
