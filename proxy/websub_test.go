package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
)

// fakeHubs notes what is asked for.
type fakeHubs struct {
	mu    sync.Mutex
	asked []url.Values // with "to"
	err   map[string]error
}

func (h *fakeHubs) Post(_ context.Context, to string, form url.Values) (*fetch.Reply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	form.Set("to", to)
	h.asked = append(h.asked, form)
	if err := h.err[to]; err != nil {
		return nil, err
	}
	return &fetch.Reply{Status: 202}, nil
}

// next returns what was asked for since it was last called, by topic.
func (h *fakeHubs) next() []url.Values {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = nil
	slices.SortFunc(asked, func(a, b url.Values) int { return strings.Compare(a.Get("hub.topic"), b.Get("hub.topic")) })
	return asked
}

const (
	outside = "hints.example.net"
	hubURL  = "https://hub.example/"
)

// subscriber is a proxy that follows a feed which names a hub.
type subscriber struct {
	*Proxy
	t    *testing.T
	node *fakeNode
	hubs *fakeHubs
	time *clock
}

func newSubscriber(t *testing.T, s store.Store, c *clock) *subscriber {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	n.status.Feeds = []feedtree.FeedStatus{{URL: example}}
	n.hubs = []feedtree.Hub{{Feed: example, Topic: example, URLs: []string{hubURL}}}
	h := &fakeHubs{err: map[string]error{}}
	p := newProxy(n, Config{PublicURL: "https://" + outside + "/ft", Store: s}, c.now)
	p.websub = newWebsub(p, p.hints.public, h)
	return &subscriber{p, t, n, h, c}
}

// round has the subscriptions looked after, and returns what was asked for.
func (s *subscriber) round() []url.Values {
	s.t.Helper()
	if err := s.websub.round(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s.hubs.next()
}

// one is round where exactly one request is wanted.
func (s *subscriber) one() url.Values {
	s.t.Helper()
	asked := s.round()
	if len(asked) != 1 {
		s.t.Fatalf("hubs were asked for %v, want one subscription", asked)
	}
	return asked[0]
}

// path is where the hub was told to send to, as it arrives here.
func path(asked url.Values) string {
	return strings.TrimPrefix(asked.Get("hub.callback"), "https://"+outside)
}

func (s *subscriber) question(asked url.Values, change ...string) *httptest.ResponseRecorder {
	q := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {asked.Get("hub.topic")}, "hub.challenge": {"<b>why</b>"}, "hub.lease_seconds": {"864000"}}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return get(s, path(asked)+"?"+q.Encode(), "Host", outside)
}

// push sends content as the hub does, signed if a method is named.
func (s *subscriber) push(asked url.Values, body string, signatures ...string) int {
	return post(s, path(asked), "application/rss+xml", body, "Host", outside, "X-Hub-Signature", strings.Join(signatures, ", ")).Code
}

func signed(asked url.Values, method, body string) string {
	digest := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[method]
	mac := hmac.New(digest, []byte(asked.Get("hub.secret")))
	mac.Write([]byte(body))
	return method + "=" + hex.EncodeToString(mac.Sum(nil))
}

func (s *subscriber) hinted(what string, want bool) {
	s.t.Helper()
	if got := len(s.node.hints()) == 1; got != want {
		s.t.Errorf("%s: taken for a hint: %v", what, got)
	}
}

