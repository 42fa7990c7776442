package proxy

import (
	"context"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/internal/chromium"
	"github.com/feedtree/feedtree/overlay/kad"
)

var shots = flag.String("shots", "", "directory for pictures of the page, to be looked at")

// TestShots draws the page as it looks in many states.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("pictures are made with -shots DIR")
	}
	b := chromium.Start(t)
	for name, world := range worlds(t) {
		at := serve(t, world)
		page := b.Open(at + "/")
		page.Wait(`document.documentElement.dataset.live === "yes"`)
		for _, form := range []struct {
			name          string
			width, height int
			dark          bool
		}{{"wide", 1280, 800, false}, {"narrow", 390, 800, false}, {"dark", 1280, 800, true}, {"narrowdark", 390, 800, true}} {
			page.Look(form.width, form.height, form.dark)
			page.Shoot(filepath.Join(*shots, name+"-"+form.name+".png"))
		}
		if name != "some" && name != "large-tree" {
			continue
		}
		page.Do(`(document.getElementById("peers") || {}).open = true`, nil)
		page.Look(390, 800, false)
		page.Shoot(filepath.Join(*shots, name+"-peers.png"))
		page.Go(at + pageOf("https://blog.example.org/1.xml"))
		for _, width := range []int{1280, 390} {
			page.Look(width, 800, false)
			page.Shoot(filepath.Join(*shots, fmt.Sprintf("%s-feed-%d.png", name, width)))
		}
		page.Look(1280, 800, true)
		page.Shoot(filepath.Join(*shots, name+"-feed-dark.png"))
		page.Go(at + page.Text(`document.querySelector(".news a").getAttribute("href")`))
		page.Wait(`document.querySelector("iframe") !== null`)
		page.Look(1280, 800, false)
		page.Shoot(filepath.Join(*shots, name+"-item.png"))
		page.Look(390, 800, true)
		page.Shoot(filepath.Join(*shots, name+"-item-narrowdark.png"))
	}
}

// TestShotsOfAChoice draws the list of a site's feeds.
func TestShotsOfAChoice(t *testing.T) {
	if *shots == "" {
		t.Skip("pictures are made with -shots DIR")
	}
	p, _ := announcing(t)
	page := chromium.Start(t).Open(serve(t, p) + "/")
	page.Wait(`document.documentElement.dataset.live === "yes"`)
	page.Do(`(document.getElementById("url").value = "example.org", document.querySelector("form[action='/subscribe']").submit())`, nil)
	page.Wait(`document.querySelector(".choices") !== null`)
	page.Look(1280, 800, false)
	page.Shoot(filepath.Join(*shots, "choice-wide.png"))
	page.Look(390, 800, true)
	page.Shoot(filepath.Join(*shots, "choice-narrowdark.png"))
}

// serve runs a proxy until the test ends, and returns its address.
func serve(t testing.TB, p *Proxy) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	p.base = "http://" + l.Addr().String()
	go func() { ended <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p.base
}

