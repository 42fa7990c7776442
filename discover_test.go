package feedtree_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
)

func html(links ...string) page {
	return page{body: "<!doctype html><html><head><title>Site</title>" + strings.Join(links, "") + "</head><body>hello</body></html>"}
}

func announce(href, title string) string {
	return `<link rel="alternate" type="application/rss+xml" href="` + href + `" title="` + title + `">`
}

// total counts all that an origin was asked.
func (o *origin) total() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, times := range o.requests {
		n += times
	}
	return n
}

// What a site's own address leads to, and how often the site is asked for it.
func TestASiteLeadsToItsFeed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages    map[string]page
		from, to string
		requests int
		choices  int
	}{
		"announced": {map[string]page{"/": html(announce("/rss", "All")), "/rss": {body: document("", "a")}}, "/", "/rss", 2, 1},
		"the first of several": {map[string]page{
			"/": html(announce("/a", "Posts"), announce("/b", "Comments")), "/a": {body: document("", "a")}, "/b": {body: document("", "b")},
		}, "/", "/a", 2, 2},
		"the second, if the first is gone": {map[string]page{
			"/": html(announce("/a", "Old"), announce("/b", "New")), "/b": {body: document("", "b")},
		}, "/", "/b", 3, 2},
		"no guess where a page announces one": {map[string]page{
			"/": html(announce("/gone", "Old")), "/feed": {body: document("", "a")},
		}, "/", "", 2, 0},
		"a well-known place": {map[string]page{"/": html(), "/feed.xml": {body: document("", "a")}}, "/", "/feed.xml", 3, 0},
		"beside the page":    {map[string]page{"/blog/": html(), "/blog/feed": {body: document("", "a")}}, "/blog/", "/blog/feed", 2, 0},
		"nowhere":            {map[string]page{"/": html(), "/index.xml": {body: document("", "a")}}, "/", "", 3, 0},
		"a site with a problem is left alone": {map[string]page{
			"/": html(), "/feed": {status: 503}, "/feed.xml": {body: document("", "a")},
		}, "/", "", 2, 0},
		"a page that announces itself": {map[string]page{"/": html(announce("/", "Me"))}, "/", "", 2, 0},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			for path, p := range c.pages {
				o.set(path, p)
			}
			n := startNode(t, o, nil)
			s, err := n.Subscribe(t.Context(), o.url(c.from))
			switch {
			case c.to == "" && err == nil:
				t.Errorf("follows %s", s.URL())
			case c.to == "":
				if !strings.Contains(err.Error(), o.url(c.from)) {
					t.Errorf("the error does not say where: %v", err)
				}
			case err != nil:
				t.Error(err)
			case s.URL() != o.url(c.to):
				t.Errorf("follows %s", s.URL())
			default:
				if links, page := s.Announced(); !page || len(links) != c.choices {
					t.Errorf("announced: %v, %v", links, page)
				}
			}
			if got := o.total(); got != c.requests {
				t.Errorf("the site was asked %d times, want %d", got, c.requests)
			}
		})
	}
}

// The choices outlive the program, and a feed's own address has none.
func TestWhatAPageAnnouncedIsKept(t *testing.T) {
	t.Parallel()
	o, kept := newOrigin(t), store.NewMemory()
	o.set("/", html(announce("/a", "Posts"), announce("/b", "Comments")))
	o.publish("/a", "a")
	same := func(c *feedtree.Config) { c.Store = kept }
	n := startNode(t, o, same)
	subscribe(t, n, o.url("/"))
	n.Close()
	n = startNode(t, o, same)
	s := subscribe(t, n, o.url("/"))
	links, page := s.Announced()
	if !page || len(links) != 2 || links[1].Title != "Comments" || links[1].URL != o.url("/b") || o.asked("/") != 1 {
		t.Errorf("%v %v, the page was asked %d times", links, page, o.asked("/"))
	}
	if _, page := subscribe(t, n, o.url("/a")).Announced(); page {
		t.Error("the feed's own address is taken for a page")
	}
}

// A page of the public internet cannot send the node to a private host.
func TestAPageDoesNotLeadIntoThisNetwork(t *testing.T) {
	t.Parallel()
	o, private := newOrigin(t), newOrigin(t)
	private.publish("/feed.xml", "secret")
	target := strings.Replace(private.url("/feed.xml"), host, "127.0.0.1", 1)
	o.set("/", html(announce(target, "Router")))
	n := startNode(t, o, nil)
	_, err := n.Subscribe(t.Context(), o.url("/"))
	var refused *fetch.Error
	if !errors.As(err, &refused) || refused.Reason != fetch.Refused || private.total() != 0 {
		t.Errorf("%v, the private host was asked %d times", err, private.total())
	}
	if s := subscribe(t, n, target); s.URL() != target { // its owner may
		t.Errorf("follows %s", s.URL())
	}
}
