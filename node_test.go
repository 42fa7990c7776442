package feedtree_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
)

func TestSubscribeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.set("/page", page{body: "<html><head><title>x</title></head><body>hello</body></html>"})
	o.set("/gone.xml", page{status: 410})
	o.set("/binary", page{body: "\x89PNG not a feed at all"})
	o.set("/empty", page{})
	n := startNode(t, o, nil)
	for url, want := range map[string]struct {
		is   error
		says string
	}{
		"ftp://example.org/":  {says: "ftp"},
		o.url("/nowhere.xml"): {says: "404"},
		o.url("/gone.xml"):    {says: "410"},
		o.url("/page"):        {is: feed.ErrNotFeed, says: "web page"},
		o.url("/binary"):      {is: feed.ErrNotFeed},
		o.url("/empty"):       {is: feed.ErrEmpty},
	} {
		_, err := n.Subscribe(t.Context(), url)
		if err == nil || want.is != nil && !errors.Is(err, want.is) || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && !strings.Contains(err.Error(), url) && !strings.Contains(url, "ftp") {
			t.Errorf("%s: the error does not say where: %v", url, err)
		}
	}
	var failed *fetch.Error
	if _, err := n.Subscribe(t.Context(), o.url("/gone.xml")); !errors.As(err, &failed) || failed.Status != 410 {
		t.Errorf("410: %v", err)
	}
	if feeds := n.Status().Feeds; len(feeds) != 0 {
		t.Errorf("feeds that could not be had are followed: %v", feeds)
	}
}

func TestAPageLeadsToItsFeed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	o.set("/", page{body: `<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head></html>`})
	n := startNode(t, o, nil)
	for range 2 { // the second time without asking the page again
		if s := subscribe(t, n, o.url("/")); s.URL() != o.url("/feed.xml") {
			t.Fatalf("follows %s", s.URL())
		}
	}
	if asked := o.asked("/"); asked != 1 {
		t.Errorf("the page was asked %d times", asked)
	}
}

func TestAPermanentMoveIsFollowed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/new.xml", "a")
	o.set("/old.xml", page{status: 301, header: map[string]string{"Location": "/new.xml"}})
	o.set("/now.xml", page{status: 302, header: map[string]string{"Location": "/new.xml"}})
	n := startNode(t, o, nil)
	if s := subscribe(t, n, o.url("/old.xml")); s.URL() != o.url("/new.xml") {
		t.Errorf("301: follows %s", s.URL())
	}
	if s := subscribe(t, n, o.url("/now.xml")); s.URL() != o.url("/now.xml") {
		t.Errorf("302: follows %s", s.URL())
	}
}

func TestUnsubscribeForgets(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	kept := store.NewMemory()
	n := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	s := subscribe(t, n, url)
	got := collect(t, s)
	if err := n.Unsubscribe(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the subscription ends", func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		return errors.Is(got.err, feedtree.ErrUnknown)
	})
	if _, _, err := s.Document(t.Context()); !errors.Is(err, feedtree.ErrUnknown) {
		t.Errorf("its document: %v", err)
	}
	if err := n.Unsubscribe(t.Context(), url); !errors.Is(err, feedtree.ErrUnknown) {
		t.Errorf("again: %v", err)
	}
	if feeds, _ := kept.Feeds(t.Context()); len(feeds) != 0 {
		t.Errorf("still in the store: %v", feeds)
	}
	subscribe(t, n, url)
	if asked := o.asked("/feed.xml"); asked < 2 {
		t.Errorf("the origin was asked %d times, a forgotten feed is a new one", asked)
	}
}

