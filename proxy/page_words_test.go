package proxy

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
)

// Every way a feed can fail is told as what it is, what happens next and when.
func TestWhyAFeedFails(t *testing.T) {
	now := newClock().now()
	for reason := fetch.BadURL; reason <= fetch.Paused; reason++ {
		e := &fetch.Error{Reason: reason, URL: example, Status: 503, Err: errors.New("of what it is made")}
		f := feedtree.FeedStatus{URL: example, Failure: e.Error(), Reason: e.Word(), NextPoll: now.Add(20 * time.Minute)}
		w := inWords(f, now)
		if w.Class != "trouble" || strings.Contains(w.Now, example) || !strings.HasSuffix(w.Now, ".") || w.Now[0] < 'A' || w.Now[0] > 'Z' {
			t.Errorf("%v: %+v", reason, w)
		}
		if !strings.Contains(w.Next, "in 20 min") || !strings.Contains(w.Next, "your reader keeps") {
			t.Errorf("%v: what is next: %q", reason, w.Next)
		}
	}
	gone := feedtree.FeedStatus{URL: example, Failure: example + ": the document is gone for good (410); it is not asked for any more", Reason: "status 410"}
	if w := inWords(gone, now); strings.Contains(w.Next, "asked again") {
		t.Errorf("410: %+v", w)
	}
}

func TestStatesInWords(t *testing.T) {
	now := newClock().now()
	heard, next := now.Add(-3*time.Minute), now.Add(time.Hour)
	for _, c := range []struct {
		feed             feedtree.FeedStatus
		class, now, next string
	}{
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Live: true, LastEvent: heard}, "fine", "Pushed by its publisher, heard of 3 min ago.", "News comes by itself."},
		{feedtree.FeedStatus{Role: feedtree.RoleVolunteer, LastFetch: heard, NextPoll: next}, "fine", "Polled from here, for everybody, last answer 3 min ago.", "The site is asked next in 1 h."},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Attached: true, LastEvent: heard}, "fine", "Others poll it and pass the news on, heard of 3 min ago.", ""},
		{feedtree.FeedStatus{Role: feedtree.RoleLocal, Local: "the host is private", NextPoll: next}, "local", "Stays on this machine: the host is private.", "The site is asked next in 1 h."},
		{feedtree.FeedStatus{Role: feedtree.RolePublisher}, "fine", "Published from here.", ""},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber}, "fine", "Fetched from the site.", ""},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Live: true, Apart: true, LastFetch: heard, NextPoll: next}, "fine",
			"Fetched from the site, last answer 3 min ago: none of the nodes this one is connected to carries it.", "The site is asked next in 1 h."},
	} {
		if w := inWords(c.feed, now); w.Class != c.class || w.Now != c.now || w.Next != c.next {
			t.Errorf("%+v: %+v", c.feed, w)
		}
	}
}

func TestCompanyInWords(t *testing.T) {
	down := feedtree.FeedStatus{Failure: "x", Reason: "DNS"}
	for _, c := range []struct {
		status feedtree.Status
		class  string
	}{
		{feedtree.Status{Peers: 3}, "fine"},
		{feedtree.Status{}, "alone"},
		{feedtree.Status{Feeds: []feedtree.FeedStatus{{}}}, "alone"},
		{feedtree.Status{Feeds: []feedtree.FeedStatus{down, {Failure: "x", Reason: "connect"}}}, "offline"},
		{feedtree.Status{Feeds: []feedtree.FeedStatus{down, {}}}, "alone"},
		{feedtree.Status{Feeds: []feedtree.FeedStatus{down, {Failure: "x", Reason: "status 503"}}}, "alone"},
		{feedtree.Status{Peers: 1, Feeds: []feedtree.FeedStatus{down}}, "fine"},
	} {
		got := companyOf(c.status)
		if got.Class != c.class {
			t.Errorf("%+v: %+v", c.status, got)
		}
		n := newFakeNode()
		n.status = c.status
		if body := get(newProxy(n, Config{}, newClock().now), "/").Body.String(); !strings.Contains(body, got.Says) || !strings.Contains(body, got.Word) {
			t.Errorf("the page does not say %q", got.Says)
		}
	}
}