// The life of a subscription: asked for (WebSub §5.1), verified (§5.3), used (§7),
// renewed before it ends.
func TestSubscription(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	asked := s.one()
	for name, want := range map[string]string{
		"to": hubURL, "hub.mode": "subscribe", "hub.topic": example, "hub.lease_seconds": "864000",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if secret := asked.Get("hub.secret"); len(secret) < 32 || len(secret) >= 200 || strings.Contains(asked.Get("hub.callback"), secret) {
		t.Errorf("the secret is %q; it must be hard to guess and of less than 200 bytes", secret)
	}
	if !strings.HasPrefix(asked.Get("hub.callback"), "https://"+outside+"/ft/websub/") || len(path(asked)) < 30 {
		t.Errorf("the callback is %s", asked.Get("hub.callback"))
	}
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 404 {
		t.Errorf("before it is verified: %d", code)
	}
	s.hinted("before it is verified", false)
	w := s.question(asked)
	if w.Code != 200 || w.Body.String() != "<b>why</b>" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
		w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("verification: %d %q %v", w.Code, w.Body, w.Header())
	}
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 202 {
		t.Errorf("content: %d", code)
	}
	s.hinted("content", true)
	if again := s.round(); len(again) != 0 {
		t.Errorf("asked for again at once: %v", again)
	}
	s.time.advance(7 * 24 * time.Hour)
	if again := s.round(); len(again) != 0 {
		t.Errorf("renewed after 7 of 10 days: %v", again)
	}
	s.time.advance(24 * time.Hour)
	renewal := s.one()
	if renewal.Get("hub.callback") != asked.Get("hub.callback") || renewal.Get("hub.secret") != asked.Get("hub.secret") {
		t.Error("the renewal is another subscription")
	}
	s.question(renewal)
	s.time.advance(7 * 24 * time.Hour) // beyond the end of the first lease
	if s.push(asked, "x", signed(asked, "sha256", "x")) != 202 {
		t.Error("after the renewal it is not in force")
	}
	s.hinted("after the renewal", true)
}

func TestALeaseEnds(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	asked := s.one()
	s.question(asked, "hub.lease_seconds", "3600")
	s.time.advance(2 * time.Hour)
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 404 {
		t.Errorf("after the lease: %d", code)
	}
	s.hinted("after the lease", false)
}

// Only what was asked for is confirmed, once.
func TestIntentIsVerified(t *testing.T) {
	for what, change := range map[string][]string{
		"another topic":    {"hub.topic", "https://elsewhere.example/"},
		"no topic":         {"hub.topic", ""},
		"unsubscribe":      {"hub.mode", "unsubscribe"},
		"no mode":          {"hub.mode", ""},
		"no challenge":     {"hub.challenge", ""},
		"a long challenge": {"hub.challenge", strings.Repeat("x", mostChallenge+1)},
	} {
		s := newSubscriber(t, nil, newClock())
		asked := s.one()
		if w := s.question(asked, change...); w.Code != 404 || s.overall().Refused["websub: not asked for"] != 1 {
			t.Errorf("%s: %d, refused %v", what, w.Code, s.overall().Refused)
		}
		if w := s.question(asked); w.Code != 200 {
			t.Errorf("after %s the right one is answered %d", what, w.Code)
		}
		if w := s.question(asked); w.Code != 404 {
			t.Errorf("it is confirmed twice: %d", w.Code)
		}
	}
	s := newSubscriber(t, nil, newClock())
	asked := s.one()
	s.time.advance(2 * time.Hour)
	if w := s.question(asked); w.Code != 404 {
		t.Errorf("two hours later: %d", w.Code)
	}
	asked.Set("hub.callback", asked.Get("hub.callback")+"x")
	if w := s.question(asked); w.Code != 404 {
		t.Errorf("another token: %d", w.Code)
	}
	if code := s.push(asked, "x"); code != 410 {
		t.Errorf("content for another token: %d", code)
	}
}

