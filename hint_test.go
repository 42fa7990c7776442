package feedtree_test

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

// hintable is a node that polls hourly, so that what is asked for is a hint's.
func hintable(apart time.Duration) func(*feedtree.Config) {
	return func(c *feedtree.Config) {
		c.Polling.Min = time.Hour
		c.Fetch.Rules.Hint = apart
		c.Fetch.Rules.Gap = time.Millisecond
	}
}

func hint(t testing.TB, n *feedtree.Node, url string) {
	t.Helper()
	if err := n.Hint(t.Context(), url, "test"); err != nil {
		t.Fatal(err)
	}
}

func refusedHint(t testing.TB, n *feedtree.Node, url string, want feedtree.HintReason) {
	t.Helper()
	var refused *feedtree.HintError
	before := n.Status().Refused["hint: "+string(want)]
	if err := n.Hint(t.Context(), url, "test"); !errors.As(err, &refused) || refused.Reason != want {
		t.Errorf("hint about %s: %v, want %q", url, err, want)
	}
	if after := n.Status().Refused["hint: "+string(want)]; after != before+1 {
		t.Errorf("%q was counted %d times and is counted %d times", want, before, after)
	}
}

// A hint brings news long before the next poll, to the others as well, and
// nothing is taken from whoever hinted.
func TestAHintBringsNews(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	told := startNode(t, o, hintable(0))
	other := startNode(t, o, hintable(0), told)
	eventually(t, "the nodes meet", func() bool { return told.Status().Peers == 1 && other.Status().Peers == 1 })
	all := []*arrivals{collect(t, subscribe(t, told, url)), collect(t, subscribe(t, other, url))}
	eventually(t, "a tree", func() bool {
		a, _ := told.Feed(url)
		b, _ := other.Feed(url)
		return a.Attached && b.Attached
	})
	before := o.asked("/feed.xml")
	o.publish("/feed.xml", "b", "a")
	hint(t, told, url)
	for _, a := range all {
		eventually(t, "b", func() bool { return a.got()["b"] == 1 })
	}
	if got := o.asked("/feed.xml") - before; got != 1 {
		t.Errorf("%d requests", got)
	}
	if u, _ := all[0].of("b"); u.Trust != store.Fetched {
		t.Errorf("where the hint came it is %v", u.Trust)
	}
	if n := told.Status().Counts["hint_requests"]; n != 1 {
		t.Errorf("%d requests are counted", n)
	}
}

// A hub tells many nodes at once: who hears the news from another need not ask.
func TestNewsFromTheTreeAnswersAHint(t *testing.T) {
	t.Parallel()
	const apart = 30 * time.Minute
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	first := startNode(t, o, hintable(apart))
	second := startNode(t, o, hintable(apart), first)
	eventually(t, "the nodes meet", func() bool { return first.Status().Peers == 1 && second.Status().Peers == 1 })
	subscribe(t, first, url)
	got := collect(t, subscribe(t, second, url))
	next := func() time.Duration { f, _ := second.Feed(url); return time.Until(f.NextPoll) }
	hint(t, second, url)
	eventually(t, "the second asks", func() bool { return second.Status().Counts["hint_requests"] == 1 && next() > 0 })
	hint(t, second, url)
	if wait := next(); wait <= 0 || wait > apart {
		t.Fatalf("the hint waits for %v", wait)
	}
	o.publish("/feed.xml", "b", "a")
	hint(t, first, url)
	eventually(t, "the news from the first", func() bool { return got.got()["b"] == 1 })
	eventually(t, "the hint is answered", func() bool { return next() > apart+time.Minute })
}

// However many hints: one request at once, one at the end of the pause.
func TestHintsAreOneHint(t *testing.T) {
	t.Parallel()
	const apart = 3 * time.Second
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, hintable(apart))
	subscribe(t, n, url)
	begin := time.Now()
	for range 50 {
		hint(t, n, url)
	}
	eventually(t, "the first request", func() bool { return o.asked("/feed.xml") >= 2 })
	o.publish("/feed.xml", "b", "a")
	for range 50 {
		hint(t, n, url)
	}
	eventually(t, "the second", func() bool { return o.asked("/feed.xml") >= 3 })
	if took := time.Since(begin); took < apart {
		t.Errorf("two requests within %v, want %v between them", took, apart)
	}
	var f feedtree.FeedStatus
	eventually(t, "its end", func() bool { f, _ = n.Feed(url); return !f.NextPoll.IsZero() })
	if again := time.Until(f.NextPoll); again < 50*time.Minute {
		t.Errorf("the next request is in %v although no hint came since", again)
	}
}

