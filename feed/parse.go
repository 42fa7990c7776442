package feed

import (
	"fmt"
	"regexp"
	"strings"
)

// Parse reads a feed document of any format. contentType is the Content-Type it
// came with, or ""; only its charset is believed.
//
// Errors wrap ErrEmpty, ErrNotFeed (an *[HTMLPage] for a web page), ErrMalformed,
// ErrTooDeep or ErrTooMany. A feed that merely has no items is a feed: a new blog
// is worth following.
func Parse(doc []byte, contentType string) (*Feed, error) {
	var d defects
	text := decode(doc, contentType, &d)
	f, err := parseText(text, contentType, &d)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	f.Items = mergeVersions(f.Items, &d)
	if len(f.Items) == 0 {
		d.add("no items")
	}
	f.Defects = d.list
	return f, nil
}

func parseText(text, contentType string, d *defects) (*Feed, error) {
	body := strings.TrimSpace(text)
	switch {
	case body == "":
		return nil, fmt.Errorf("%w: nothing but white space in it", ErrEmpty)
	case body[0] == '{':
		return parseJSON(body, d)
	}
	kind, at := locate(body)
	switch kind {
	case "rss", "rdf":
		return parseRSS(body[at:], kind == "rdf", d)
	case "feed":
		return parseAtom(body[at:], d)
	case "html":
		return nil, &HTMLPage{Feeds: Discover([]byte(body), "")}
	case "":
		if strings.HasPrefix(strings.ToLower(contentType), "text/html") && strings.Contains(body, "<") {
			return nil, &HTMLPage{Feeds: Discover([]byte(body), "")}
		}
		return nil, fmt.Errorf("%w: begins with %s", ErrNotFeed, excerpt(body))
	}
	return nil, fmt.Errorf("%w: a document of <%s>, not of <rss>, <rdf:RDF> or <feed>", ErrNotFeed, excerptPlain(kind))
}

var (
	firstTag = regexp.MustCompile(`<(?:!(?:DOCTYPE|doctype|Doctype)\s+)?(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)`)
	feedTag  = regexp.MustCompile(`(?i)<(?:[a-z_][\w.-]*:)?(rss|rdf|feed)[\s>]`)
)

// locate finds the root element and its kind. What servers print in front of it
// (warnings, mostly) is skipped.
func locate(body string) (kind string, at int) {
	const window = 64 << 10
	head := withoutProlog(body)
	skipped := len(body) - len(head)
	head = head[:min(len(head), window)]
	first := firstTag.FindStringSubmatchIndex(head)
	if first == nil {
		return "", 0
	}
	name := strings.ToLower(head[first[2]:first[3]])
	doctype := strings.HasPrefix(head[first[0]:], "<!")
	if name == "html" {
		return "html", 0
	}
	if m := feedTag.FindStringSubmatchIndex(head); m != nil && !strings.Contains(strings.ToLower(head[:m[0]]), "<html") {
		return strings.ToLower(head[m[2]:m[3]]), skipped + m[0]
	}
	if doctype {
		return name, 0
	}
	switch name {
	case "head", "body", "title", "meta", "div", "p", "script", "table", "center", "h1":
		return "html", 0
	}
	if strings.Contains(strings.ToLower(head), "<html") {
		return "html", 0
	}
	return name, 0
}

// withoutProlog skips comments and processing instructions: feeds begin with
// long ones, and these may quote tags.
func withoutProlog(s string) string {
	for {
		s = strings.TrimLeft(s, " \t\n")
		terminator := ""
		switch {
		case strings.HasPrefix(s, "<!--"):
			terminator = "-->"
		case strings.HasPrefix(s, "<?"):
			terminator = "?>"
		default:
			return s
		}
		_, rest, ok := strings.Cut(s, terminator)
		if !ok {
			return s
		}
		s = rest
	}
}

// mergeVersions keeps one item of each key: the one with the later date, else the
// first. Feeds list an item twice after an edit, or give all items one guid; to a
// reader both are versions of one item.
func mergeVersions(items []Item, d *defects) []Item {
	at := make(map[string]int, len(items))
	out := items[:0]
	for _, it := range items {
		key := it.Key()
		i, twice := at[key]
		if !twice {
			at[key] = len(out)
			out = append(out, it)
			continue
		}
		if out[i].Hash() != it.Hash() {
			d.add("two different items with the same id %s", excerpt(key))
		}
		if newest(it).After(newest(out[i])) {
			out[i] = it
		}
	}
	return out
}
