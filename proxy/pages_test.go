package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed"
)

// Whoever asks for a site is sent to its feed, in the form that was asked for, and
// told of the others.
func TestAPageRedirectsToItsFeed(t *testing.T) {
	n := newFakeNode()
	f := n.add(t, example, rss("1"))
	f.page = true
	f.links = []feed.Link{{URL: example, Title: "Posts"}, {URL: "https://example.org/comments?a=b", Title: `Comments "on" Ü`}}
	n.feeds["https://example.org/"] = f
	p := newProxy(n, Config{}, newClock().now)
	for _, c := range []struct{ target, to string }{
		{"/feed/https://example.org/", "/feed/" + example},
		{"/atom/https://example.org", "/atom/" + example},
	} {
		w := get(p, c.target)
		if w.Code != http.StatusFound || w.Header().Get("Location") != c.to {
			t.Errorf("%s: %d to %s", c.target, w.Code, w.Header().Get("Location"))
		}
		form, _, _ := strings.Cut(c.target[1:], "/")
		link := "<http://127.0.0.1:8089/" + form + "/https://example.org/comments?a=b>; rel=\"alternate\"; title*=UTF-8''Comments%20%22on%22%20%C3%9C"
		if got := w.Header().Values("Link"); len(got) != 1 || got[0] != link {
			t.Errorf("Link: %q", got)
		}
		if !strings.Contains(w.Body.String(), "http://127.0.0.1:8089/"+form+"/https://example.org/comments?a=b") {
			t.Errorf("the others are not told:\n%s", w.Body)
		}
	}
	if w := get(p, "/feed/"+example); w.Code != http.StatusOK {
		t.Errorf("the feed itself: %d", w.Code)
	}
}
