package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
)

const newsURL = "http://news.example/feed.xml"

// asker polls one document of a world, and keeps its state.
type asker struct {
	*Client
	t     *testing.T
	w     *world
	state polite.State
	sent  []*http.Request
}

// asking makes a world of one site and a client in it.
func asking(t *testing.T, answer temper) *asker {
	t.Helper()
	w := newWorld(io.Discard)
	w.add("news.example", answer, 1)
	c := newClient(t, Config{})
	c.transport, c.now = w, func() time.Time { return w.now }
	a := &asker{Client: c, t: t, w: w}
	w.before = func(r *http.Request) { a.sent = append(a.sent, r) }
	return a
}

// poll asks when it may, and moves the clock there.
func (a *asker) poll(accept func(*Result) (time.Duration, error)) (Outcome, error) {
	if a.state.NotBefore.After(a.w.now) {
		a.w.now = a.state.NotBefore
	}
	a.sent = nil
	out, err := a.Poll(context.Background(), Feed{URL: newsURL, State: a.state, Delta: !a.state.Asked.IsZero()}, accept)
	a.state = out.State
	return out, err
}

func (a *asker) must(accept func(*Result) (time.Duration, error)) Outcome {
	a.t.Helper()
	out, err := a.poll(accept)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *asker) paths() (list []string) {
	for _, r := range a.sent {
		list = append(list, r.URL.String())
	}
	return list
}

// A body that was seen goes no further, but its validators are the latest.
func TestUnchangedBodyGoesNoFurther(t *testing.T) {
	body := "<rss/>"
	a := asking(t, func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		h.Set("ETag", fmt.Sprint(s.served))
		return 200, body
	})
	accepted := 0
	accept := func(*Result) (time.Duration, error) { accepted++; return 0, nil }
	for n, want := range []bool{false, true, true} {
		if out := a.must(accept); out.Result.Unchanged != want || a.state.Validators.ETag != fmt.Sprint(n) {
			t.Errorf("answer %d: unchanged %v, validators %+v", n, out.Result.Unchanged, a.state.Validators)
		}
	}
	body = "<rss></rss>"
	if out := a.must(accept); out.Result.Unchanged || accepted != 2 {
		t.Errorf("a new body: unchanged %v, %d accepted", out.Result.Unchanged, accepted)
	}
}

// What is no feed is an error with the cause in it, and is not remembered in the
// place of one.
func TestNoFeedChangesNothing(t *testing.T) {
	body := "<rss/>"
	a := asking(t, func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		h.Set("ETag", body)
		return 200, body
	})
	parse := func(r *Result) (time.Duration, error) {
		if string(r.Body) != "<rss/>" {
			return 0, feed.ErrNotFeed
		}
		return 0, nil
	}
	a.must(parse)
	held := a.state
	body = "<html>sorry</html>"
	out, err := a.poll(parse)
	var failed *Error
	if !errors.As(err, &failed) || failed.Reason != Content || !errors.Is(err, feed.ErrNotFeed) || out.Result != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if a.state.Validators != held.Validators || a.state.Body != held.Body || a.state.Trouble != (polite.Trouble{Reason: "content", Fails: 1}) {
		t.Errorf("remembered: %+v", a.state)
	}
	body = "<rss/>"
	if out := a.must(parse); !out.Result.Unchanged || a.state.Trouble != (polite.Trouble{}) {
		t.Errorf("the feed is back: %+v, %+v", out.Result, a.state.Trouble)
	}
}

// Two polls meet the permanent redirect, the third goes where it leads; when that
// fails, the next one asks at the old place again.
func TestPermanentRedirectIsRemembered(t *testing.T) {
	gone := false
	a := asking(t, func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		switch {
		case r.URL.Path == "/feed.xml":
			h.Set("Location", "/new.xml")
			return 301, ""
		case gone:
			return 404, ""
		}
		return s.conditional(r, h, `"1"`, "", "")
	})
	const to = "http://news.example/new.xml"
	for n, want := range [][]string{{newsURL, to}, {newsURL, to}, {to}, {to}} {
		a.must(nil)
		if got := a.paths(); !slices.Equal(got, want) {
			t.Errorf("poll %d asked %q, want %q", n, got, want)
		}
	}
	gone = true
	if _, err := a.poll(nil); err == nil || !slices.Equal(a.paths(), []string{to}) {
		t.Errorf("%v, asked %q", err, a.paths())
	}
	gone = false
	a.must(nil)
	if got := a.paths(); !slices.Equal(got, []string{newsURL, to}) {
		t.Errorf("after the failure it asked %q", got)
	}
}

// Validators are for the URL they came from: one that redirects never gave any.
func TestValidatorsGoWhereTheyCameFrom(t *testing.T) {
	a := asking(t, func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		if r.URL.Path == "/feed.xml" {
			h.Set("Location", "/today.xml")
			h.Set("ETag", `"of the redirect"`)
			return 302, ""
		}
		return s.conditional(r, h, `"1"`, "", "")
	})
	a.must(nil)
	if out := a.must(nil); !out.Result.NotModified {
		t.Errorf("%+v", out.Result)
	}
	if sent := a.sent[0].Header.Get("If-None-Match"); sent != "" {
		t.Errorf("the redirect was told %s", sent)
	}
	if sent := a.sent[1].Header.Get("If-None-Match"); sent != `"1"` {
		t.Errorf("the document was told %s", sent)
	}
}