// worlds are states that the page can be in.
func worlds(t *testing.T) map[string]*Proxy {
	t.Helper()
	now := time.Now()
	ids := []string{"12D3KooWAbcdefgh", "12D3KooWQrstuvwx", "12D3KooWMnopqrst", "12D3KooWZyxwvuts"}
	titles := []string{"Letters from the lighthouse", "The Morning Kernel", "r/gardening", "Weekly bread & butter", "An Unnecessarily Long Name for a Web Log about Nothing Whatsoever, Second Series",
		"Planet Debian", "Zürich unterwegs", "小さな庭", "Release notes", "Comics"}
	some := newFakeNode()
	some.status = feedtree.Status{
		PeerID: "12D3KooWEyopopk1xDdk1wYp5VXWJVtGhHKqRNcnCmzjmLTQxDhA", Addrs: []string{"/ip4/192.0.2.17/udp/4001/quic-v1/p2p/12D3KooWEyopopk1xDdk1wYp5VXWJVtGhHKqRNcnCmzjmLTQxDhA", "/ip6/2001:db8::17/udp/4001/quic-v1/p2p/12D3KooWEyopopk1xDdk1wYp5VXWJVtGhHKqRNcnCmzjmLTQxDhA"},
		Peers: 14, Since: now.Add(-50 * time.Hour), Refused: map[string]uint64{"signature": 3, whyName: 12},
		Counts:       map[string]uint64{"bytes_in": 3_421_000, "bytes_out": 2_190_000},
		Volunteering: feedtree.Effort{On: true, Feeds: 2, Crews: 3, Requests: 4, Bytes: 183_000, MaxRequests: 60},
	}
	some.status.Neighbours = neighbourly(now, "https://blog.example.org/0.xml", "https://blog.example.org/1.xml", "https://blog.example.org/2.xml", "https://blog.example.org/3.xml")
	until := now.Add(17 * time.Minute)
	some.status.Spending.Upload = kad.Upload{Most: 20_000_000, Hour: 16_100_000, Sparing: true, Until: &until}
	kept := store.NewMemory()
	for i, title := range titles {
		f := feedtree.FeedStatus{
			URL: fmt.Sprintf("https://blog.example.org/%d.xml", i), Title: title, Role: feedtree.RoleSubscriber, Attached: true, Parent: ids[i%4], Items: 20 + i*7,
			LastEvent: now.Add(-time.Duration(i*i) * time.Minute), LastFetch: now.Add(-30 * time.Hour), Interval: time.Hour, Version: 1,
			Week: feedtree.Week{Requests: 3 + i, Bytes: int64(40_000 * i), TreeBytes: 12_000, AloneRequests: 160 - i, AloneBytes: 1_900_000},
		}
		switch i {
		case 0:
			f.Live, f.Publisher = true, "sha-256:3f9a6c5e"
		case 1:
			f.Role, f.Parent, f.Root, f.Children, f.NextPoll = feedtree.RoleVolunteer, "", true, ids, now.Add(23*time.Minute)
		case 2:
			f.Failure, f.Reason, f.NextPoll = f.URL+": the server wants to be asked less often (429)", "status 429", now.Add(47*time.Minute)
		case 5:
			f.Role, f.Local, f.NextPoll, f.Parent, f.Attached = feedtree.RoleLocal, "the address holds a password or token", now.Add(12*time.Minute), "", false
			f.Week = feedtree.Week{Requests: 160, Bytes: 900_000, AloneRequests: 160, AloneBytes: 900_000}
		}
		some.status.Feeds = append(some.status.Feeds, f)
		some.feeds[f.URL] = &fakeFeed{url: f.URL}
		addItems(t, kept, f.URL, i, now)
	}
	proxies := map[string]*Proxy{
		"some":  newProxy(some, Config{Store: kept}, time.Now),
		"empty": newProxy(newFakeNode(), Config{Store: store.NewMemory()}, time.Now),
	}
	offline := newFakeNode()
	offline.status.Since = now
	failing := newFakeNode()
	failing.status.Peers, failing.status.Since = 2, now
	for i := range 6 {
		f := feedtree.FeedStatus{URL: fmt.Sprintf("https://blog.example.org/%d.xml", i), Title: titles[i], NextPoll: now.Add(5 * time.Minute), Interval: time.Hour, Items: 12, Version: 1,
			Failure: "https://blog.example.org/x.xml: the host's name does not resolve: lookup blog.example.org: no such host", Reason: "DNS"}
		f.Failure = f.URL + ": the host's name does not resolve: lookup blog.example.org: no such host"
		offline.status.Feeds = append(offline.status.Feeds, f)
		f.Failure, f.Reason = f.URL+": "+[]string{"the server has a problem of its own (503)", "the document is gone for good (410); it is not asked for any more. If it is back, unsubscribe and subscribe again",
			"the server does not prove that it is the one asked for: x509: certificate has expired", "there is nothing at this address (404)", "the server was too slow to answer", "no feed: a web page"}[i],
			[]string{"status 503", "status 410", "TLS", "status 404", "timeout", "content"}[i]
		if i == 1 {
			f.NextPoll = time.Time{}
		}
		failing.status.Feeds = append(failing.status.Feeds, f)
	}
	proxies["offline"] = newProxy(offline, Config{}, time.Now)
	proxies["failing"] = newProxy(failing, Config{}, time.Now)
	many := newFakeNode()
	many.status.Peers, many.status.Since = 40, now.Add(-time.Hour)
	for i := range 1000 {
		many.status.Feeds = append(many.status.Feeds, feedtree.FeedStatus{URL: fmt.Sprintf("https://n%03d.example.org/feed", i), Title: fmt.Sprintf("Feed number %d", i), Role: feedtree.RoleSubscriber, Attached: true,
			LastEvent: now.Add(-time.Minute), Items: i % 30, Week: feedtree.Week{Requests: 1, AloneRequests: 168}})
	}
	proxies["many"] = newProxy(many, Config{}, time.Now)
	return proxies
}

func addItems(t *testing.T, s store.Store, feedURL string, n int, now time.Time) {
	t.Helper()
	batch := store.Batch{Feed: &store.Feed{URL: feedURL}}
	names := []string{"On keeping a lamp lit", "Release 4.2", "What grew this year, and what did not", "Notes on a long walk along the northern coast, with detours and a pencil drawing of a heron"}
	for i := range 4 {
		date := now.Add(-time.Duration(n*31+i*173) * time.Minute)
		doc := fmt.Sprintf(`<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>x</title><link>https://blog.example.org/</link><description>d</description><item><guid isPermaLink="false">%d-%d</guid><link>https://blog.example.org/%d</link>`+
			`<title>%s</title><pubDate>%s</pubDate><content:encoded>&lt;h2&gt;A heading&lt;/h2&gt;&lt;p&gt;Some &lt;b&gt;text&lt;/b&gt; with &lt;a href="https://example.org/"&gt;a link&lt;/a&gt; and &lt;img src="https://example.org/x.png" alt="a heron by the water"&gt;.&lt;/p&gt;&lt;blockquote&gt;&lt;p&gt;Somebody said something that was worth the quote, and went on to say a little more.&lt;/p&gt;&lt;/blockquote&gt;&lt;pre&gt;go test ./...&lt;/pre&gt;</content:encoded></item></channel></rss>`,
			n, i, i, names[(n+i)%4], date.Format(time.RFC1123Z))
		batch.Items = append(batch.Items, store.Item{Feed: feedURL, Key: fmt.Sprintf("guid:%d-%d", n, i), Hash: [32]byte{byte(n), byte(i)}, Doc: []byte(doc), Trust: store.Trust((n + i) % 4), Published: date, Received: date.Add(time.Minute)})
	}
	if _, err := s.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}