// By default the pause is five minutes, whatever the interval of polls is.
func TestHintsAreFiveMinutesApart(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, hintable(0))
	subscribe(t, n, url)
	hint(t, n, url)
	eventually(t, "the first request", func() bool { return o.asked("/feed.xml") == 2 })
	eventually(t, "its end", func() bool { f, _ := n.Feed(url); return !f.NextPoll.IsZero() })
	hint(t, n, url)
	f, _ := n.Feed(url)
	if wait := time.Until(f.NextPoll); wait < 4*time.Minute || wait > 5*time.Minute {
		t.Errorf("the next request is in %v", wait)
	}
}

func TestHintsThatAreRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	o.publish("/gone.xml", "a")
	n := startNode(t, o, hintable(time.Millisecond))
	subscribe(t, n, o.url("/feed.xml"))
	subscribe(t, n, o.url("/gone.xml"))
	o.set("/gone.xml", page{status: 410})
	hint(t, n, o.url("/gone.xml"))
	eventually(t, "it is seen to be gone", func() bool { f, _ := n.Feed(o.url("/gone.xml")); return f.Reason == "status 410" })
	for url, want := range map[string]feedtree.HintReason{
		o.url("/gone.xml"):                 feedtree.HintGone,
		o.url("/other.xml"):                feedtree.HintUnknown,
		"https://elsewhere.example/":       feedtree.HintUnknown,
		"":                                 feedtree.HintBadURL,
		"ftp://news.example.org/feed.xml":  feedtree.HintBadURL,
		"http://127.0.0.1/feed.xml":        feedtree.HintPrivate,
		"http://[::1]:8089/feed.xml":       feedtree.HintPrivate,
		"http://nas.local/feed.xml":        feedtree.HintPrivate,
		"http://169.254.169.254/":          feedtree.HintPrivate,
		"http://u:p@news.example.org/feed": feedtree.HintPrivate,
	} {
		refusedHint(t, n, url, want)
	}
	id := identity(t)
	pushed := o.url("/pushed.xml")
	p, err := n.Publisher(t.Context(), id, pushed, feedtree.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	refusedHint(t, n, pushed, feedtree.HintPublished)
	n.Close()
	if err := n.Hint(t.Context(), o.url("/feed.xml"), "test"); !errors.Is(err, feedtree.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// RFC 9110 §10.2.3: a Retry-After holds for hints, too, whatever status it comes
// with.
func TestAHintWaitsForRetryAfter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 500} {
		o, fine := newOrigin(t), newOrigin(t)
		o.publish("/feed.xml", "a")
		fine.publish("/feed.xml", "a")
		n := startNode(t, o, func(c *feedtree.Config) {
			hintable(time.Millisecond)(c)
			c.Fetch.Resolve = append(c.Fetch.Resolve, fine.config.Resolve...)
		})
		subscribe(t, n, o.url("/feed.xml"))
		subscribe(t, n, fine.url("/feed.xml"))
		o.set("/feed.xml", page{status: status, header: map[string]string{"Retry-After": "1800"}})
		hint(t, n, o.url("/feed.xml"))
		eventually(t, "it is refused", func() bool {
			f, _ := n.Feed(o.url("/feed.xml"))
			return f.Reason == fmt.Sprint("status ", status) && !f.NextPoll.IsZero()
		})
		asked := o.asked("/feed.xml")
		for range 3 {
			hint(t, n, o.url("/feed.xml"))
			before := fine.asked("/feed.xml")
			hint(t, n, fine.url("/feed.xml"))
			eventually(t, "another feed is not disturbed", func() bool { return fine.asked("/feed.xml") > before })
		}
		if got := o.asked("/feed.xml"); got != asked {
			t.Errorf("after %d: asked %d times in the time that it wanted to be left alone", status, got-asked)
		}
		f, _ := n.Feed(o.url("/feed.xml"))
		if wait := time.Until(f.NextPoll); wait < 29*time.Minute {
			t.Errorf("after %d: asked again in %v, want half an hour at least", status, wait)
		}
	}
}

// Core WordPress names its site to servers that know only weblogUpdates.ping.
func TestAHintAboutASite(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	few := []string{"/blog/feed/", "/blog/comments/feed/"}
	for _, path := range append([]string{"/1.xml", "/2.xml", "/3.xml"}, few...) {
		o.publish(path, "a")
	}
	n := startNode(t, o, hintable(time.Millisecond))
	for _, path := range few {
		subscribe(t, n, o.url(path))
	}
	hint(t, n, o.url("/blog/"))
	for _, path := range few {
		eventually(t, path, func() bool { return o.asked(path) == 2 })
	}
	for _, path := range []string{"/1.xml", "/2.xml", "/3.xml"} {
		subscribe(t, n, o.url(path))
	}
	eventually(t, "the site is one of too many feeds", func() bool {
		var refused *feedtree.HintError
		return errors.As(n.Hint(t.Context(), o.url("/"), "test"), &refused) && refused.Reason == feedtree.HintVague
	})
}