// WebSub §8: what is not signed with the secret is ignored, and the answer does
// not tell.
func TestSignatures(t *testing.T) {
	const body = "<rss/>"
	for _, c := range []struct {
		name  string
		sign  func(asked url.Values) []string
		taken bool
		why   error
	}{
		{"sha256", func(a url.Values) []string { return []string{signed(a, "sha256", body)} }, true, nil},
		{"sha512", func(a url.Values) []string { return []string{signed(a, "sha512", body)} }, true, nil},
		{"upper case", func(a url.Values) []string {
			return []string{"SHA256=" + strings.ToUpper(signed(a, "sha256", body)[7:])}
		}, true, nil},
		{"sha1 of a hub that has nothing else", func(a url.Values) []string { return []string{signed(a, "sha1", body)} }, true, nil},
		{"both", func(a url.Values) []string { return []string{signed(a, "sha1", body), signed(a, "sha256", body)} }, true, nil},
		{"none", func(url.Values) []string { return nil }, false, errUnsigned},
		{"of another body", func(a url.Values) []string { return []string{signed(a, "sha256", "x")} }, false, errSignature},
		{"with another secret", func(url.Values) []string { return []string{signed(url.Values{}, "sha256", body)} }, false, errSignature},
		{"right with sha1, wrong with sha256", func(a url.Values) []string {
			return []string{signed(a, "sha1", body), signed(a, "sha256", "x")}
		}, false, errSignature},
		{"cut short", func(a url.Values) []string { return []string{signed(a, "sha256", body)[:21]} }, false, errSignature},
		{"empty", func(url.Values) []string { return []string{"sha256="} }, false, errSignature},
		{"md5", func(url.Values) []string { return []string{"md5=d41d8cd98f00b204e9800998ecf8427e"} }, false, errUnsigned},
		{"nonsense", func(url.Values) []string { return []string{"=,=;", "sha256"} }, false, nil},
	} {
		s := newSubscriber(t, nil, newClock())
		asked := s.one()
		s.question(asked)
		if code := s.push(asked, body, c.sign(asked)...); code != 202 {
			t.Errorf("%s: answered %d", c.name, code)
		}
		s.hinted(c.name, c.taken)
		if refused := s.overall().Refused; c.why != nil && refused[c.why.Error()] != 1 {
			t.Errorf("%s: refused %v, want %q", c.name, refused, c.why)
		}
	}
}

// A hub that once signed with more than SHA-1 can do so always: who sends SHA-1
// then is somebody else.
func TestSHA1AfterBetterIsRefused(t *testing.T) {
	kept, c := store.NewMemory(), newClock()
	s := newSubscriber(t, kept, c)
	asked := s.one()
	s.question(asked)
	s.push(asked, "x", signed(asked, "sha1", "x"))
	s.hinted("sha1 at first", true)
	s.push(asked, "x", signed(asked, "sha256", "x"))
	s.hinted("sha256", true)
	s.push(asked, "x", signed(asked, "sha1", "x"))
	s.hinted("sha1 then", false)
	s = newSubscriber(t, kept, c) // after a restart, too
	s.round()
	s.push(asked, "x", signed(asked, "sha1", "x"))
	s.hinted("sha1 after a restart", false)
	if s.overall().Refused[errWeak.Error()] != 1 {
		t.Errorf("refused: %v", s.overall().Refused)
	}
}

// A hub that is asked in the clear is told no secret (WebSub §5.1), so what it
// sends is as good as a ping.
func TestNoSecretInTheClear(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	s.node.hubs[0].URLs = []string{"http://hub.example/"}
	asked := s.one()
	if asked.Has("hub.secret") {
		t.Error("the secret is sent over plain HTTP")
	}
	s.question(asked)
	s.push(asked, "x")
	s.hinted("unsigned", true)
}

func TestPushesOfAnySize(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	asked := s.one()
	s.question(asked)
	for size, want := range map[int]int{0: 202, pushBody: 202, pushBody + 1: 413} {
		body := strings.Repeat("x", size)
		if code := s.push(asked, body, signed(asked, "sha256", body)); code != want {
			t.Errorf("%d bytes: %d, want %d", size, code, want)
		}
		s.hinted("size", want == 202)
	}
}

// Subscriptions outlive the process. Until they are read, hubs are not told that
// they are gone.
func TestSubscriptionsAreKept(t *testing.T) {
	kept, c := store.NewMemory(), newClock()
	s := newSubscriber(t, kept, c)
	asked := s.one()
	s.question(asked)
	s = newSubscriber(t, kept, c)
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 503 {
		t.Errorf("before the subscriptions are read: %d", code)
	}
	if again := s.round(); len(again) != 0 {
		t.Errorf("after a restart it is asked for again: %v", again)
	}
	s.push(asked, "x", signed(asked, "sha256", "x"))
	s.hinted("after a restart", true)

	// Under another public address the hub must hear of it.
	s = newSubscriber(t, kept, c)
	s.websub.callback = "https://elsewhere.example/websub/"
	if moved := s.one(); !strings.HasPrefix(moved.Get("hub.callback"), "https://elsewhere.example/websub/") {
		t.Errorf("the hub hears of %s", moved.Get("hub.callback"))
	}
}

