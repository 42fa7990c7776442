package opml

import (
	"fmt"
	"unicode/utf8"
)

// Reason is why a list, or something in it, is not taken.
type Reason uint8

// The reasons: the first five are about a whole document, the others about an
// outline in it.
const (
	TooLarge Reason = iota + 1 // more than MaxBytes, or than 50,000 outlines
	Empty                      // nothing but white space
	WebPage                    // HTML
	IsFeed                     // a feed itself, not a list of feeds
	NotOPML                    // something else
	Include                    // another list
	NoURL                      // a feed without an address
	BadURL                     // an address that is none
)

// String returns the reason in a word or two.
func (r Reason) String() string {
	if r == 0 || r > BadURL {
		return "unknown reason"
	}
	return [...]string{"too large", "empty", "web page", "a feed", "not OPML", "another list", "no URL", "bad URL"}[r-1]
}

// Error says what is refused, why, and what to do.
type Error struct {
	Reason Reason
	Title  string // of the outline
	URL    string // as it stands there
	Err    error  // what lies under it, or nil
}

func (e *Error) Unwrap() error { return e.Err }

// Error returns a sentence for the owner of the list.
func (e *Error) Error() string {
	what := "an outline"
	if e.Title != "" {
		what = fmt.Sprintf("%q", clip(e.Title))
	}
	switch e.Reason {
	case TooLarge:
		return fmt.Sprintf("the list is too large: at most %d MiB and %d outlines are read; export it in parts", MaxBytes>>20, maxOutlines)
	case Empty:
		return "the file is empty; export the list of feeds from your reader again"
	case WebPage:
		return "this is a web page, not OPML: save the file behind the link, or look for \"Export\" in your reader"
	case IsFeed:
		return "this is a feed, not a list of feeds: add its address instead"
	case Include:
		return fmt.Sprintf("%s is another list, %s, which is not fetched: save it and import it, too", what, clip(e.URL))
	case NoURL:
		return what + " has no address: look for its feed on its site, and add that"
	case BadURL:
		return fmt.Sprintf("%s is left out: %v: correct the address, or add the right one by hand", what, e.Err)
	default:
		return fmt.Sprintf("this is not OPML, the format in which readers export their feeds (%v)", e.Err)
	}
}

const longest = 120 // characters of anything quoted

func clip(s string) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > longest {
			return s[:i] + "…"
		}
	}
	return s
}
