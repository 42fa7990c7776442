package feedtree_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

// datedItems is a document of items posted so far apart until now.
func datedItems(apart time.Duration) string {
	var names []string
	for n := range 15 {
		names = append(names, fmt.Sprint("item ", n))
	}
	doc := document("", names...)
	for n := range names {
		at := time.Now().Add(-time.Duration(n) * apart).UTC().Format(time.RFC1123Z)
		doc = strings.Replace(doc, "<title>About", "<pubDate>"+at+"</pubDate><title>about", 1)
	}
	return doc
}

// How often a feed is polled is learned from what it posts, stays within Min and
// Max, and is known after a restart.
func TestTheIntervalIsLearned(t *testing.T) {
	t.Parallel()
	o, kept := newOrigin(t), store.NewMemory()
	o.set("/busy.xml", page{body: datedItems(20 * time.Minute)})
	o.set("/lazy.xml", page{body: datedItems(4 * 24 * time.Hour)})
	o.set("/some.xml", page{body: datedItems(12 * time.Hour)})
	config := func(c *feedtree.Config) {
		c.Store, c.Polling = kept, feedtree.Polling{Min: time.Minute, Max: 6 * time.Hour}
	}
	n := startNode(t, o, config)
	intervals := func(n *feedtree.Node) (list []time.Duration) {
		for _, name := range []string{"busy", "some", "lazy"} {
			f, ok := n.Feed(o.url("/" + name + ".xml"))
			if !ok {
				t.Fatalf("%s is not followed", name)
			}
			list = append(list, f.Interval)
		}
		return list
	}
	for _, name := range []string{"busy", "some", "lazy"} {
		subscribe(t, n, o.url("/"+name+".xml"))
	}
	before := intervals(n)
	if before[0] <= time.Minute || before[0] >= before[1] || before[1] >= before[2] || before[2] > 6*time.Hour {
		t.Errorf("an item every 20 minutes, 12 hours, 4 days: polled every %v", before)
	}
	n.Close()
	if after := intervals(startNode(t, o, config)); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("after a restart %v, before it %v", after, before)
	}
}

// A node learns from every outcome, also of polls that others made.
func TestOthersPollsTeach(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.set("/feed.xml", page{body: datedItems(24 * time.Hour)})
	url := o.url("/feed.xml")
	polling := func(off bool) func(*feedtree.Config) {
		return func(c *feedtree.Config) {
			c.Polling = feedtree.Polling{Min: time.Second, Max: 6 * time.Hour, Off: off}
		}
	}
	listens := startNode(t, o, polling(true))
	asks := startNode(t, o, polling(false), listens)
	eventually(t, "the nodes meet", func() bool { return listens.Status().Peers == 1 && asks.Status().Peers == 1 })
	subscribe(t, listens, url)
	interval := func() time.Duration { f, _ := listens.Feed(url); return f.Interval }
	before := interval()
	o.set("/feed.xml", page{body: strings.ReplaceAll(datedItems(time.Second), "item ", "new ")})
	subscribe(t, asks, url) // and is told what that found, by an announcement or a later poll
	if err := asks.Hint(t.Context(), url, "test"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the news", func() bool { f, _ := listens.Feed(url); return f.EventsReceived > 0 })
	eventually(t, "the listener expects more", func() bool { return interval() < before*9/10 })
	if f, _ := listens.Feed(url); f.OriginRequests != 1 {
		t.Errorf("it asked %d times itself", f.OriginRequests)
	}
}
