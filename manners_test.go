package feedtree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// rude is an origin whose paths answer as a test says, and that notes when each was
// asked.
type rude struct {
	mu      sync.Mutex
	answers map[string]http.HandlerFunc
	asked   map[string][]time.Time
	sent    map[string][]http.Header
	config  fetch.Config
	base    string
}

func newRude(t *testing.T) *rude {
	t.Helper()
	o := &rude{answers: map[string]http.HandlerFunc{}, asked: map[string][]time.Time{}, sent: map[string][]http.Header{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.asked[r.URL.Path] = append(o.asked[r.URL.Path], time.Now())
		o.sent[r.URL.Path] = append(o.sent[r.URL.Path], r.Header)
		answer := o.answers[r.URL.Path]
		o.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	o.config = fetch.Config{Resolve: []string{host + ":" + port + ":127.0.0.1"}, Timeout: 2 * time.Second}
	o.base = "http://" + host + ":" + port
	return o
}

func (o *rude) set(path string, answer http.HandlerFunc) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers[path] = answer
	return o.base + path
}

func (o *rude) times(path string) []time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]time.Time(nil), o.asked[path]...)
}

// start starts a node that asks the origin.
func (o *rude) start(t *testing.T, change func(*feedtree.Config)) *feedtree.Node {
	return startNode(t, nil, func(c *feedtree.Config) {
		c.Fetch = o.config
		if change != nil {
			change(c)
		}
	})
}

// good answers with a document that has validators.
func good(header map[string]string, items ...string) http.HandlerFunc {
	doc := document("", items...)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(doc)))
		for k, v := range header {
			w.Header().Set(k, v)
		}
		if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, doc)
	}
}

// The origin's word about when to come again holds for every request, before and
// after a restart.
func TestNoPollBeforeTheOriginAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, then http.HandlerFunc
		apart       time.Duration
	}{
		"max-age":                  {good(map[string]string{"Cache-Control": "max-age=3"}, "a"), good(map[string]string{"Cache-Control": "max-age=3"}, "a"), 3 * time.Second},
		"Retry-After of a success": {good(map[string]string{"Retry-After": "3"}, "a"), good(map[string]string{"Retry-After": "3"}, "a"), 3 * time.Second},
		"a 429": {good(map[string]string{"Cache-Control": "max-age=3"}, "a"), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "4")
			w.WriteHeader(429)
		}, 3 * time.Second},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			o, kept := newRude(t), store.NewMemory()
			path := "/feed.xml"
			url := o.set(path, c.first)
			same := func(c *feedtree.Config) { c.Store = kept }
			n := o.start(t, same)
			subscribe(t, n, url)
			o.set(path, c.then)
			n.Close()
			before, _, _ := kept.Feed(t.Context(), url)
			n = o.start(t, same)
			eventually(t, "asked after the restart", func() bool { return len(o.times(path)) >= 2 })
			eventually(t, "the answer is kept", func() bool { f, _, _ := kept.Feed(t.Context(), url); return f.NotBefore.After(before.NotBefore) })
			n.Close()
			o.start(t, same)
			eventually(t, "asked after another", func() bool { return len(o.times(path)) >= 3 })
			at := o.times(path)
			for i := 1; i < len(at); i++ {
				// The origin has its request before the client has its answer.
				if gap := at[i].Sub(at[i-1]); gap < c.apart {
					t.Errorf("request %d came %v after the one before, want %v", i, gap, c.apart)
				}
				if sent := o.sent[path][i].Get("If-None-Match"); sent == "" {
					t.Errorf("request %d is unconditional", i)
				}
			}
		})
	}
}

