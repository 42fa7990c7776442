package score

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Judge takes the entries of a log, in order, and holds clients to the criteria.
// The zero value is ready.
type Judge struct {
	clients map[string]*client
}

// Card is one client's score.
type Card struct {
	Client    string // address
	Agent     string // as it last called itself
	Requests  int
	Documents int
	Bytes     int64 // that it was sent
	Verdicts  [count]Verdict
}

// Passed returns how many criteria are passed.
func (c Card) Passed() (n int) {
	for _, v := range c.Verdicts {
		if v.Outcome == Pass {
			n++
		}
	}
	return n
}

type client struct {
	card   Card
	full   bool // all its entries have all headers
	docs   map[string]*document
	hosts  map[string]*site
	faults [count]fault
}

type fault struct {
	count int
	first string
}

// site is a host as one client uses it.
type site struct {
	recent []time.Time // requests for documents known before, of the last seconds
	until  time.Time   // Retry-After of a 429
}

// document is one as one client asks for it.
type document struct {
	first, last   time.Time
	status        int       // of the last answer
	subscribed    bool      // the first request was unconditional
	etag, changed string    // current, as the last answer has it
	served        []string  // all that ever came, the latest last
	validators    bool      // the origin ever gave some
	feed          bool      // it came as something other than a web page
	wholeAt       time.Time // the last unconditional request that brought the document
	fresh         time.Time // the last answer is, until then
	said          bool      // its answers say how long they are fresh
	until         time.Time // Retry-After
	gone          bool
}

const mostServed = 64 // validators of a document that are remembered

// Add takes the next entry. Requests that are neither GET nor HEAD are no polls.
func (j *Judge) Add(e Entry) {
	if e.Method != http.MethodGet && e.Method != http.MethodHead {
		return
	}
	if j.clients == nil {
		j.clients = map[string]*client{}
	}
	agent := e.Request.Get("User-Agent")
	program, _, _ := strings.Cut(agent, "/")
	key := e.Client + " " + program
	c := j.clients[key]
	if c == nil {
		c = &client{card: Card{Client: e.Client}, full: true, docs: map[string]*document{}, hosts: map[string]*site{}}
		j.clients[key] = c
	}
	c.full = c.full && e.Full
	c.card.Agent = cmp.Or(agent, c.card.Agent)
	c.card.Requests++
	c.card.Bytes += e.Bytes
	c.add(e)
}

// Cards returns the scores, the client with the most requests first.
func (j *Judge) Cards() []Card {
	var cards []Card
	for _, c := range j.clients {
		c.card.Documents = len(c.docs)
		for i := range c.card.Verdicts {
			c.card.Verdicts[i] = c.verdict(Criterion(i))
		}
		cards = append(cards, c.card)
	}
	slices.SortFunc(cards, func(a, b Card) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Agent, b.Agent))
	})
	return cards
}

// unseen is what the combined format does not show of each criterion; "" if it
// shows enough.
var unseen = [count]string{
	Verbatim: "the log has no request headers", Renewed: "the log has no request headers",
	Remembered: "no burst, but the log has no request headers", Obedient: "nothing seen, but the log has no response headers",
	Plain: "nothing seen, but the log has no cookies", Named: "the name is good, but the log has no Accept-Encoding",
	Spaced: "an hour apart, but the log does not show which were unconditional",
}

func (c *client) verdict(which Criterion) Verdict {
	f := c.faults[which]
	switch {
	case f.count > 0:
		return Verdict{Fail, f.count, f.first}
	case !c.full && unseen[which] != "":
		return Verdict{Unknown, 0, unseen[which]}
	}
	return Verdict{Outcome: Pass}
}

func (c *client) fault(which Criterion, e Entry, format string, args ...any) {
	f := &c.faults[which]
	if f.count++; f.count == 1 {
		f.first = fmt.Sprintf("%s %s%s: ", e.Time.UTC().Format("2006-01-02 15:04:05"), e.Host, e.URI) + fmt.Sprintf(format, args...)
	}
}

func (c *client) add(e Entry) {
	path, added := plainURI(e.URI)
	c.judgeManner(e, added)
	key := e.Host + path
	d := c.docs[key]
	h := c.hosts[e.Host]
	if h == nil {
		h = &site{}
		c.hosts[e.Host] = h
	}
	if d == nil {
		d = &document{first: e.Time, subscribed: !conditionalOn(e)}
		c.docs[key] = d
		d.serve(e.Request.Get("If-None-Match"), e.Request.Get("If-Modified-Since")) // from before the log begins
		d.etag, d.changed = e.Request.Get("If-None-Match"), e.Request.Get("If-Modified-Since")
		if e.Time.Before(h.until.Add(-tolerance)) {
			c.fault(Obedient, e, "asked %v before the Retry-After of its host's 429 was over", h.until.Sub(e.Time))
		}
	} else {
		c.judgeTimes(e, d, h)
		c.judgeValidators(e, d)
	}
	d.take(e, h)
}

// conditionalOn reports a request that is conditional, as far as the log shows.
func conditionalOn(e Entry) bool {
	return e.Request.Get("If-None-Match") != "" || e.Request.Get("If-Modified-Since") != "" || e.Status == http.StatusNotModified
}

