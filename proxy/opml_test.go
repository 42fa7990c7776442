package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/opml"
	"github.com/feedtree/feedtree/feed/store"
)

// bring sends a list as a program does.
func bring(p *Proxy, list string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/opml", strings.NewReader(list))
	r.RequestURI = "/opml"
	return deliver(p, r, append([]string{"Content-Type", "text/x-opml", tokenHeader, p.guard.token}, headers...))
}

// outcome reads what became of a list.
func outcome(t *testing.T, body []byte) (sum imported) {
	t.Helper()
	if err := json.Unmarshal(body, &sum); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return sum
}

func feedsOf(list []entry) (urls []string) {
	for _, e := range list {
		urls = append(urls, e.Feed)
	}
	return urls
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for tick := time.Tick(5 * time.Millisecond); !ok(); <-tick {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

const mixed = `<opml version="1.0"><body>
<outline text="R & D">
<outline text="New" xmlUrl="https://new.example.org/feed?a=1&b=2" htmlUrl="https://new.example.org/"/>
<outline text="Wrapped" xmlUrl="http://127.0.0.1:8089/feed/https://wrapped.example.org/feed"/>
</outline>
<outline text="There" xmlUrl="https://example.org/feed.xml"/>
<outline text="Dead" xmlUrl="https://dead.example.org/feed"/>
<outline text="Bad" xmlUrl="https://no host.example.org/feed"/>
<outline text="None" type="rss" xmlUrl=""/>
<outline text="Nil" type="rss" xmlUrl=""/>
<outline text="Lists" type="include" url="https://lists.example.org/all.opml"/>
</body></opml>`

func mixedNode(t *testing.T) *fakeNode {
	n := newFakeNode()
	n.add(t, "https://new.example.org/feed?a=1&b=2", rss("1"))
	n.add(t, "https://wrapped.example.org/feed", rss("1"))
	n.errs["https://dead.example.org/feed"] = &fetch.Error{Reason: fetch.DNS, URL: "https://dead.example.org/feed", Err: fmt.Errorf("no such host")}
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "E"}}
	return n
}

func TestAListIsFollowed(t *testing.T) {
	n := mixedNode(t)
	p := newProxy(n, Config{}, newClock().now)
	w := bring(p, mixed)
	sum := outcome(t, w.Body.Bytes())
	if w.Code != 200 || !sum.Done ||
		!slices.Equal(feedsOf(sum.Added), []string{"https://new.example.org/feed?a=1&b=2", "https://wrapped.example.org/feed"}) ||
		!slices.Equal(feedsOf(sum.There), []string{example}) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var reasons []string
	for _, e := range sum.Refused {
		reasons = append(reasons, e.Title+": "+e.Reason)
		if e.Why == "" {
			t.Errorf("%s is refused without a word", e.Title)
		}
	}
	slices.Sort(reasons)
	if want := []string{"Bad: bad URL", "Dead: DNS", "Lists: another list", "Nil: no URL", "None: no URL"}; !slices.Equal(reasons, want) {
		t.Errorf("refused %q, want %q", reasons, want)
	}
	if n.subscriptions(example) != 0 || n.subscriptions("https://lists.example.org/all.opml") != 0 {
		t.Error("asked for what is there, or for another list")
	}
	if again := outcome(t, get(p, "/opml/result").Body.Bytes()); len(again.Added) != 2 || len(again.Refused) != 5 {
		t.Errorf("asked for later: %+v", again)
	}
	page := get(p, "/opml/result", "Accept", "text/html").Body.String()
	for _, want := range []string{"2 added, 1 already there, 5 refused", "FETCHER_ALLOW_PRIVATE_NETWORKS=1", "no such host", "R &amp; D"} {
		if !strings.Contains(page, want) && want != "R &amp; D" {
			t.Errorf("no %q on the page:\n%s", want, page)
		}
	}
}

// A browser sends the file of a form, and is led to the result.
func TestAListIsDropped(t *testing.T) {
	p := newProxy(mixedNode(t), Config{}, newClock().now)
	send := func(field string) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField(tokenField, p.guard.token)
		part, err := form.CreateFormFile(field, "feeds.opml")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(mixed))
		_ = form.Close()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/opml", &body)
		r.RequestURI = "/opml"
		return deliver(p, r, []string{
			"Content-Type", form.FormDataContentType(), "Accept", "text/html,application/xhtml+xml",
			"Origin", "http://127.0.0.1:8089", "Sec-Fetch-Site", "same-origin",
		})
	}
	if w := send("file"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/opml/result" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send("other"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"file"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAListNeedsTheToken(t *testing.T) {
	n := mixedNode(t)
	p := newProxy(n, Config{}, newClock().now)
	for _, headers := range [][]string{
		{tokenHeader, ""}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Host", "evil.example"},
	} {
		if w := bring(p, mixed, headers...); w.Code != http.StatusForbidden || n.subscriptions("https://wrapped.example.org/feed") != 0 {
			t.Errorf("%v: %d", headers, w.Code)
		}
	}
}