// One feed's 429 spares its host: no other feed of it is asked for meanwhile, nor is
// a new one. Other hosts do not notice.
func TestA429HoldsForTheHost(t *testing.T) {
	t.Parallel()
	o, elsewhere := newRude(t), newOrigin(t)
	n := startNode(t, nil, func(c *feedtree.Config) {
		c.Fetch = o.config
		c.Fetch.Resolve = append(c.Fetch.Resolve, strings.Replace(elsewhere.config.Resolve[0], host, "other.example.org", 1))
	})
	elsewhere.publish("/feed.xml", "a")
	other := strings.Replace(elsewhere.url("/feed.xml"), host, "other.example.org", 1)
	limited, plain := o.set("/limited.xml", good(nil, "a")), o.set("/plain.xml", good(nil, "a"))
	for _, url := range []string{limited, plain, other} {
		subscribe(t, n, url)
	}
	o.set("/limited.xml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	})
	eventually(t, "the 429", func() bool { f, _ := n.Feed(limited); return f.Reason == "status 429" })
	asked, others := len(o.times("/plain.xml")), elsewhere.asked("/feed.xml")
	o.set("/new.xml", good(nil, "a"))
	var failed *fetch.Error
	if _, err := n.Subscribe(t.Context(), o.base+"/new.xml"); !errors.As(err, &failed) || failed.Reason != fetch.Paused || failed.RetryAfter < 59*time.Minute {
		t.Errorf("a new feed of the host: %v", err)
	}
	eventually(t, "the other host is asked", func() bool { return elsewhere.asked("/feed.xml") >= others+3 })
	if more := len(o.times("/plain.xml")) - asked; more > 1 { // one may have been under way
		t.Errorf("another feed of the host was asked for %d times", more)
	}
	if n := len(o.times("/new.xml")); n != 0 {
		t.Errorf("the new feed was asked for %d times", n)
	}
	if f, _ := n.Feed(limited); f.NextPoll.Before(time.Now().Add(50 * time.Minute)) {
		t.Errorf("asked again at %v", f.NextPoll)
	}
	eventually(t, "the pause is kept", func() bool { kept, ok, _ := n.Store().Setting(t.Context(), "hosts"); return ok && len(kept) > 10 })
	again := o.start(t, func(c *feedtree.Config) { c.Store = n.Store() })
	if _, err := again.Subscribe(t.Context(), o.base+"/new.xml"); !errors.As(err, &failed) || failed.Reason != fetch.Paused {
		t.Errorf("a new feed of the host, after a restart: %v", err)
	}
}

// A feed that is gone is asked for no more, and says so.
func TestAFeedThatIsGone(t *testing.T) {
	t.Parallel()
	o := newRude(t)
	url := o.set("/feed.xml", good(nil, "a"))
	n := o.start(t, nil)
	s := subscribe(t, n, url)
	o.set("/feed.xml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) })
	eventually(t, "it is gone", func() bool { f, _ := n.Feed(url); return f.Reason == "status 410" })
	f, _ := n.Feed(url)
	if !f.NextPoll.IsZero() || !strings.Contains(f.Failure, "subscribe again") {
		t.Errorf("next poll %v, failure %q", f.NextPoll, f.Failure)
	}
	if doc, _, err := s.Document(t.Context()); err != nil || len(doc.Items) != 1 {
		t.Errorf("its last document: %v", err)
	}
}

// Whatever some feeds of a host turn into, each says why, and the others get their
// news.
func TestBadOriginsDisturbNobody(t *testing.T) {
	t.Parallel()
	o := newRude(t)
	n := o.start(t, nil)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	raw := func(answer string, stall bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			io.WriteString(conn, answer)
			if stall {
				io.Copy(io.Discard, conn)
			}
		}
	}
	bad := map[string]http.HandlerFunc{
		"status 404": status(404), "status 403": status(403), "status 500": status(500), "status 410": status(410), "status 204": status(204),
		"content":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html><body>Log in</body></html>") },
		"timeout":   raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n<rss>", true),
		"truncated": raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n<rss>", false),
		"protocol":  raw("SSH-2.0-OpenSSH\r\n", false),
		"encoding": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "xx")
		},
		"too large": raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false),
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"refused": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		},
	}
	urls := map[string]string{}
	for reason := range bad {
		urls[reason] = o.set("/"+strings.ReplaceAll(reason, " ", "-"), good(nil, "a"))
		subscribe(t, n, urls[reason])
	}
	fine := o.set("/fine.xml", good(nil, "a"))
	got := collect(t, subscribe(t, n, fine))
	for reason, answer := range bad {
		o.set("/"+strings.ReplaceAll(reason, " ", "-"), answer)
	}
	o.set("/fine.xml", good(nil, "news", "a"))
	eventually(t, "the news of the one that is fine", func() bool { return got.got()["news"] == 1 })
	for want, url := range urls {
		// While the others are told of the failure no poll is planned.
		eventually(t, want, func() bool {
			f, _ := n.Feed(url)
			return f.Reason == want && (want == "status 410") == f.NextPoll.IsZero()
		})
		if f, _ := n.Feed(url); f.Failure == "" {
			t.Errorf("%s: failure %q, next poll %v", want, f.Failure, f.NextPoll)
		}
	}
	if f, _ := n.Feed(fine); f.Reason != "" || f.Failure != "" {
		t.Errorf("the one that is fine: %q, %q", f.Reason, f.Failure)
	}
}

