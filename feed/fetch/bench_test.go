package fetch

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// Ten thousand feeds of one proxy, seven thousand hosts: what it costs to know when
// each may be asked, without the asking. One round is an hour: every feed comes up,
// its host's turn is waited for, its state is read, changed and written. It prints
// the share of a core, and what is held for each feed.
func BenchmarkTenThousandFeeds(b *testing.B) {
	const feeds, hosts = 10_000, 7_000
	answer := polite.Answer{Kind: polite.Same, Status: 304, Validators: polite.Validators{From: "https://site1234.example/feed.xml"}}
	rules := polite.Rules{}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	pace := polite.NewHosts(rules)
	states := make(map[string][]byte, feeds)
	var queue turns
	for n := range feeds {
		url := fmt.Sprintf("https://site%d.example/feed%d.xml", n%hosts, n)
		s, at := rules.Next(polite.State{Seed: uint64(n), Validators: polite.Validators{
			ETag: fmt.Sprintf(`W/"0123456789abcdef%d"`, n), LastModified: "Sun, 01 Nov 2026 00:00:00 GMT", From: url}}, answer, now)
		states[url], _ = json.Marshal(s)
		heap.Push(&queue, turn{at: at.Add(-time.Duration(n) * time.Hour / feeds), url: url})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	begin := now
	for b.Loop() {
		for end := now.Add(time.Hour); queue[0].at.Before(end); {
			t := heap.Pop(&queue).(turn)
			now = t.at
			var s polite.State
			if err := json.Unmarshal(states[t.url], &s); err != nil {
				b.Fatal(err)
			}
			f := Feed{URL: t.url, State: s}
			host := f.Hosts()[0]
			if at := pace.Reserve(host, now); !t.reserved && at.After(now) {
				heap.Push(&queue, turn{at, t.url, true})
				continue
			}
			if !pace.Begin(host, now) {
				b.Fatal("the host is not free")
			}
			next, at := rules.Next(s, answer, now)
			pace.End(host, answer, now)
			states[t.url], _ = json.Marshal(next)
			heap.Push(&queue, turn{at: at, url: t.url})
		}
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/feeds, "B/feed")
	b.ReportMetric(100*b.Elapsed().Seconds()/now.Sub(begin).Seconds(), "%core")
}

// One poll that is answered with 304, with everything but the network.
func BenchmarkPollUnchanged(b *testing.B) {
	w := newWorld(io.Discard)
	w.add("news.example", plain, 1)
	c, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	c.transport, c.now = w, func() time.Time { return w.now }
	f := Feed{URL: newsURL}
	for b.Loop() {
		out, err := c.Poll(b.Context(), f, nil)
		if err != nil {
			b.Fatal(err)
		}
		f.State = out.State
	}
}