func (c *client) judgeTimes(e Entry, d *document, h *site) {
	since := e.Time.Sub(d.last)
	switch {
	case d.gone:
		c.fault(Obedient, e, "asked again for what is gone (410)")
	case e.Time.Before(d.until.Add(-tolerance)), e.Time.Before(h.until.Add(-tolerance)):
		c.fault(Obedient, e, "asked again %v after a %d, before it may", since, d.status)
	case d.status == http.StatusNotModified && since < again && !d.inSubscription(e):
		c.fault(Obedient, e, "a 304 asked for again after %v", since)
	case d.inSubscription(e):
		c.fault(Single, e, "asked again %v after the first request", e.Time.Sub(d.first))
	case e.Time.Before(d.fresh.Add(-tolerance)):
		c.fault(Obedient, e, "asked %v before the last answer's max-age was over", d.fresh.Sub(e.Time))
	case since < conditional-tolerance:
		c.fault(Spaced, e, "asked again after %v", since)
	case e.Full && !conditionalOn(e) && e.Status/100 == 2 && !d.wholeAt.IsZero() && !d.mayBeWhole(e.Time):
		c.fault(Spaced, e, "unconditional, %v after the last such request", e.Time.Sub(d.wholeAt))
	}
	h.recent = append(slices.DeleteFunc(h.recent, func(t time.Time) bool { return e.Time.Sub(t) > burstSpan }), e.Time)
	if len(h.recent) == burstCount {
		c.fault(Remembered, e, "%d documents asked for in %v", burstCount, burstSpan)
	}
}

// inSubscription reports a request that follows a first, successful one so soon that
// it belongs to the same subscription.
func (d *document) inSubscription(e Entry) bool {
	return d.subscribed && e.Time.Sub(d.first) < subscribing && d.status < 400
}

// mayBeWhole reports that an unconditional request comes late enough: a day after
// the last one, or as soon as the answer is stale of an origin that says so and
// gives nothing to ask conditionally with.
func (d *document) mayBeWhole(now time.Time) bool {
	return now.Sub(d.wholeAt) >= whole-tolerance || !d.validators && d.said
}

func (c *client) judgeValidators(e Entry, d *document) {
	if !e.Full {
		return
	}
	etag, changed := e.Request.Get("If-None-Match"), e.Request.Get("If-Modified-Since")
	if etag == "" && changed == "" {
		if d.etag != "" || d.changed != "" {
			c.fault(Remembered, e, "unconditional, though the last answer came with %s", cmp.Or(d.etag, d.changed))
		}
		return
	}
	for _, v := range []struct{ name, sent, current string }{{"If-None-Match", etag, d.etag}, {"If-Modified-Since", changed, d.changed}} {
		switch {
		case v.sent == v.current:
		case v.sent == "":
			c.fault(Verbatim, e, "no %s, though the last answer came with %s", v.name, v.current)
		case !slices.Contains(d.served, v.sent):
			c.fault(Verbatim, e, "%s: %s, which never came from here", v.name, v.sent)
		default:
			c.fault(Renewed, e, "%s: %s, but the last answer had %q", v.name, v.sent, v.current)
		}
	}
}

func (d *document) serve(values ...string) {
	for _, v := range values {
		if v != "" && !slices.Contains(d.served, v) {
			d.served = append(d.served, v)
		}
	}
	if extra := len(d.served) - mostServed; extra > 0 {
		d.served = slices.Delete(d.served, 0, extra)
	}
}

// take remembers the answer.
func (d *document) take(e Entry, h *site) {
	d.last, d.status = e.Time, e.Status
	etag, changed := e.Response.Get("ETag"), e.Response.Get("Last-Modified")
	brought := e.Status/100 == 2 && !d.pageInstead(e)
	switch {
	case brought:
		d.etag, d.changed = etag, changed
		if !conditionalOn(e) {
			d.wholeAt = e.Time
		}
	case e.Status == http.StatusNotModified:
		d.etag, d.changed = cmp.Or(etag, d.etag), cmp.Or(changed, d.changed)
	}
	if brought || e.Status == http.StatusNotModified {
		d.serve(etag, changed)
		d.validators = d.validators || etag != "" || changed != ""
		age, said := freshFor(e.Response, e.Time)
		d.fresh, d.said = e.Time.Add(min(age, longestWait)), d.said || said
	} else {
		d.fresh = time.Time{}
	}
	d.gone = e.Status == http.StatusGone
	if wait, ok := retryAfter(e); ok {
		d.until = e.Time.Add(wait)
		if e.Status == http.StatusTooManyRequests {
			h.until = d.until
		}
	}
}

// pageInstead reports an answer that is a web page where a feed was before: a login,
// an apology. Whoever holds the feed goes on asking with its validators.
func (d *document) pageInstead(e Entry) bool {
	page := strings.HasPrefix(strings.ToLower(e.Response.Get("Content-Type")), "text/html")
	d.feed = d.feed || !page
	return page && d.feed
}

// plainURI is a URI without what clients add to it to get past caches or to be
// counted, and what that was.
func plainURI(uri string) (plain, added string) {
	path, query, ok := strings.Cut(uri, "?")
	if !ok {
		return uri, ""
	}
	var rest []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		name = strings.ToLower(name)
		if slices.Contains(additions, name) || strings.HasPrefix(name, "utm_") {
			added = pair
			continue
		}
		rest = append(rest, pair)
	}
	if len(rest) == 0 {
		return path, added
	}
	return path + "?" + strings.Join(rest, "&"), added
}

// additions are names of parameters that clients add.
var additions = []string{"_", "cb", "ts", "rand", "random", "nocache", "no-cache", "cachebust", "cachebuster", "timestamp", "fbclid"}