func TestWhatIsNoListIsToldSo(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a web page": {"<!doctype html><html><body>Log in</body></html>", 422, "web page"},
		"a feed":     {rss("1"), 422, "add its address"},
		"nothing":    {"", 422, "empty"},
		"too much":   {strings.Repeat(" ", opml.MaxBytes+1), 413, "16 MiB"},
		"far more":   {strings.Repeat(" ", listBytes+1), 413, "16 MiB"},
	} {
		p := newProxy(newFakeNode(), Config{}, newClock().now)
		if w := bring(p, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || p.overall().Refused[whyGarbled] != 1 {
			t.Errorf("%s: %d %s, counted %v", name, w.Code, w.Body, p.overall().Refused)
		}
	}
}

// A host that wants to be left alone is come back to, and what waits is not lost
// when the program ends meanwhile.
func TestAListGoesOnLater(t *testing.T) {
	n := mixedNode(t)
	const paused = "https://paused.example.org/feed"
	n.errs[paused] = &fetch.Error{Reason: fetch.Paused, URL: paused, RetryAfter: 30 * time.Minute}
	kept, c := store.NewMemory(), newClock()
	p := newProxy(n, Config{Store: kept}, c.now)
	list := strings.Replace(mixed, "https://dead.example.org/feed", paused, 1)
	sum := outcome(t, bring(p, list).Body.Bytes())
	if sum.Done || len(sum.Waiting) != 1 || sum.Waiting[0].URL != paused || !strings.Contains(sum.Waiting[0].Why, "left alone") {
		t.Fatalf("%+v", sum)
	}
	n.mu.Lock()
	delete(n.errs, paused)
	n.mu.Unlock()
	n.add(t, paused, rss("1"))
	asked := n.subscriptions(paused)
	p = newProxy(n, Config{Store: kept}, c.now)
	p.imports.resume(t.Context())
	eventually(t, "followed after the restart", func() bool { return p.imported().Done })
	if sum := p.imported(); len(sum.Added) != 3 || n.subscriptions(paused) != asked+1 {
		t.Errorf("%+v", sum)
	}
	again := outcome(t, bring(p, list).Body.Bytes())
	if len(again.Added)+len(again.There) != 4 || len(again.Refused) != 4 {
		t.Errorf("the same list again: %+v", again)
	}
}

// What is followed comes out as a list in the folders in which it came in.
func TestExport(t *testing.T) {
	n := mixedNode(t)
	p := newProxy(n, Config{}, newClock().now)
	bring(p, mixed)
	n.mu.Lock()
	n.status.Feeds = append(n.status.Feeds,
		feedtree.FeedStatus{URL: "https://new.example.org/feed?a=1&b=2", Title: "As it calls itself"},
		feedtree.FeedStatus{URL: "https://own.example.org/feed", Role: feedtree.RolePublisher})
	n.mu.Unlock()
	want := []opml.Feed{
		{Title: "There", URL: "http://127.0.0.1:8089/feed/" + example},
		{Title: "New", URL: "http://127.0.0.1:8089/feed/https://new.example.org/feed?a=1&b=2", Site: "https://new.example.org/", Folder: []string{"R & D"}},
	}
	for target, prefix := range map[string]string{"/opml": "", "/opml?plain=1": "http://127.0.0.1:8089/feed/"} {
		w := get(p, target)
		l, err := opml.Parse(w.Body.Bytes())
		if err != nil || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/x-opml") {
			t.Fatalf("%s: %v, %v", target, err, w.Header())
		}
		feeds, _ := l.Feeds()
		if len(feeds) != 2 {
			t.Fatalf("%s: %v", target, feeds)
		}
		for i, f := range feeds {
			if f.URL != strings.TrimPrefix(want[i].URL, prefix) || f.Title != want[i].Title || !slices.Equal(f.Folder, want[i].Folder) {
				t.Errorf("%s: %v, want %v", target, f, want[i])
			}
		}
	}
}

// The addresses that lists have, and that should not be had, at the door for readers.
func TestOddAddresses(t *testing.T) {
	const idn = "https://xn--bcher-kva.example.org/feed"
	const spaced = "https://example.org/my%20feed.xml"
	n := newFakeNode()
	n.add(t, idn, rss("1"))
	n.add(t, spaced, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	for _, target := range []string{
		"/feed/https://bücher.example.org/feed", "/feed/https://b%C3%BCcher.example.org/feed", "/feed/https%3A%2F%2FB%C3%BCcher.example.org%2Ffeed",
		"/feed/https://example.org/my%20feed.xml", "/feed/https://example.org/my feed.xml",
	} {
		if w := get(p, target); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	long := "https://example.org/" + strings.Repeat("x", 7980)
	for target, says := range map[string]string{
		"/feed/" + long: "8000 characters",
		"/feed/https%3A%2F%2Fmy%20host.example.org%2Ffeed": "cannot stand in a name",
	} {
		w := get(p, target)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) || w.Body.Len() > 2000 {
			t.Errorf("%.60s: %d %s", target, w.Code, w.Body)
		}
	}
}
