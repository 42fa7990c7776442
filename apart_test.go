package feedtree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/multicast"
)

// Where a node has no place in a feed's tree, as its neighbours are those of other feeds,
// nobody brings it the feed: it polls at the feed's own pace, and no longer once there is a
// place.
func TestAFeedWithoutAPlaceInItsTreeIsPolled(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.set("/feed.xml", page{body: datedItems(24 * time.Hour)})
	url := o.url("/feed.xml")
	quiet := func(c *feedtree.Config) { c.Polling = feedtree.Polling{Off: true} }
	other := startNode(t, o, quiet)
	n := startNode(t, o, quiet, other)
	eventually(t, "the nodes meet", func() bool { return n.Status().Peers == 1 })
	subscribe(t, n, url)
	next := func() time.Duration { f, _ := n.Feed(url); return f.NextPoll.Sub(f.LastFetch) }
	f, _ := n.Feed(url)
	eventually(t, "it knows that it is not alone", func() bool { return next() > 2*f.Interval })
	n.Notice(multicast.Notice{Kind: multicast.Apart, Group: multicast.GroupOf(url)})
	eventually(t, "it polls in the place of others", func() bool { return next() < 2*f.Interval })
	n.Notice(multicast.Notice{Kind: multicast.Found, Group: multicast.GroupOf(url)})
	eventually(t, "it relies on others again", func() bool { return next() > 2*f.Interval })
}
