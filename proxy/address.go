package proxy

import (
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

// typed reads an address that a person typed, with or without a scheme.
func typed(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && !strings.Contains(s, ":/") {
		return "https://" + s
	}
	return s
}