func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	n := startNode(t, o, nil)
	s := subscribe(t, n, o.url("/feed.xml"))
	names := []string{"a"}
	for i := range 60 {
		names = append([]string{"item" + string(rune('A'+i))}, names...)
	}
	o.publish("/feed.xml", names...)
	eventually(t, "stored", func() bool { f, _ := n.Feed(s.URL()); return f.Items == 61 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var order []string
	for u, err := range s.Items(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if order = append(order, u.Item.GUID); len(order) == 60 {
			break
		}
	}
	if order[0] != names[59] || order[59] != names[0] {
		t.Errorf("order: %v", order)
	}
	s.Close()
	for range s.Items(t.Context()) {
		t.Error("an item after Close")
	}
}

func TestTheNodeKeyStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	with := func(c *feedtree.Config) { c.Dir = dir }
	n := startNode(t, nil, with)
	id := n.ID()
	n.Close()
	info, err := os.Stat(filepath.Join(dir, "node.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key file: %v, %v", info, err)
	}
	if again := startNode(t, nil, with).ID(); again != id {
		t.Errorf("was %s, is %s", id, again)
	}
	if err := os.WriteFile(filepath.Join(dir, "node.key"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := feedtree.New(t.Context(), feedtree.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "node.key") {
		t.Errorf("a broken key file: %v", err)
	}
}

func TestCloseIsQuickAndFinal(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	nodes := startNodes(t, o, 2)
	s := subscribe(t, nodes[0], o.url("/feed.xml"))
	began := time.Now()
	if err := nodes[0].Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("Close took %v", took)
	}
	if err := nodes[0].Close(); err != nil {
		t.Error(err)
	}
	for _, err := range s.Items(t.Context()) {
		if !errors.Is(err, feedtree.ErrClosed) {
			t.Errorf("items after Close: %v", err)
		}
	}
	if _, err := nodes[0].Subscribe(t.Context(), o.url("/feed.xml")); !errors.Is(err, feedtree.ErrClosed) {
		t.Errorf("subscribe after Close: %v", err)
	}
	if st := nodes[0].Status(); len(st.Feeds) != 0 {
		t.Errorf("status after Close: %v", st.Feeds)
	}
}

func TestStatusAsJSON(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	n := startNode(t, o, nil)
	subscribe(t, n, o.url("/feed.xml"))
	b, err := json.Marshal(n.Status())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		PeerID string   `json:"peer_id"`
		Addrs  []string `json:"addrs"`
		Peers  *int     `json:"peers"`
		Feeds  []map[string]any
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.PeerID != n.ID() || len(got.Addrs) == 0 || !strings.HasSuffix(got.Addrs[0], "/p2p/"+n.ID()) || got.Peers == nil {
		t.Errorf("node: %s", b)
	}
	f := got.Feeds[0]
	for key, want := range map[string]any{
		"url": o.url("/feed.xml"), "title": "News", "parent": "", "items": 1.0,
		"events_received": 0.0, "origin_requests": 1.0, "last_event": nil,
	} {
		if v, ok := f[key]; !ok || v != want {
			t.Errorf("%s is %v, want %v", key, v, want)
		}
	}
	if _, ok := f["children"].([]any); !ok || f["role"] == "" {
		t.Errorf("children %v, role %v", f["children"], f["role"])
	}
}

// A caller that gives up leaves nothing behind, and nothing half done.
func TestGivingUpLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	impatient, giveUp := context.WithCancel(t.Context())
	result := make(chan error, 1)

	resume := n.Stop()
	go func() {
		_, err := n.Subscribe(impatient, url)
		result <- err
	}()
	eventually(t, "the desk is asked", func() bool { return n.Waiting() > 0 })
	giveUp()
	if err := <-result; err == nil {
		t.Error("subscribed although the caller is gone")
	}
	resume()
	if subs := n.Subscriptions(url); subs != 1 {
		t.Errorf("%d subscriptions, want the one that was not given up", subs)
	}

	resume = n.Stop()
	go func() { result <- n.Unsubscribe(impatient, url) }()
	eventually(t, "the desk is asked", func() bool { return n.Waiting() > 0 })
	resume()
	err := <-result
	feeds, errStore := n.Store().Feeds(t.Context())
	if errStore != nil || (err == nil) != (len(feeds) == 0) || (err == nil) != (n.Subscriptions(url) == 0) {
		t.Errorf("unsubscribe: %v; in the store %d, subscriptions %d", err, len(feeds), n.Subscriptions(url))
	}
}
