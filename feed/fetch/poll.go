package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/url"
	"time"

	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// Feed is a document that is polled, and what is known of it.
type Feed struct {
	URL   string
	Local bool // its host may be one that is private by its name or address
	Delta bool // the version held is at hand, so what is new since is enough (RFC 3229)
	State polite.State
}

// Outcome is what a poll came to.
type Outcome struct {
	Result *Result       // nil after an error
	Host   string        // who answered, or did not
	State  polite.State  // to be kept, whatever came; its NotBefore is when to poll again
	Answer polite.Answer // for the pace of the host
}

// Poll asks for a document as its state says, and says when it may be asked for
// again. It does not look whether it may be asked for now: that is the caller's to
// do, who knows when to look again.
//
// A body that is not that of the last answer is given to accept, which says
// whether it is a feed, and how far apart its polls are to be if it says so in words
// that are not read here. What is no feed changes no validators. A nil accept
// takes everything. Every error is an *Error, and Outcome is valid beside it.
func (c *Client) Poll(ctx context.Context, f Feed, accept func(*Result) (apart time.Duration, err error)) (Outcome, error) {
	target := f.State.Target(f.URL)
	held := f.State.Validators
	result, err := c.Get(ctx, Request{
		URL: target, Validators: Validators{held.ETag, held.LastModified}, From: held.From, Local: f.Local, Delta: f.Delta,
	})
	var answer polite.Answer
	if err == nil {
		if answer, err = judge(result, f.State, accept); err != nil {
			err = &Error{Reason: Content, URL: result.URL, RetryAfter: result.RetryAfter, Err: err}
		}
	}
	at := ""
	if err == nil {
		at = result.URL
	} else {
		result, answer, at = nil, failure(err), urlOf(err)
	}
	state, _ := c.config.Rules.Next(f.State, answer, c.now())
	return Outcome{result, hostOf(at), state, answer}, err
}

// judge says what a result amounts to.
func judge(r *Result, held polite.State, accept func(*Result) (time.Duration, error)) (polite.Answer, error) {
	a := polite.Answer{
		Kind: polite.Document, Status: r.Status, Moved: r.Moved,
		Validators: polite.Validators{ETag: r.Validators.ETag, LastModified: r.Validators.LastModified, From: r.URL},
		Fresh:      r.MaxAge, SaysFresh: r.SaysFresh, RetryAfter: r.RetryAfter,
	}
	switch {
	case r.NotModified:
		a.Kind = polite.Same
		return a, nil
	case r.Delta:
		a.Kind = polite.Delta
	}
	a.Body = hash(r.Body)
	if r.Unchanged = !r.Delta && a.Body == held.Body; r.Unchanged {
		return a, nil
	}
	wishes := readWishes(r.Body)
	a.Wishes = &wishes
	if accept == nil {
		return a, nil
	}
	apart, err := accept(r)
	wishes.TTL = max(wishes.TTL, apart)
	return a, err
}

// hash tells bodies apart.
func hash(body []byte) (short [16]byte) {
	sum := sha256.Sum256(body)
	copy(short[:], sum[:])
	return short
}

// failure says what an error amounts to.
func failure(err error) polite.Answer {
	var e *Error
	if !errors.As(err, &e) {
		return polite.Answer{Kind: polite.Broken, Reason: err.Error()}
	}
	a := polite.Answer{Kind: polite.Broken, Status: e.Status, Reason: e.Word(), RetryAfter: e.RetryAfter}
	switch e.Reason {
	case Status:
		a.Kind = polite.Refused
	case DNS, Connect:
		a.Kind = polite.Unreached
	case Canceled, Paused:
		a.Kind = polite.Abandoned
	}
	return a
}

func urlOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.URL
	}
	return ""
}

// Hosts names the hosts that a poll of the document will ask, as far as is known:
// the one of its URL, and the one that answered last. Local ones are not named:
// nobody but their owner bears the load, and what is wrong with one feed there is
// not wrong with the others.
func (f Feed) Hosts() []string {
	if f.Local {
		return nil
	}
	first := hostOf(f.State.Target(f.URL))
	if last := hostOf(f.State.Validators.From); last != "" && last != first {
		return []string{first, last}
	}
	return []string{first}
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	host := asciiHost(u.Hostname())
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return host
}
