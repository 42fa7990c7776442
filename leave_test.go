package feedtree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

// guids are the items of a feed's document, as a reader gets it.
func guids(t *testing.T, s *feedtree.Subscription) string {
	t.Helper()
	doc, _, err := s.Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, it := range doc.Items {
		all = append(all, it.GUID)
	}
	return strings.Join(all, " ")
}

// A feed that is left is not asked for, and is in no tree; who comes back, after a
// restart too, finds what it brought and what came since, for one request.
func TestAFeedThatWasLeftComesBack(t *testing.T) {
	t.Parallel()
	o, kept := newOrigin(t), store.NewMemory()
	o.publish("/feed.xml", "b", "a")
	url := o.url("/feed.xml")
	same := func(c *feedtree.Config) { c.Store = kept }
	n := startNode(t, o, same)
	s := subscribe(t, n, url)
	if err := n.Leave(t.Context(), url); !errors.Is(err, feedtree.ErrInUse) {
		t.Fatalf("a feed with a subscription is left: %v", err)
	}
	s.Close()
	if err := n.Leave(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if _, ok := n.Feed(url); ok || len(n.Status().Feeds) != 0 {
		t.Error("a feed that was left is followed")
	}
	if err := n.Leave(t.Context(), url); !errors.Is(err, feedtree.ErrUnknown) {
		t.Errorf("again: %v", err)
	}
	if held, _ := kept.Items(t.Context(), url, -1); len(held) != 2 {
		t.Errorf("%d items are kept", len(held))
	}
	n.Close()

	o.publish("/feed.xml", "c") // the older ones have gone from the site
	n = startNode(t, o, same)
	if len(n.Status().Feeds) != 0 {
		t.Error("followed after the restart")
	}
	// The origin's rule for polls (pollMin) has passed when it is asked again.
	eventually(t, "the origin may be asked", func() bool {
		f, ok, err := kept.Feed(t.Context(), url)
		return err == nil && ok && time.Now().After(f.NotBefore)
	})
	before := o.asked("/feed.xml")
	s = subscribe(t, n, url)
	if got := guids(t, s); got != "c b a" {
		t.Errorf("there is %q", got)
	}
	if asked := o.asked("/feed.xml") - before; asked != 1 {
		t.Errorf("the origin was asked %d times", asked)
	}
	if f, ok := n.Feed(url); !ok || f.Items != 3 || f.Title != "News" || time.Since(f.Read) > time.Minute {
		t.Errorf("%+v", f)
	}
}

// An origin that is away does not keep from a reader what is held.
func TestAFeedComesBackWithoutItsOrigin(t *testing.T) {
	t.Parallel()
	o, kept := newOrigin(t), store.NewMemory()
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	subscribe(t, n, url).Close()
	if err := n.Leave(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	o.set("/feed.xml", page{status: 503})
	if got := guids(t, subscribe(t, n, url)); got != "a" {
		t.Errorf("there is %q", got)
	}
}

// News that went round the tree while a feed was left is there when it is followed
// again: the others have it, whatever the origin still shows.
func TestAFeedComesBackFromTheTree(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	nodes := startNodes(t, o, 3)
	for _, n := range nodes[1:] {
		subscribe(t, n, url)
	}
	n := nodes[0]
	subscribe(t, n, url).Close()
	if err := n.Leave(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	o.publish("/feed.xml", "b", "a")
	for _, other := range nodes[1:] {
		eventually(t, "the others have the news", func() bool { f, _ := other.Feed(url); return f.Items == 2 })
	}
	if f, ok := n.Feed(url); ok {
		t.Errorf("it is still followed: %+v", f)
	}
	o.publish("/feed.xml", "c")
	s := subscribe(t, n, url)
	// The tree's news and the origin's have no order between them: either may come first.
	eventually(t, "all of it is here", func() bool {
		got := strings.Fields(guids(t, s))
		slices.Sort(got)
		return slices.Equal(got, []string{"a", "b", "c"})
	})
}

// Whoever unsubscribes from a feed that was left wants it forgotten.
func TestUnsubscribeForgetsWhatWasLeft(t *testing.T) {
	t.Parallel()
	o, kept := newOrigin(t), store.NewMemory()
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	subscribe(t, n, url).Close()
	if err := n.Leave(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if err := n.Unsubscribe(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if feeds, _ := kept.Feeds(t.Context()); len(feeds) != 0 {
		t.Errorf("still kept: %v", feeds)
	}
}

// What was left is kept for half a year, and no longer.
func TestWhatWasLeftIsForgottenInTheEnd(t *testing.T) {
	t.Parallel()
	kept, now := store.NewMemory(), time.Now()
	for url, read := range map[string]time.Time{
		"https://old.example.org/":   now.Add(-181 * 24 * time.Hour),
		"https://young.example.org/": now.Add(-179 * 24 * time.Hour),
		"https://own.example.org/":   {}, // only published from here
	} {
		if _, err := kept.Apply(t.Context(), store.Batch{Feed: &store.Feed{URL: url, Read: read}}); err != nil {
			t.Fatal(err)
		}
	}
	n := startNode(t, nil, func(c *feedtree.Config) { c.Store = kept })
	n.ForgetLeft(now)
	feeds, err := kept.Feeds(t.Context())
	if err != nil || len(feeds) != 2 {
		t.Errorf("%v %v", feeds, err)
	}
	for _, f := range feeds {
		if strings.Contains(f.URL, "old") {
			t.Error("what nobody came back to is kept")
		}
	}
}
