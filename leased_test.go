package feedtree_test

import (
	"testing"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
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