// A flood costs no memory and no origin anything, and the other feeds nothing
// but a moment.
func TestAHundredThousandHints(t *testing.T) {
	flood := 100_000
	if testing.Short() {
		flood = 8_000
	}
	const apart = time.Second
	o := newOrigin(t)
	o.publish("/known.xml", "a")
	o.publish("/quiet.xml", "a")
	n := startNode(t, o, hintable(apart))
	known := o.url("/known.xml")
	subscribe(t, n, known)
	quiet := collect(t, subscribe(t, n, o.url("/quiet.xml")))
	before, begin := heap(), time.Now()
	for i := range flood {
		url := known
		switch i % 4 {
		case 1:
			url = "https://unknown" + strconv.Itoa(i) + ".example/feed.xml"
		case 2:
			url = "https://unknown" + strconv.Itoa(i) + ".example/"
		case 3:
			url = "http://10.0.0.1/" + strconv.Itoa(i)
		}
		err := n.Hint(t.Context(), url, "flood")
		if refused := new(feedtree.HintError); (err != nil) != (i%4 != 0) || err != nil && !errors.As(err, &refused) {
			t.Fatalf("%s: %v", url, err)
		}
	}
	took := time.Since(begin)
	grown := int64(heap()) - int64(before)
	o.publish("/quiet.xml", "b", "a")
	hint(t, n, o.url("/quiet.xml"))
	eventually(t, "another feed's news", func() bool { return quiet.got()["b"] == 1 })
	s := n.Status()
	t.Logf("%d hints in %v, %d KiB of heap more; requests to the origin: %d; refused: %v",
		flood, took, grown>>10, o.asked("/known.xml"), s.Refused)
	if grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if most := 2 + int(time.Since(begin)/apart) + 1; o.asked("/known.xml") > most {
		t.Errorf("%d requests to the origin in %v, want at most %d", o.asked("/known.xml"), took, most)
	}
	sum := uint64(0)
	for _, why := range []feedtree.HintReason{feedtree.HintUnknown, feedtree.HintPrivate, feedtree.HintTooMany} {
		sum += s.Refused["hint: "+string(why)]
	}
	if sum != uint64(flood*3/4) {
		t.Errorf("%d refusals are counted, want %d", sum, flood*3/4)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// WebSub §4: Link headers outrank the document; without rel=self the feed's own
// URL is the topic. Private hubs are nobody's business.
func TestHubsOfFeeds(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	link := func(rel, href string) string {
		return fmt.Sprintf(`<link xmlns="http://www.w3.org/2005/Atom" rel="%s" href="%s"/>`, rel, href)
	}
	o.set("/document.xml", page{body: document(link("hub", "https://hub.example/")+link("self", "https://news.example.org/self.xml"), "a")})
	o.set("/headers.xml", page{body: document(link("hub", "https://hub.example/"), "a"), header: map[string]string{
		"Link": `<https://other.example/hub>; rel="hub", <https://news.example.org/topic>; rel=self`}})
	o.set("/noself.xml", page{body: document(link("hub", "https://hub.example/"), "a")})
	o.set("/private.xml", page{body: document(link("hub", "http://127.0.0.1/hub")+link("hub", "https://hub.lan/"), "a")})
	o.set("/local.xml", page{body: document(link("hub", "https://hub.example/"), "a"), header: map[string]string{"Cache-Control": "private"}})
	o.publish("/none.xml", "a")
	kept := store.NewMemory()
	n := startNode(t, o, func(c *feedtree.Config) { hintable(0)(c); c.Store = kept })
	for _, path := range []string{"/document.xml", "/headers.xml", "/noself.xml", "/private.xml", "/local.xml", "/none.xml"} {
		subscribe(t, n, o.url(path))
	}
	got, err := n.Hubs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint([]feedtree.Hub{
		{o.url("/document.xml"), "https://news.example.org/self.xml", []string{"https://hub.example/"}},
		{o.url("/headers.xml"), "https://news.example.org/topic", []string{"https://other.example/hub"}},
		{o.url("/noself.xml"), o.url("/noself.xml"), []string{"https://hub.example/"}},
	})
	if fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %v", got, want)
	}
	n.Close()
	n = startNode(t, o, func(c *feedtree.Config) { hintable(0)(c); c.Store = kept })
	if got, err = n.Hubs(t.Context()); err != nil || len(got) != 3 || got[0].Topic != "https://news.example.org/self.xml" {
		t.Errorf("after a restart: %v, %v", got, err)
	}
}
