package feedtree_test

import (
	"testing"
	"time"
)

// FeedTree §5: one polls, the others hear it and do not.
func TestALegacyFeedIsPolledByOneForAll(t *testing.T) {
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	nodes := startNodes(t, o, 3)
	var all []*arrivals
	for _, n := range nodes {
		all = append(all, collect(t, subscribe(t, n, url)))
	}
	eventually(t, "one volunteer", func() bool { return len(volunteers(nodes, url)) == 1 })

	before, began := o.asked("/feed.xml"), time.Now()
	o.publish("/feed.xml", "b", "a")
	for i, a := range all {
		eventually(t, "b everywhere", func() bool { return a.got()["b"] > 0 })
		t.Logf("node %d has b after %v", i, time.Since(began))
	}
	o.publish("/feed.xml", "c", "b", "a")
	for _, a := range all {
		eventually(t, "c everywhere", func() bool { return a.got()["c"] > 0 })
	}
	eventually(t, "heartbeats are heard", func() bool {
		f, _ := nodes[0].Feed(url)
		g, _ := nodes[1].Feed(url)
		return f.BeatsReceived+g.BeatsReceived >= 3
	})
	rounds := int(time.Since(began)/(pollMin*8/10)) + 1
	if polls := o.asked("/feed.xml") - before; polls > rounds+2 {
		t.Errorf("%d requests in %v, want about one per %v", polls, time.Since(began), pollMin)
	}
	for i, a := range all {
		if got := a.got(); got["a"] != 0 || got["b"] != 1 || got["c"] != 1 {
			t.Errorf("node %d got %v, want b and c once each", i, got)
		}
	}
}
