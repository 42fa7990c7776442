package feed

import (
	"errors"
	"fmt"
	"strings"
)

// What Parse answers when there is no feed to be had. Test with errors.Is; the
// message of the wrapping error says what was found instead and where.
var (
	ErrNotFeed   = errors.New("not a feed")
	ErrEmpty     = errors.New("empty document")
	ErrMalformed = errors.New("malformed feed")
	ErrTooDeep   = errors.New("elements nested too deeply")
	ErrTooMany   = errors.New("too many elements")
)

// HTMLPage is the error of Parse for a web page where a feed was expected. It
// wraps ErrNotFeed.
type HTMLPage struct {
	// Feeds are the feeds that the page announces, in page order, as written
	// there: a caller that knows the page's URL gets absolute ones by [Discover].
	Feeds []Link
}

func (p *HTMLPage) Error() string {
	if len(p.Feeds) == 0 {
		return "not a feed: a web page that announces no feed"
	}
	urls := make([]string, len(p.Feeds))
	for i, f := range p.Feeds {
		urls[i] = f.URL
	}
	return "not a feed: a web page; it announces " + strings.Join(urls, " and ")
}

func (p *HTMLPage) Unwrap() error { return ErrNotFeed }

const (
	maxDepth    = 100
	maxItems    = 10_000
	maxElements = 150_000 // elements remembered in one scan, not elements seen
	maxAttrs    = 256     // of one element
	maxPrefixes = 256     // used by an element and declared outside it
	maxDefects  = 16
)

// defects collects what people should know about a document, each kind once.
type defects struct{ list []string }

func (d *defects) add(format string, args ...any) {
	if len(d.list) >= maxDefects {
		return
	}
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	for _, have := range d.list {
		if have == s {
			return
		}
	}
	d.list = append(d.list, s)
}

// excerpt quotes the beginning of what was found, short and printable.
func excerpt(s string) string {
	s = trimSpace(s)
	if short := excerptPlain(s); short != s {
		return fmt.Sprintf("%q…", short)
	}
	return fmt.Sprintf("%q", s)
}

func excerptPlain(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), 40)], "")
}

// trimSpace takes off what XML calls white space, and nothing else.
func trimSpace(s string) string { return strings.Trim(s, " \t\r\n") }