// All four marks have a word, a sign and a meaning of their own.
func TestMarks(t *testing.T) {
	seen := map[string]bool{}
	for _, trust := range []store.Trust{store.Unconfirmed, store.Corroborated, store.Fetched, store.Signed} {
		m := markOf(trust)
		if m.Word != trust.String() || seen[m.Sign] || seen[m.Says] {
			t.Errorf("%v: %+v", trust, m)
		}
		seen[m.Sign], seen[m.Says] = true, true
	}
	if m := markOf(99); m.Word != "unknown" {
		t.Errorf("%+v", m)
	}
}

func TestAmountsInWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 123_456: "123 kB", 1_950_000: "1.9 MB", 5e9: "5.0 GB"} {
		if got := bytesText(n); got != want && !(n == 1_950_000 && got == "2.0 MB") {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567", -1000: "-1\u202f000"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// The drawing has who is above and who is below, says the same in words, and is
// bounded however many children there are.
func TestDrawingOfATree(t *testing.T) {
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = fmt.Sprintf("12D3KooW%08d", i)
	}
	for _, c := range []struct {
		feed  feedtree.FeedStatus
		boxes string
		text  string
	}{
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Parent: ids[0], Attached: true}, "far peer self", "news from …00000000."},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Parent: ids[0], Attached: true, Children: ids[1:3]}, "far peer self peer peer", "passes it on to 2 other nodes."},
		{feedtree.FeedStatus{Role: feedtree.RoleVolunteer, Root: true, Children: ids[:1]}, "self site peer", "root of the feed’s tree and passes it on to 1 other node."},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber}, "none self", "no place in the feed’s tree yet."},
		{feedtree.FeedStatus{Role: feedtree.RoleLocal}, "self site", "it has no tree."},
		{feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Root: true, Children: ids}, "self peer peer peer far", "to 40 other nodes."},
	} {
		d := draw(c.feed)
		var boxes []string
		for i, b := range d.Boxes {
			boxes = append(boxes, b.Class)
			if b.X < 0 || b.X+b.W > d.Width || b.Y < 0 || b.Base() > d.Height {
				t.Errorf("%s: box %+v is outside of %d × %d", c.text, b, d.Width, d.Height)
			}
			for _, o := range d.Boxes[:i] {
				if b.X < o.X+o.W && o.X < b.X+b.W && b.Y < o.Base() && o.Y < b.Base() {
					t.Errorf("%s: boxes %+v and %+v overlap", c.text, b, o)
				}
			}
		}
		if got := strings.Join(boxes, " "); got != c.boxes || !strings.HasSuffix(d.Text, c.text) {
			t.Errorf("%s: %q, want %q; %q", c.text, got, c.boxes, d.Text)
		}
	}
	evil := draw(feedtree.FeedStatus{Role: feedtree.RoleSubscriber, Parent: hostile})
	if svg := string(evil.SVG()); strings.Contains(svg, "<script") || strings.Contains(svg, "<img") {
		t.Errorf("hostile text becomes markup: %s", svg)
	}
}

func TestWhichFeedsAreListed(t *testing.T) {
	var feeds []feedtree.FeedStatus
	for i := range 120 {
		feeds = append(feeds, feedtree.FeedStatus{URL: fmt.Sprintf("https://example.org/%03d", i), Title: fmt.Sprintf("Name %03d", 119-i)})
	}
	feeds[7].Failure, feeds[90].Failure = "x", "x"
	for _, c := range []struct {
		query, first string
		shown, found int
		page, pages  int
	}{
		{"", "Name 029", 50, 120, 1, 3},
		{"page=3", "Name 099", 20, 120, 3, 3},
		{"page=99", "Name 099", 20, 120, 3, 3},
		{"page=-1", "Name 029", 50, 120, 1, 3},
		{"q=NAME+11", "Name 112", 10, 10, 1, 1},
		{"q=org/119", "Name 000", 1, 1, 1, 1},
		{"show=failing", "Name 029", 2, 2, 1, 1},
		{"q=nothing", "", 0, 0, 1, 1},
	} {
		q, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		l := choose(feeds, q)
		first := ""
		if len(l.Feeds) > 0 {
			first = l.Feeds[0].Title
		}
		if first != c.first || len(l.Feeds) != c.shown || l.Found != c.found || l.Page != c.page || l.Pages != c.pages || l.All != 120 || l.Failing != 2 {
			t.Errorf("%q: %q, %d shown, %+v", c.query, first, len(l.Feeds), l)
		}
	}
}