// RFC 3229 and the feed manipulation: only what is new comes, if it was asked for.
func TestDelta(t *testing.T) {
	im := "feed"
	a := asking(t, func(w *world, s *site, r *http.Request, h http.Header) (int, string) {
		h.Set("ETag", fmt.Sprint(s.served))
		if strings.Contains(r.Header.Get("A-IM"), "feed") && r.Header.Get("If-None-Match") != "" {
			h.Set("IM", im)
			return 226, `<rss version="2.0"><channel><title>T</title><item><guid>2</guid></item><item><guid>1</guid><title>Better</title></item></channel></rss>`
		}
		return 200, `<rss version="2.0"><channel><title>T</title><item><guid>1</guid></item><item><guid>0</guid></item></channel></rss>`
	})
	first := a.must(nil)
	if first.Result.Delta || a.sent[0].Header.Get("A-IM") != "" {
		t.Errorf("a delta to nothing: %+v", first.Result)
	}
	second := a.must(nil)
	if !second.Result.Delta || second.Answer.Kind != polite.Delta || a.state.Validators.ETag != "1" {
		t.Errorf("%+v, %+v", second.Result, a.state.Validators)
	}
	held, err1 := feed.Parse(first.Result.Body, "")
	delta, err2 := feed.Parse(second.Result.Body, "")
	whole, err3 := Merge(held, delta)
	merged, err4 := feed.Parse(whole, "")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range merged.Items {
		got = append(got, it.GUID+it.Title)
	}
	if !slices.Equal(got, []string{"2", "1Better", "0"}) {
		t.Errorf("merged: %q", got)
	}
	im = "diffe"
	var failed *Error
	if _, err := a.poll(nil); !errors.As(err, &failed) || failed.Status != 226 {
		t.Errorf("a manipulation that was not asked for: %v", err)
	}
	if _, err := a.Get(context.Background(), Request{URL: newsURL, Validators: Validators{ETag: "1"}}); err != nil {
		t.Error(err)
	}
	if sent := a.sent[len(a.sent)-1].Header.Get("A-IM"); sent != "" {
		t.Errorf("A-IM: %s, without what it would add to", sent)
	}
}

// What a document asks of those who poll it, as RSS 2.0 and the syndication module
// say it.
func TestWishes(t *testing.T) {
	const open = `<?xml version="1.0"?><rss version="2.0" xmlns:x="http://purl.org/rss/1.0/modules/syndication/"><channel>`
	const night = 1<<22 | 1<<23 | 1<<0
	for doc, want := range map[string]polite.Wishes{
		"":                                       {},
		"no XML at all":                          {},
		open + "<ttl>60</ttl>":                   {TTL: time.Hour},
		open + "<ttl> 60\n</ttl>":                {TTL: time.Hour},
		open + "<ttl>soon</ttl>":                 {},
		open + "<ttl>-60</ttl>":                  {},
		open + "<ttl>99999999999999999999</ttl>": {},
		open + "<ttl>525600</ttl>":               {TTL: 24 * time.Hour},
		open + "<image><ttl>60</ttl></image>":    {},
		open + "<item><ttl>60</ttl></item>":      {},
		open + "<item></item><ttl>60</ttl>":      {},
		open + "<skipHours><hour>22</hour><hour>23</hour><hour>24</hour></skipHours>": {Hours: night},
		open + "<skipHours><hour>25</hour><hour>-1</hour><hour>x</hour></skipHours>":  {},
		open + "<hour>3</hour>": {},
		open + "<skipDays><day>Sunday</day><day>saturday</day><day>Someday</day></skipDays>":                                               {Days: 1<<0 | 1<<6},
		open + "<x:updatePeriod>hourly</x:updatePeriod>":                                                                                   {Period: time.Hour},
		open + "<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>4</x:updateFrequency>":                                            {Period: 6 * time.Hour},
		open + "<x:updateFrequency>2</x:updateFrequency><x:updatePeriod>Hourly</x:updatePeriod>":                                           {Period: 30 * time.Minute},
		open + "<x:updatePeriod>daily</x:updatePeriod><x:updateFrequency>0</x:updateFrequency>":                                            {Period: 24 * time.Hour},
		open + "<x:updatePeriod>yearly</x:updatePeriod>":                                                                                   {Period: 24 * time.Hour},
		open + "<x:updatePeriod>always</x:updatePeriod>":                                                                                   {},
		open + "<updatePeriod>daily</updatePeriod>":                                                                                        {},
		`<feed xmlns="http://www.w3.org/2005/Atom" xmlns:sy="` + syndication + `"><sy:updatePeriod>daily</sy:updatePeriod><entry/></feed>`: {Period: 24 * time.Hour},
		open + "<title>A & B <b></title><ttl>60</ttl>":                                                                                     {TTL: time.Hour},
		strings.Repeat("<a>", 100_000):                                                                                                     {},
		strings.Repeat("</a>", 1000):                                                                                                       {},
	} {
		if got := readWishes([]byte(doc)); got != want {
			t.Errorf("%.120s: %+v, want %+v", doc, got, want)
		}
	}
}

// The wishes of the document, and what only the caller can read in it, hold for the
// next poll.
func TestWishesAreObeyed(t *testing.T) {
	a := asking(t, saying("<ttl>120</ttl>"))
	for _, c := range []struct{ apart, want time.Duration }{{0, 2 * time.Hour}, {5 * time.Hour, 5 * time.Hour}} {
		a.state = polite.State{}
		out := a.must(func(*Result) (time.Duration, error) { return c.apart, nil })
		if wait := out.State.NotBefore.Sub(a.w.now); wait < c.want || wait > c.want+c.want/20 {
			t.Errorf("polled again after %v, want %v", wait, c.want)
		}
	}
}
