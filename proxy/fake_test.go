package proxy

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

// fakeNode is a source whose feeds are what a test says.
type fakeNode struct {
	mu     sync.Mutex
	feeds  map[string]*fakeFeed
	errs   map[string]error
	asked  map[string]int // subscriptions by URL
	gate   chan struct{}  // if not nil, subscriptions wait for it
	status feedtree.Status
	left   []string                       // unsubscribed
	parted []string                       // left, with what they brought
	inUse  map[string]bool                // by somebody else
	hinted []string                       // URLs of hints
	reason map[string]feedtree.HintReason // for which a hint is refused
	hubs   []feedtree.Hub
	pins   []feedtree.Pin
	sick   error // what Check says
	checks int
	watch  []chan struct{}
	doubts map[string]witness.State  // by key of an item
	back   map[string]bool           // taken back, likewise
	ways   map[string][]feedtree.Way // likewise
}

func newFakeNode() *fakeNode {
	return &fakeNode{feeds: map[string]*fakeFeed{}, errs: map[string]error{}, asked: map[string]int{}}
}

func (n *fakeNode) Subscribe(ctx context.Context, url string) (subscription, error) {
	n.mu.Lock()
	n.asked[url]++
	f, err, gate := n.feeds[url], n.errs[url], n.gate
	n.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f == nil {
		return nil, cmp.Or(err, fmt.Errorf("no such feed: %s", url))
	}
	return f, nil
}

func (n *fakeNode) Unsubscribe(_ context.Context, url string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.left = append(n.left, url)
	return nil
}

func (n *fakeNode) Leave(_ context.Context, url string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inUse[url] {
		return feedtree.ErrInUse
	}
	n.parted = append(n.parted, url)
	return nil
}

func (n *fakeNode) Status() feedtree.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	status := n.status
	status.Feeds = slices.Clone(status.Feeds) // a test changes its own while others read
	return status
}

func (n *fakeNode) Check(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.checks++
	return n.sick
}

func (n *fakeNode) Feed(url string) (feedtree.FeedStatus, bool) {
	for _, f := range n.Status().Feeds {
		if f.URL == url {
			return f, true
		}
	}
	return feedtree.FeedStatus{}, false
}

func (n *fakeNode) Believed(it store.Item) feedtree.Belief {
	if doubt, ok := n.doubts[it.Key]; ok {
		return feedtree.Belief{Doubt: doubt}
	}
	return feedtree.Belief{Trust: it.Trust, TakenBack: n.back[it.Key]}
}

func (n *fakeNode) Came(it store.Item) []feedtree.Way { return n.ways[it.Key] }

func (n *fakeNode) Watch(ctx context.Context) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := make(chan struct{}, 1)
	n.watch = append(n.watch, c)
	return c
}

// change sets the status and tells the watchers.
func (n *fakeNode) change(do func(*feedtree.Status)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do(&n.status)
	for _, c := range n.watch {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (n *fakeNode) Volunteer(_ context.Context, on bool) error {
	n.change(func(s *feedtree.Status) { s.Volunteering.On = on })
	return nil
}

func (n *fakeNode) LimitVolunteering(_ context.Context, requests int, bytes int64) error {
	n.change(func(s *feedtree.Status) { s.Volunteering.MaxRequests, s.Volunteering.MaxBytes = requests, bytes })
	return nil
}

func (n *fakeNode) LimitUpload(_ context.Context, bytes int64) error {
	n.change(func(s *feedtree.Status) { s.Spending.Upload.Most = uint64(bytes) })
	return nil
}

func (n *fakeNode) Hint(_ context.Context, url, _ string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if why := n.reason[url]; why != "" {
		return &feedtree.HintError{URL: url, Reason: why}
	}
	if n.feeds[url] == nil {
		return &feedtree.HintError{URL: url, Reason: feedtree.HintUnknown}
	}
	n.hinted = append(n.hinted, url)
	return nil
}

func (n *fakeNode) Hubs(context.Context) ([]feedtree.Hub, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hubs, nil
}

// hints returns the hints taken since it was last called.
func (n *fakeNode) hints() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := n.hinted
	n.hinted = nil
	return taken
}

func (n *fakeNode) subscriptions(url string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[url]
}

// fakeFeed is a subscription to a document that a test changes.
type fakeFeed struct {
	mu     sync.Mutex
	url    string
	doc    *feed.Feed
	state  feedtree.DocState
	status feedtree.FeedStatus
	err    error
	made   int // documents asked for
	links  []feed.Link
	page   bool
}

// add makes a feed out of a document.
func (n *fakeNode) add(t testing.TB, url, doc string) *fakeFeed {
	t.Helper()
	f := &fakeFeed{url: url, status: feedtree.FeedStatus{URL: url, Role: feedtree.RoleSubscriber}}
	f.set(t, doc)
	n.feeds[url] = f
	return f
}

func (f *fakeFeed) set(t testing.TB, doc string) {
	t.Helper()
	parsed, err := feed.Parse([]byte(doc), "")
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doc = parsed
	f.state.Version++
}

func (f *fakeFeed) URL() string { return f.url }

func (f *fakeFeed) Announced() ([]feed.Link, bool) { return f.links, f.page }

func (f *fakeFeed) Close() error { return nil }

func (f *fakeFeed) Document(context.Context) (*feed.Feed, feedtree.DocState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	return f.doc, f.state, f.err
}

func (f *fakeFeed) State() feedtree.DocState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *fakeFeed) Status() feedtree.FeedStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeFeed) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 20, 12, 0, 0, 500e6, time.UTC)} }

// get asks a proxy as a reader does; headers come in pairs.
func get(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	return ask(h, http.MethodGet, target, headers...)
}

func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8089/", nil)
	path, _, _ := strings.Cut(target, "?")
	r.RequestURI, r.URL.RawQuery = target, strings.TrimPrefix(strings.TrimPrefix(target, path), "?")
	r.URL.Path = path
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// rss is a document of items, one per guid.
func rss(guids ...string) string {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>T</title><link>https://example.org/</link><description>D</description><ttl>720</ttl>`)
	for _, g := range guids {
		fmt.Fprintf(&b, `<item><title>Item %s</title><guid isPermaLink="false">%[1]s</guid><link>https://example.org/%[1]s</link></item>`, g)
	}
	b.WriteString(`</channel></rss>`)
	return b.String()
}

const (
	example = "https://example.org/feed.xml"
	atomDoc = `<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><id>urn:a</id><updated>2026-01-01T00:00:00Z</updated>` +
		`<entry><title>E</title><id>urn:a:1</id><updated>2026-01-01T00:00:00Z</updated><link href="https://example.org/e"/></entry></feed>`
	jsonDoc = `{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"j1","url":"https://example.org/j","content_text":"x"}]}`
)

// trusted marks every item.
func trusted(f *fakeFeed, t store.Trust) {
	f.change(func() {
		f.state.Trust = map[string]store.Trust{}
		for _, it := range f.doc.Items {
			f.state.Trust[it.Key()] = t
		}
		f.state.Version++
	})
}

func (n *fakeNode) Pins() []feedtree.Pin {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]feedtree.Pin{}, n.pins...)
}

func (n *fakeNode) SetPin(_ context.Context, url, fingerprint string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.errs[url]; err != nil {
		return err
	}
	n.pins = append(n.pins, feedtree.Pin{URL: url, PinStatus: feedtree.PinStatus{Fingerprint: fingerprint, How: "manual"}})
	return nil
}
