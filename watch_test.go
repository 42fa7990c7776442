package feedtree_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

func told(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("nobody is told of %s", what)
	}
}

func TestWatchersAreTold(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	n := startNode(t, o, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := n.Watch(ctx)
	subscribe(t, n, o.url("/feed.xml"))
	told(t, c, "a new feed")
	before := n.Status().Feeds[0].Version
	o.publish("/feed.xml", "b", "a")
	eventually(t, "news", func() bool {
		told(t, c, "news")
		return n.Status().Feeds[0].Version > before
	})
	for len(c) > 0 {
		<-c
	}
	if err := n.Unsubscribe(t.Context(), o.url("/feed.xml")); err != nil {
		t.Fatal(err)
	}
	told(t, c, "a feed that was left")
	if err := n.Volunteer(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	told(t, c, "the switch")
}

// What a week cost is known after a restart, and of a feed that was left nothing
// is kept.
func TestTheWeekOutlivesTheNode(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	o.publish("/left.xml", "a")
	kept := store.NewMemory()
	n := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	subscribe(t, n, o.url("/feed.xml"))
	subscribe(t, n, o.url("/left.xml"))
	if err := n.Unsubscribe(t.Context(), o.url("/left.xml")); err != nil {
		t.Fatal(err)
	}
	was, _ := n.Feed(o.url("/feed.xml"))
	if w := was.Week; w.Requests < 1 || w.Bytes <= 0 || w.AloneRequests < w.Requests || w.AloneBytes != w.Bytes {
		t.Errorf("after one fetch: %+v", w)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	again := startNode(t, o, func(c *feedtree.Config) { c.Store, c.Polling.Min, c.Polling.Max = kept, time.Hour, time.Hour })
	if got, _ := again.Feed(o.url("/feed.xml")); got.Week.Bytes != was.Week.Bytes || got.Week.Requests < was.Week.Requests {
		t.Errorf("after a restart: %+v, before %+v", got.Week, was.Week)
	}
	if value, _, err := kept.Setting(t.Context(), "week"); err != nil || !strings.Contains(string(value), "feed.xml") || strings.Contains(string(value), "left.xml") {
		t.Errorf("kept: %s, %v", value, err)
	}
}
