package feed

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

const maxDiscovered = 16

// Link is a feed as a web page announces it.
type Link struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Type  string `json:"type,omitempty"` // media type, as the page says
}

// Discover returns the feeds that a web page announces by
// <link rel="alternate">, in page order, absolute if base is the page's URL.
func Discover(page []byte, base string) []Link {
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(1 << 20)
	var found []Link
	for len(found) < maxDiscovered {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		name, more := z.TagName()
		if !more || string(name) != "link" && string(name) != "base" {
			continue
		}
		attrs := tagAttrs(z)
		href := strings.TrimSpace(attrs["href"])
		switch {
		case href == "":
		case string(name) == "base":
			base = resolve(base, href)
		case announcesFeed(attrs):
			l := Link{URL: resolve(base, href), Title: trimSpace(attrs["title"]), Type: mediaOf(attrs)}
			if !slices.ContainsFunc(found, func(other Link) bool { return other.URL == l.URL }) {
				found = append(found, l)
			}
		}
	}
	return found
}

func tagAttrs(z *html.Tokenizer) map[string]string {
	attrs := map[string]string{}
	for range maxAttrs {
		key, value, more := z.TagAttr()
		if _, twice := attrs[string(key)]; !twice {
			attrs[string(key)] = string(value)
		}
		if !more {
			break
		}
	}
	return attrs
}

func announcesFeed(attrs map[string]string) bool {
	rel := strings.Fields(strings.ToLower(attrs["rel"]))
	if slices.Contains(rel, "feed") {
		return true
	}
	if !slices.Contains(rel, "alternate") || slices.Contains(rel, "stylesheet") {
		return false
	}
	switch mediaOf(attrs) {
	case "application/rss+xml", "application/atom+xml", "application/feed+json",
		"application/rdf+xml", "application/xml", "text/xml", "application/rss", "application/atom":
		return true
	case "application/json":
		// WordPress announces its REST API like this, too.
		return !strings.Contains(attrs["href"], "/wp-json/")
	}
	return false
}

func mediaOf(attrs map[string]string) string {
	media, _, _ := strings.Cut(strings.ToLower(attrs["type"]), ";")
	return strings.TrimSpace(media)
}
