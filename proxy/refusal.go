package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
)

// refuse answers with an error for people: plain text that no client takes for
// markup, whatever it quotes.
func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, strings.TrimSpace(text))
}

// badAddress explains how an address is put behind the proxy's own.
func (p *Proxy) badAddress(w http.ResponseWriter, rest string, err error) {
	refuse(w, http.StatusBadRequest, noAddress(rest, err)+fmt.Sprintf("\n\n"+
		"Put the feed's own address behind %s/feed/, like this:\n%[1]s/feed/https://example.org/feed.xml", p.base))
}

func noAddress(rest string, err error) string {
	return fmt.Sprintf("This is no address of a feed: %s\n%v", clip(rest), err)
}

// noFeed tells why a feed that the proxy never had cannot be served.
func (p *Proxy) noFeed(w http.ResponseWriter, url string, err error) {
	status, text := p.whyNot(url, err)
	w.Header().Set("X-FeedTree-State", "failure="+strconv.QuoteToASCII(clip(cause(url, err))))
	refuse(w, status, text)
}

// whyNot explains it, with what to do.
func (p *Proxy) whyNot(url string, err error) (status int, text string) {
	status, advice := diagnose(err)
	if found := p.announced(err); found != "" {
		advice = "That page announces:\n" + found
	}
	return status, fmt.Sprintf("The feed %s cannot be had.\n%s\n\n%s", clip(url), cause(url, err), advice)
}

// sorry refuses what somebody did on the page: on the page if it was a person, as
// plain text if it was a program.
func (p *Proxy) sorry(w http.ResponseWriter, r *http.Request, status int, text string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refuse(w, status, text)
		return
	}
	p.homeWith(w, r, status, notice{"bad", text, ""})
}

// cause is what an error says, without naming the feed again.
func cause(url string, err error) string {
	text := err.Error()
	for _, again := range []string{"subscribe to " + url + ": ", url + ": ", "feed: "} {
		text = strings.TrimPrefix(text, again)
	}
	return printable(text)
}

// announced lists the addresses here of the feeds that a web page announces.
func (p *Proxy) announced(err error) string {
	var page *feed.HTMLPage
	if !errors.As(err, &page) {
		return ""
	}
	var list strings.Builder
	for _, f := range page.Feeds {
		if addr, err := feed.Canonical(f.URL); err == nil {
			list.WriteString(p.base + "/feed/" + addr + "\n")
		}
	}
	return list.String()
}

// diagnose returns the status that says whose fault it is, and what to do. It is
// none of 429 and 5xx, whatever the origin did: readers leave a whole host alone
// for these, and here all feeds share one.
func diagnose(err error) (status int, advice string) {
	var failed *fetch.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusFailedDependency, "The site did not answer in time. It will be asked again when your reader asks again."
	case errors.Is(err, feed.ErrNotFeed), errors.Is(err, feed.ErrEmpty), errors.Is(err, feed.ErrMalformed),
		errors.Is(err, feed.ErrTooDeep), errors.Is(err, feed.ErrTooMany):
		return http.StatusUnprocessableEntity, "Check the address: look for a link named RSS, Atom or feed on the site."
	case !errors.As(err, &failed):
		return http.StatusFailedDependency, "It will be asked again when your reader asks again."
	}
	switch {
	case failed.Status == http.StatusNotFound || failed.Status == http.StatusGone:
		return http.StatusNotFound, "Check the address: the site says that there is nothing there."
	case failed.Reason == fetch.Refused:
		return http.StatusForbidden, "A public name must not lead into a private network."
	}
	return http.StatusFailedDependency, "It will be asked again, after a pause, when your reader asks again."
}

const longest = 300 // characters of anything quoted to people

// clip shortens what is quoted, and makes it printable.
func clip(s string) string {
	s = printable(s)
	if n := 0; len(s) > longest {
		for i := range s {
			if n++; n > longest {
				return s[:i] + "…"
			}
		}
	}
	return s
}

// printable keeps control characters out of answers and headers.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return '\uFFFD'
	}, s)
}
