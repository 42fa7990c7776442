package proxy

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
)

const comments = "https://example.org/comments.xml"

// announcing is a proxy at whose site several feeds are announced.
func announcing(t *testing.T) (*Proxy, *tracker) {
	t.Helper()
	n := newFakeNode()
	f := n.add(t, example, rss("1"))
	n.add(t, comments, rss("2"))
	f.page, f.links = true, []feed.Link{{URL: example, Title: "Posts"}, {URL: comments, Title: "Comments <b>"}, {URL: "https://example.org/tags"}}
	n.feeds["https://example.org/"] = f
	follows := &tracker{fakeNode: n}
	return newProxy(follows, Config{}, newClock().now), follows
}

// tracker is a node whose status has the feeds that were subscribed to and not left.
type tracker struct{ *fakeNode }

func (n *tracker) Subscribe(ctx context.Context, url string) (subscription, error) {
	s, err := n.fakeNode.Subscribe(ctx, url)
	if err == nil && !slices.Contains(n.followed(), s.URL()) {
		n.change(func(st *feedtree.Status) { st.Feeds = append(st.Feeds, feedtree.FeedStatus{URL: s.URL()}) })
	}
	return s, err
}

func (n *tracker) Unsubscribe(_ context.Context, url string) error {
	n.change(func(st *feedtree.Status) {
		st.Feeds = slices.DeleteFunc(slices.Clone(st.Feeds), func(f feedtree.FeedStatus) bool { return f.URL == url })
	})
	return nil
}

func (n *tracker) followed() (urls []string) {
	for _, f := range n.Status().Feeds {
		urls = append(urls, f.URL)
	}
	slices.Sort(urls)
	return urls
}

var person = []string{"Accept", "text/html,application/xhtml+xml"}

// Whoever adds a site that announces several feeds gets a list to choose from, without
// any script.
func TestSeveralFeedsAreAChoice(t *testing.T) {
	p, n := announcing(t)
	w := submit(p, "/subscribe", withToken(p, "url", "example.org"), person...)
	body := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, body)
	}
	for _, want := range []string{
		`action="/choose"`, `value="` + example + `" checked>`, `value="` + comments + `">`, "Comments &lt;b&gt;", `value="https://example.org/tags">`,
		`name="fresh" value="` + example + `"`, p.guard.token,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	if strings.Contains(body, "<script>") {
		t.Error("a script")
	}
	// Another one than the first: the first was only tried.
	form := withToken(p, "fresh", example)
	form["feed"] = []string{comments}
	if w := submit(p, "/choose", form, person...); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/?added="+url.QueryEscape(comments) {
		t.Errorf("%d to %s: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	if got := n.followed(); !slices.Equal(got, []string{comments}) {
		t.Errorf("followed: %v", got)
	}
}

// What was followed before is not left because somebody looks at its site.
func TestAChoiceLeavesNothingThatWasThere(t *testing.T) {
	p, n := announcing(t)
	submit(p, "/subscribe", withToken(p, "url", example))
	body := submit(p, "/subscribe", withToken(p, "url", "https://example.org/"), person...).Body.String()
	if strings.Contains(body, `name="fresh"`) || !strings.Contains(body, "followed already") || !strings.Contains(body, "checked disabled") {
		t.Errorf("a feed that was there can be left here: %s", body)
	}
	form := withToken(p)
	form["feed"] = []string{comments}
	submit(p, "/choose", form, person...)
	if got := n.followed(); !slices.Equal(got, []string{comments, example}) {
		t.Errorf("followed: %v", got)
	}
}

// Nothing chosen is nothing followed; what cannot be had is named; programs are not
// asked; and no other site's page chooses.
func TestChoicesGoneWrong(t *testing.T) {
	p, n := announcing(t)
	if w := submit(p, "/subscribe", withToken(p, "url", "example.org")); w.Code != http.StatusSeeOther {
		t.Errorf("a program gets %d", w.Code)
	}
	if w := submit(p, "/choose", withToken(p, "fresh", example), person...); w.Code != http.StatusSeeOther || len(n.followed()) != 0 {
		t.Errorf("nothing chosen: %d, followed %v", w.Code, n.followed())
	}
	form := withToken(p)
	form["feed"] = []string{comments, "https://gone.example/feed"}
	w := submit(p, "/choose", form, person...)
	if !strings.Contains(w.Body.String(), "gone.example") || w.Code != http.StatusBadGateway || !slices.Equal(n.followed(), []string{comments}) {
		t.Errorf("one of two: %d, followed %v", w.Code, n.followed())
	}
	form["feed"] = make([]string, 2*mostChoices)
	for i := range form["feed"] {
		form["feed"][i] = strings.Repeat("x", i+1)
	}
	if w := submit(p, "/choose", form, person...); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a hundred: %d", w.Code)
	}
	form.Set("token", "guessed")
	if w := submit(p, "/choose", form, person...); w.Code != http.StatusForbidden {
		t.Errorf("without the token: %d", w.Code)
	}
}
