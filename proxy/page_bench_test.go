package proxy

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
)

// BenchmarkPage draws the page of a real node with 1,000 feeds of 20 items. The
// target is 50 ms; the first one, which has all feeds to read, must not wait for
// them either.
func BenchmarkPage(b *testing.B) {
	kept, err := archive.Open(filepath.Join(b.TempDir(), "feedtree.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer kept.Close()
	now := time.Now()
	for i := range 1000 {
		url := fmt.Sprintf("https://n%d.example.org/feed", i)
		batch := store.Batch{Feed: &store.Feed{URL: url, Group: multicast.GroupOf(url), Asked: now, Read: now, Fetched: now, Interval: time.Hour}}
		for j := range 20 {
			batch.Items = append(batch.Items, store.Item{
				Feed: url, Key: fmt.Sprint("guid:", j), Hash: [32]byte{byte(j)}, Doc: []byte(rss(fmt.Sprint(j))), Trust: store.Fetched,
				Published: now.Add(-time.Duration(i*20+j) * time.Minute), Received: now,
			})
		}
		if _, err := kept.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	n, err := feedtree.New(b.Context(), feedtree.Config{
		Overlay: kad.Config{Network: "bench", Listen: []string{}, NoMDNS: true, NoNAT: true, NoRendezvous: true}, Store: kept,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	p := New(n, Config{Store: kept})
	begin := time.Now()
	get(p, "/")
	first := time.Since(begin)
	for reading := true; reading; {
		_, reading = p.view.newest.look(n.Status().Feeds)
	}
	b.ResetTimer()
	for b.Loop() {
		if w := get(p, "/"); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "ms-first")
}
