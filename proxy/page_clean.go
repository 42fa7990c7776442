package proxy

import (
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"

	"github.com/feedtree/feedtree/feed"
)

// mostShown is how much of an item's content the page shows.
const mostShown = 1 << 20

// allowed are the elements of an item that the page shows: text, and nothing that
// runs, loads, sends or covers anything.
var allowed = []string{
	"p", "br", "wbr", "hr", "div", "span", "h1", "h2", "h3", "h4", "h5", "h6",
	"b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "q", "cite", "dfn", "abbr",
	"code", "kbd", "samp", "var", "pre", "blockquote", "ul", "ol", "li", "dl", "dt", "dd",
	"table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th", "figure", "figcaption",
	"bdi", "bdo", "ruby", "rt", "rp", "time", "section", "article", "aside",
}

// cleaner is the allow-list, made when the first item is looked at.
var cleaner = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(allowed...)
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("mailto")
	p.AllowURLSchemeWithCustomPolicy("http", elsewhere)
	p.AllowURLSchemeWithCustomPolicy("https", elsewhere)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	p.AllowAttrs("colspan", "rowspan").Matching(bluemonday.Integer).OnElements("td", "th")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("dir").Matching(regexp.MustCompile(`^(ltr|rtl|auto)$`)).Globally()
	return p
})

// elsewhere reports whether an address names a host. To browsers http:/path is a
// place on the host of the page, which is this proxy.
func elsewhere(u *url.URL) bool { return u.Host != "" }

// clean returns what of a piece of HTML is safe to show.
func clean(markup string) string {
	if len(markup) > mostShown {
		markup = markup[:mostShown]
	}
	return cleaner().Sanitize(described(markup))
}

// described puts what is said of a picture in its place: the page asks nobody for
// anything, so it shows none.
func described(markup string) string {
	var out strings.Builder
	for tokens := html.NewTokenizer(strings.NewReader(markup)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		raw := string(tokens.Raw())
		if name, more := tokens.TagName(); string(name) != "img" || kind == html.EndTagToken {
			out.WriteString(raw)
			continue
		} else if alt := description(tokens, more); alt != "" {
			out.WriteString(" <i>[picture: " + html.EscapeString(alt) + "]</i> ")
		}
	}
}

func description(tokens *html.Tokenizer, more bool) (alt string) {
	for more {
		var key, value []byte
		if key, value, more = tokens.TagAttr(); string(key) == "alt" {
			alt = strings.TrimSpace(string(value))
		}
	}
	return alt
}

// bodyOf is an item's text as safe HTML: its content or else its summary.
func bodyOf(it feed.Item) string {
	text, plain := it.Content, it.Also.PlainContent
	if text == "" {
		text, plain = it.Summary, it.Also.PlainSummary
	}
	if plain {
		return "<pre>" + html.EscapeString(text[:min(len(text), mostShown)]) + "</pre>"
	}
	return clean(text)
}