// A clock that was a day ahead when the node was stopped does not silence it for a
// day, and what an earlier version kept is taken up.
func TestStatesOfAnotherClock(t *testing.T) {
	t.Parallel()
	o := newRude(t)
	url := o.set("/feed.xml", good(nil, "a"))
	for name, c := range map[string]struct {
		asked time.Duration // from now
		state bool
	}{
		"a day ahead": {24 * time.Hour, true}, "a year ago": {-365 * 24 * time.Hour, true}, "of an earlier version": {-time.Hour, false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			at := time.Now().Add(c.asked)
			rec := store.Feed{
				URL: url, Group: multicast.GroupOf(url), Asked: at, Fetched: at, NotBefore: at.Add(time.Second), Interval: time.Second,
				Doc: []byte(document("", "a")), Validators: store.Validators{ETag: `"kept"`},
			}
			if c.state {
				rec.Origin, _ = json.Marshal(polite.State{Seed: 1, Asked: at})
			}
			kept := store.NewMemory()
			if _, err := kept.Apply(t.Context(), store.Batch{Feed: &rec}); err != nil {
				t.Fatal(err)
			}
			before := len(o.times("/feed.xml"))
			n := o.start(t, func(c *feedtree.Config) { c.Store = kept })
			defer n.Close()
			eventually(t, "it is asked", func() bool { return len(o.times("/feed.xml")) > before })
			if sent := o.sent["/feed.xml"][before].Get("If-None-Match"); sent != `"kept"` {
				t.Errorf("asked with %q", sent)
			}
		})
	}
}

// RFC 3229: an origin that sends only what is new takes nothing away.
func TestADeltaAddsToWhatIsHeld(t *testing.T) {
	t.Parallel()
	o := newRude(t)
	url := o.set("/feed.xml", good(nil, "a", "b"))
	n := o.start(t, nil)
	s := subscribe(t, n, url)
	got := collect(t, s)
	o.set("/feed.xml", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A-IM") != "feed" || r.Header.Get("If-None-Match") == "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("ETag", `"later"`)
		if r.Header.Get("If-None-Match") == `"later"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("IM", "feed")
		w.WriteHeader(http.StatusIMUsed)
		io.WriteString(w, document("", "c"))
	})
	eventually(t, "the new item", func() bool { return got.got()["c"] == 1 })
	rec, _, err := n.Store().Feed(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !strings.Contains(string(rec.Doc), "About "+name) {
			t.Errorf("%s is not in the document held:\n%s", name, rec.Doc)
		}
	}
	if rec.Validators.ETag != `"later"` {
		t.Errorf("validators %+v", rec.Validators)
	}
}
