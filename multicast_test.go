package feedtree_test

import (
	"strings"
	"testing"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

// What a node does, it does over gossip too: a publisher's news comes, signed, and
// the publisher hears who holds it.
func TestANetworkThatGossips(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	gossip := func(c *feedtree.Config) {
		c.Multicast, c.Polling.Off, c.Store = feedtree.MulticastGossip, true, durableMemory{store.NewMemory()}
	}
	first := startNode(t, o, gossip)
	second := startNode(t, o, gossip, first)
	publisher := startNode(t, o, gossip, first)
	for _, n := range []*feedtree.Node{first, second, publisher} {
		eventually(t, "the nodes meet", func() bool { return n.Status().Peers == 2 })
	}
	one, two := collect(t, subscribe(t, first, url)), collect(t, subscribe(t, second, url))
	for _, n := range []*feedtree.Node{first, second} {
		eventually(t, "the readers are in the group", func() bool { f, _ := n.Feed(url); return f.Attached })
	}
	got := publish(t, publisher, id, url, document("", "b", "a"))
	if got.Holders < 1 {
		t.Errorf("nobody holds it: %+v", got)
	}
	for _, a := range []*arrivals{one, two} {
		eventually(t, "the news comes", func() bool { return a.got()["b"] == 1 })
		if u, _ := a.of("b"); u.Trust != store.Signed {
			t.Errorf("the publisher's item is %v", u.Trust)
		}
	}
}

func TestAnUnknownMulticastIsRefused(t *testing.T) {
	t.Parallel()
	_, err := feedtree.New(t.Context(), feedtree.Config{Multicast: "smoke"})
	if err == nil || !strings.Contains(err.Error(), `"smoke"`) || !strings.Contains(err.Error(), `"gossip"`) {
		t.Errorf("got %v", err)
	}
}
