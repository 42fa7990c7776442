package feedtree_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

var (
	manyFeeds = flag.Int("feeds", 0, "how many feeds TestManyFeeds has one node follow; 0 skips it")
	manyFor   = flag.Duration("feeds.for", time.Minute, "and for how long it is watched")
)

// One node that follows ten thousand feeds of as many hosts, each polled once an hour:
// what it takes above an idle node, trees and polls and all.
//
//	go test . -run TestManyFeeds -feeds 10000 -v
func TestManyFeeds(t *testing.T) {
	if *manyFeeds == 0 {
		t.Skip("takes minutes; -feeds 10000")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusNotModified)
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	config := func(c *feedtree.Config) { c.Store, c.Polling.Min = a, 0 }
	idle := startNode(t, nil, config)
	heap0, cpu0 := watched(*manyFor / 4)
	idle.Close()

	var resolve []string
	now := time.Now()
	for n := range *manyFeeds {
		name := fmt.Sprintf("site%d.example.org", n)
		url := "http://" + name + ":" + port + "/feed.xml"
		resolve = append(resolve, name+":"+port+":127.0.0.1")
		asked := now.Add(-time.Duration(n) * time.Hour / time.Duration(*manyFeeds))
		rec := store.Feed{
			URL: url, Group: multicast.GroupOf(url), Asked: asked, Read: now, Fetched: asked, NotBefore: asked.Add(time.Hour),
			Interval: time.Hour, Doc: []byte(document("", "a")), Validators: store.Validators{ETag: `"1"`},
		}
		if rec.Origin, err = json.Marshal(polite.State{Seed: uint64(n), Asked: asked, Validators: polite.Validators{From: url}}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Apply(t.Context(), store.Batch{Feed: &rec}); err != nil {
			t.Fatal(err)
		}
	}
	busy := startNode(t, nil, func(c *feedtree.Config) { config(c); c.Fetch.Resolve = resolve })
	watched(*manyFor / 4) // it joins its trees
	before := requests(busy)
	heap1, cpu1 := watched(*manyFor)
	polls := requests(busy) - before
	t.Logf("%d feeds: heap %d MiB above an idle node's %d, %.2f %% of a core (idle %.2f %%), %d polls in %v",
		*manyFeeds, (heap1-heap0)>>20, heap0>>20, cpu1, cpu0, polls, *manyFor)
}

func requests(n *feedtree.Node) (sum uint64) {
	for _, f := range n.Status().Feeds {
		sum += f.OriginRequests
	}
	return sum
}

// watched waits, and returns what is on the heap and the share of a core that the
// process took, the test's server included.
func watched(d time.Duration) (heap int64, percent float64) {
	before := cpu()
	timer := time.NewTimer(d)
	<-timer.C
	percent = 100 * (cpu() - before) / d.Seconds()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), percent
}

// cpu is the seconds that the process's code ran, after a collection, which is when
// they are added up.
func cpu() float64 {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(samples)
	return samples[0].Value.Float64() - samples[1].Value.Float64()
}
