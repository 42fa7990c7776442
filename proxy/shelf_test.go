package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
)

func TestFirstRequestsAreOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNode()
		n.add(t, example, rss("1"))
		n.gate = make(chan struct{})
		p := newProxy(n, Config{}, time.Now)
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				if w := get(p, "/feed/"+example); w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		synctest.Wait()
		close(n.gate)
		readers.Wait()
		if got := n.subscriptions(example); got != 1 {
			t.Errorf("%d subscriptions", got)
		}
	})
}

func TestImpatientReaderDoesNotEndTheSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFakeNode()
		n.add(t, example, rss("1"))
		n.gate = make(chan struct{})
		p := newProxy(n, Config{}, time.Now)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.shelf.take(ctx, example); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		close(n.gate)
		if w := get(p, "/feed/"+example); w.Code != 200 || n.subscriptions(example) != 1 {
			t.Errorf("%d, %d subscriptions", w.Code, n.subscriptions(example))
		}
	})
}

func TestFailedFeedIsLeftAlone(t *testing.T) {
	n, c := newFakeNode(), newClock()
	n.errs[example] = errors.New("connection refused")
	p := newProxy(n, Config{}, c.now)
	tries := func(after time.Duration) int {
		c.advance(after)
		for range 5 {
			get(p, "/feed/"+example)
		}
		return n.subscriptions(example)
	}
	for _, x := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {4 * time.Second, 1}, {time.Second, 2}, {9 * time.Second, 2}, {time.Second, 3}, {10 * time.Hour, 4}} {
		if got := tries(x.after); got != x.want {
			t.Fatalf("after %v more: %d tries, want %d", x.after, got, x.want)
		}
	}
	n.add(t, example, rss("1"))
	if tries(time.Hour); get(p, "/feed/"+example).Code != 200 {
		t.Error("the feed is there, and not served")
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	n, c := newFakeNode(), newClock()
	n.errs[example] = fmt.Errorf("subscribing: %w", &fetch.Error{Status: 429, RetryAfter: 10 * time.Minute})
	p := newProxy(n, Config{}, c.now)
	get(p, "/feed/"+example)
	c.advance(9 * time.Minute)
	w := get(p, "/feed/"+example)
	if n.subscriptions(example) != 1 {
		t.Error("asked again too early")
	}
	if w.Code != 424 || w.Header().Get("Retry-After") != "" {
		t.Errorf("%d %v: one feed's limit must not stop the reader's others", w.Code, w.Header())
	}
}

func TestWhatIsSaidOfFeedsNeverHad(t *testing.T) {
	page := &feed.HTMLPage{Feeds: []feed.Link{{URL: "/relative"}, {URL: "https://example.org/a.xml"}}}
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{&fetch.Error{Status: 404}, 404, "nothing there"},
		{&fetch.Error{Status: 410}, 404, "nothing there"},
		{&fetch.Error{Status: 429}, 424, "asked again"},
		{&fetch.Error{Status: 503}, 424, "asked again"},
		{&fetch.Error{Reason: fetch.Timeout}, 424, "asked again"},
		{&fetch.Error{Reason: fetch.Paused}, 424, "asked again"},
		{&fetch.Error{Reason: fetch.Refused}, 403, "private network"},
		{fmt.Errorf("parsing: %w", feed.ErrNotFeed), 422, "RSS, Atom"},
		{fmt.Errorf("x: %w", page), 422, "http://127.0.0.1:8089/feed/https://example.org/a.xml"},
		{context.DeadlineExceeded, 424, "in time"},
		{errors.New("<script>alert(1)</script>\x1b[2J"), 424, "asked again"},
	} {
		n := newFakeNode()
		n.errs[example] = c.err
		w := get(newProxy(n, Config{}, newClock().now), "/feed/"+example)
		body := w.Body.String()
		if w.Code != c.code || !strings.Contains(body, c.says) || !strings.Contains(body, example) {
			t.Errorf("%v: %d %s", c.err, w.Code, body)
		}
		if state := w.Header().Get("X-FeedTree-State"); !strings.HasPrefix(state, `failure="`) || strings.ContainsAny(state, "\x1b\n") {
			t.Errorf("%v: the state is told as %q", c.err, state)
		}
		if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff" ||
			strings.Contains(body, "\x1b") {
			t.Errorf("%v: %v %q", c.err, w.Header(), body)
		}
	}
}

func TestCauseNamesTheFeedOnce(t *testing.T) {
	n := newFakeNode()
	n.errs[example] = fmt.Errorf("subscribe to %s: %w", example, &fetch.Error{Reason: fetch.Status, Status: 404, URL: example})
	body := get(newProxy(n, Config{}, newClock().now), "/feed/"+example).Body.String()
	if strings.Count(body, example) != 1 || !strings.Contains(body, "\nthere is nothing at this address (404)\n") {
		t.Error(body)
	}
}

func TestFeedThatWasLeftIsFollowedAgain(t *testing.T) {
	n, c := newFakeNode(), newClock()
	old := n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, c.now)
	if _, err := p.shelf.take(t.Context(), example); err != nil {
		t.Fatal(err)
	}
	old.change(func() { old.err = fmt.Errorf("document: %w", feedtree.ErrUnknown) })
	n.add(t, example, rss("2"))
	if w := get(p, "/feed/"+example); w.Code != 200 || !strings.Contains(w.Body.String(), "Item 2") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestUnreadFeedsAreLeft(t *testing.T) {
	n, c := newFakeNode(), newClock()
	day := func(d int) time.Time { return c.now().Add(-time.Duration(d) * 24 * time.Hour) }
	n.add(t, "https://a.example/old", rss("1"))
	n.status.Feeds = []feedtree.FeedStatus{
		{URL: "https://a.example/old", Role: feedtree.RoleSubscriber, Read: day(15)},
		{URL: "https://a.example/mine", Role: feedtree.RolePublisher, Read: day(15)},
		{URL: "https://a.example/new", Role: feedtree.RoleVolunteer, Read: day(13)},
		{URL: "https://a.example/unknown", Role: feedtree.RoleSubscriber},
		{URL: "https://a.example/program", Role: feedtree.RoleSubscriber, Read: day(15)},
	}
	n.inUse = map[string]bool{"https://a.example/program": true}
	p := newProxy(n, Config{}, c.now)
	get(p, "/feed/https://a.example/old")
	p.leaveUnread(t.Context())
	if !slices.Equal(n.parted, []string{"https://a.example/old"}) || len(n.left) != 0 {
		t.Errorf("left %v, forgotten %v", n.parted, n.left)
	}
	if len(p.shelf.books) != 0 {
		t.Error("the feed that was left is still on the shelf")
	}
	if w := get(p, "/feed/https://a.example/old"); w.Code != http.StatusOK || n.subscriptions("https://a.example/old") != 2 {
		t.Errorf("asked for again: %d", w.Code)
	}
}

func TestFailuresRememberedAreBounded(t *testing.T) {
	n, c := newFakeNode(), newClock()
	p := newProxy(n, Config{}, c.now)
	for i := range 3 * mostFailed {
		get(p, fmt.Sprintf("/feed/https://h.example/%d", i))
		c.advance(time.Second)
	}
	if got := len(p.shelf.books); got > mostFailed {
		t.Errorf("%d failures remembered", got)
	}
}