// A hub that does not answer is asked ever more rarely, and not for other feeds
// either; a feed with another hub turns to that.
func TestHubsThatFail(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	s.hubs.err[hubURL] = &fetch.Error{Reason: fetch.Status, Status: 503, RetryAfter: 3 * time.Hour}
	s.one()
	second := "https://example.org/second.xml"
	s.node.hubs = append(s.node.hubs, feedtree.Hub{Feed: second, Topic: second, URLs: []string{hubURL}})
	s.time.advance(time.Hour)
	if asked := s.round(); len(asked) != 0 {
		t.Errorf("asked in spite of Retry-After: %v", asked)
	}
	s.node.hubs[0].URLs = append(s.node.hubs[0].URLs, "https://spare.example/")
	s.time.advance(2*time.Hour + time.Minute)
	asked := s.round()
	if len(asked) != 2 || asked[0].Get("to") != "https://spare.example/" || asked[1].Get("to") != hubURL {
		t.Fatalf("asked %v", asked)
	}
	s.question(asked[0])
	s.node.hubs = s.node.hubs[1:]
	s.hubs.err[hubURL] = errors.New("no answer")
	begin, tries := s.time.now(), 0
	for s.time.now().Sub(begin) < 7*24*time.Hour {
		s.time.advance(10 * time.Minute)
		tries += len(s.round())
	}
	if tries < 7 || tries > 14 {
		t.Errorf("a hub that is down was asked %d times in a week", tries)
	}
}

// A hub that says yes and never verifies counts as one that fails.
func TestHubsThatDoNotVerify(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	begin, tries := s.time.now(), 0
	for s.time.now().Sub(begin) < 7*24*time.Hour {
		tries += len(s.round())
		s.time.advance(10 * time.Minute)
	}
	if tries < 7 || tries > 14 {
		t.Errorf("asked %d times in a week", tries)
	}
}

func TestDenied(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	asked := s.one()
	if w := s.question(asked, "hub.mode", "denied", "hub.reason", "\x1b[31mno"); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.time.advance(23 * time.Hour)
	if again := s.round(); len(again) != 0 {
		t.Errorf("asked again within a day: %v", again)
	}
	if s.overall().Refused["websub: denied by the hub"] != 1 {
		t.Errorf("refused: %v", s.overall().Refused)
	}
}

// Who follows a feed no longer says so the next time the hub sends something.
func TestALeftFeedIsUnsubscribed(t *testing.T) {
	kept := store.NewMemory()
	s := newSubscriber(t, kept, newClock())
	asked := s.one()
	s.question(asked)
	delete(s.node.feeds, example)
	s.node.hubs = nil
	s.round()
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 410 {
		t.Errorf("%d, want 410: WebSub §7 has the hub end it then", code)
	}
	if code := s.push(asked, "x", signed(asked, "sha256", "x")); code != 410 {
		t.Errorf("the second time: %d", code)
	}
	if doc, _, err := kept.Setting(t.Context(), leaseSetting(example)); err != nil || len(doc) != 0 {
		t.Errorf("kept: %s, %v", doc, err)
	}
}

// A feed that changes hub or topic gets another subscription.
func TestAnotherTopic(t *testing.T) {
	s := newSubscriber(t, nil, newClock())
	first := s.one()
	s.question(first)
	s.node.hubs[0].Topic = "https://example.org/moved.xml"
	second := s.one()
	if second.Get("hub.topic") != "https://example.org/moved.xml" || second.Get("hub.callback") == first.Get("hub.callback") ||
		second.Get("hub.secret") == first.Get("hub.secret") {
		t.Errorf("asked for %v after %v", second, first)
	}
	if code := s.push(first, "x", signed(first, "sha256", "x")); code != 410 {
		t.Errorf("the former one is answered %d", code)
	}
}

func TestWithoutAPublicAddressNoHubIsAsked(t *testing.T) {
	if p := newProxy(newFakeNode(), Config{Client: &fetch.Client{}}, newClock().now); p.websub != nil {
		t.Error("hubs are asked to send to nowhere")
	}
}
