package feedtree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// What a node held for others is news to its own first reader, if the feed's key
// said so.
func TestWhatWasHeldForOthersIsReadBySubscribing(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	holder := startNode(t, o, func(c *feedtree.Config) { c.Store = durableMemory{store.NewMemory()} })
	publisher := startNode(t, o, nil, holder)
	eventually(t, "they meet", func() bool { return publisher.Status().Peers == 1 })
	if r := publish(t, publisher, id, url, document("", "b", "a")); r.Holders != 1 {
		t.Fatalf("held by %d others, want 1", r.Holders)
	}
	publish(t, publisher, identity(t), o.url("/feed.xml"), document("", "forged", "a"))
	publisher.Close()
	doc, state, err := subscribe(t, holder, url).Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trust := map[string]store.Trust{}
	for _, it := range doc.Items {
		trust[it.GUID] = state.Trust[it.Key()]
	}
	if len(trust) != 2 || trust["b"] != store.Signed {
		t.Errorf("the document holds %v; want a, and b signed", trust)
	}
}

// An event that came for others before a node was in the tree of a feed that it
// follows, and was killed then, is read by its own readers after the next start.
func TestWhatWasHeldForOthersIsReadAfterAStart(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	kept := durableMemory{store.NewMemory()}
	configure := func(c *feedtree.Config) { c.Store, c.Polling.Off = kept, true }
	first := startNode(t, o, configure)
	subscribe(t, first, url)
	now := time.Now()
	before, line := news(t, id, signing.Line{}.Bump(now), url, now, "1", "0")
	first.Deliver(before, multicast.ViaTree)
	eventually(t, "the first event is stored", func() bool { f, _ := first.Feed(url); return f.Items == 2 })
	first.Close()

	came, _ := news(t, id, line, url, now, "2", "1", "0")
	if _, err := kept.Apply(t.Context(), store.Batch{Envelopes: []store.Envelope{{
		Group: came.Group, Source: came.Key, Epoch: came.Epoch, Seq: came.Seq, Wire: came.Wire(), Until: now.Add(time.Hour),
	}}}); err != nil {
		t.Fatal(err)
	}
	again := startNode(t, o, configure)
	s := subscribe(t, again, url) // it may have been read before anybody listened
	eventually(t, "what was held for others", func() bool { return trustOf(t, s, "guid:2") == "signed" })
}
