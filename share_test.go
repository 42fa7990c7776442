package feedtree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree"
)

// Corona §3.1: a feed is refreshed the oftener the more follow it, for the load that
// its origin would have had from all of them, each for himself, and no faster than
// its limits allow one client.
func TestMoreSubscribersMorePolls(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.set("/lazy.xml", page{body: datedItems(4 * 24 * time.Hour)}) // its interval is long
	o.set("/busy.xml", page{body: datedItems(time.Second)})        // its interval is the shortest allowed
	config := func(c *feedtree.Config) {
		c.Polling = feedtree.Polling{Min: 2 * time.Second, Max: time.Hour}
	}
	lazy, busy := o.url("/lazy.xml"), o.url("/busy.xml")
	first := startNode(t, o, config)
	subscribe(t, first, lazy)
	subscribe(t, first, busy)
	one, _ := first.Feed(lazy)
	if one.Overload != 1 || one.Spacing != one.Interval || one.Interval < time.Minute {
		t.Fatalf("one subscriber: N is %d, an interval %v, a poll every %v", one.Overload, one.Interval, one.Spacing)
	}
	nodes := []*feedtree.Node{first}
	for range 7 {
		n := startNode(t, o, config, first)
		eventually(t, "the nodes meet", func() bool { return n.Status().Peers == len(nodes) })
		subscribe(t, n, lazy)
		subscribe(t, n, busy)
		nodes = append(nodes, n)
	}
	for i, n := range nodes { // each knows to within a factor of two how many there are, so that four are enough
		within(t, time.Minute, "eight subscribers poll several times as often as one", func() bool {
			f, _ := n.Feed(lazy)
			return f.Audience >= 2 && f.Audience <= 2*len(nodes) && f.Overload >= 2 && f.Spacing <= f.Interval/2
		})
		f, _ := n.Feed(lazy)
		t.Logf("node %d: %d subscribers, N %d, an interval %v, a poll every %v", i, f.Audience, f.Overload, f.Interval, f.Spacing)
		if f, _ := n.Feed(busy); f.Spacing < 2*time.Second {
			t.Errorf("node %d: the busy feed is polled every %v by all together, the limit for one client is 2s", i, f.Spacing)
		}
	}
}
