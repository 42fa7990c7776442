package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/kad"
)

const (
	uploadLimit = 1_000_000
	uploadItem  = 20_000 // bytes of an item that do not compress
	lateItems   = 3      // once it spares
)

// The root of a busy feed has a limit on what it sends. Near it, it sends its children
// to each other and hands on nothing more, and nobody misses an item.
func TestUploadLimit(t *testing.T) {
	o := newOrigin(t, "news.feedtree-test.org", true)
	s := newSwarm(t, o.env(), append([]string{"--poll-min", "1s", "--poll-max", "1s"}, o.resolve()...)...)
	common := s.args
	s.args = append(s.args[:len(s.args):len(s.args)], "--max-upload", fmt.Sprint(uploadLimit), "--no-volunteer")
	s.add(1)
	s.args = common
	s.add(4)
	limited := s.proxies[0]
	path := s.pathOf(limited, o)
	doc := &rss{url: o.base + path}
	say := func(guid string) {
		t.Helper()
		text := make([]byte, uploadItem)
		_, _ = rand.Read(text)
		doc.add(guid)
		doc.items[0] = strings.Replace(doc.items[0], "Text of", base64.StdEncoding.EncodeToString(text), 1)
		doc.items = doc.items[:min(len(doc.items), 5)]
		o.set(path, doc.String())
	}
	doc.add("the first")
	o.set(path, doc.String())
	for _, p := range s.proxies {
		p.ask(doc.url)
	}
	s.attached(doc.url)
	eventually(t, 40*time.Second, "the one with a limit serves others", func() bool {
		f, ok := limited.feed(doc.url)
		return ok && f.Root && f.childCount() >= 2
	})

	// sent returns all that it sent in this hour, and the payload it ever sent.
	sent := func() (kad.Upload, uint64) {
		t.Helper()
		st, err := limited.status()
		if err != nil {
			t.Fatal(err)
		}
		return st.Spending.Upload, st.Counts["tree_sent_data_bytes"]
	}
	n := 0
	for up, _ := sent(); !up.Sparing; up, _ = sent() {
		if n++; n > 60 {
			t.Fatalf("after %d items it still spares nothing: %+v", n, up)
		}
		guid := fmt.Sprint("item-", n)
		say(guid)
		s.spread(doc.url, guid, time.Now(), 40*time.Second)
	}
	eventually(t, 40*time.Second, "its children are elsewhere", func() bool {
		f, ok := limited.feed(doc.url)
		return ok && f.Attached && f.childCount() == 0
	})
	_, before := sent()
	for i := range lateItems {
		guid := fmt.Sprint("late-", i)
		say(guid)
		s.spread(doc.url, guid, time.Now(), 40*time.Second)
	}
	end, after := sent()
	t.Logf("it spared after %d items; %d items later it had sent %d bytes of %d, payload %d", n, lateItems, end.Hour, uploadLimit, after)
	if before == 0 || after-before > uploadItem {
		t.Errorf("of %d items of %d bytes it handed on %d bytes, and %d before", lateItems, uploadItem, after-before, before)
	}
	if end.Hour > uploadLimit {
		t.Errorf("it sent %d bytes, and may send %d in an hour", end.Hour, uploadLimit)
	}
}

// pathOf finds a path at the origin of whose feed a proxy is the root.
func (s *swarm) pathOf(root *proxy, o *origin) string {
	s.t.Helper()
	keys := map[*proxy]overlay.Key{}
	for _, p := range s.proxies {
		st, err := p.status()
		if err != nil {
			s.t.Fatal(err)
		}
		id, err := kad.ParseText(st.PeerID)
		if err != nil {
			s.t.Fatal(err)
		}
		keys[p] = id.Key()
	}
	for i := 0; ; i++ {
		path := fmt.Sprintf("/%d.xml", i)
		to, nearest := multicast.GroupOf(o.base+path).Key(), root
		for p, key := range keys {
			if to.Closer(key, keys[nearest]) {
				nearest = p
			}
		}
		if nearest == root {
			return path
		}
	}
}
