package feedtree_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// A feed that is followed for long has had many volunteers. What the store holds
// of those who are gone must not keep the tree from hearing who speaks now.
func TestManyFormerVolunteersDoNotSilenceTheNextOne(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	kept := store.NewMemory()
	quiet := func(c *feedtree.Config) { c.Store, c.Polling.Off, c.Polling.Min = kept, true, time.Minute }
	first := startNode(t, nil, quiet)
	first.Close()
	now := time.Now()
	batch := store.Batch{Feed: &store.Feed{URL: url, Group: multicast.GroupOf(url), Asked: now, Fetched: now, Interval: time.Minute}}
	for i := range 40 {
		at := now.Add(-time.Duration(i) * time.Hour)
		id, line := identity(t), signing.Line{}.Bump(at)
		h := signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Time: at, TTL: time.Minute}
		line.Heartbeat(&h)
		wire, err := id.Seal(h, nil)
		if err != nil {
			t.Fatal(err)
		}
		batch.Envelopes = append(batch.Envelopes, store.Envelope{
			Group: h.Group, Source: id.Public(), Epoch: h.Epoch, Beat: uint64(h.Time.UnixMilli()), Wire: wire})
		batch.Cursors = append(batch.Cursors, store.Cursor{Group: h.Group, Source: id.Public(), Epoch: h.Epoch})
	}
	if _, err := kept.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	reader := startNode(t, nil, quiet)
	speaker := startNode(t, o, nil, reader)
	got := collect(t, subscribe(t, reader, url))
	subscribe(t, speaker, url)
	o.publish("/feed.xml", "b", "a")
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	if n := reader.Status().Refused["tree: too many sources"]; n > 0 {
		t.Errorf("%d events were dropped for want of room", n)
	}
}

// slowCursors is a store that says late where a feed it knows was left.
type slowCursors struct {
	store.Store
	once   sync.Once
	asked  chan struct{}
	answer chan struct{}
}

func (s *slowCursors) Cursors(ctx context.Context, g [32]byte) ([]store.Cursor, error) {
	if feeds, err := s.Feeds(ctx); err == nil && len(feeds) > 0 {
		s.once.Do(func() { close(s.asked) })
		<-s.answer
	}
	return s.Store.Cursors(ctx, g)
}

func TestAFeedLeftWhileItIsJoinedStaysLeft(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	kept := &slowCursors{Store: store.NewMemory(), asked: make(chan struct{}), answer: make(chan struct{})}
	n := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	subscribe(t, n, url)
	<-kept.asked
	if err := n.Unsubscribe(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	close(kept.answer)
	subscribe(t, n, o.url("/feed.xml")) // and joined again, which comes after
	eventually(t, "joined", func() bool { return n.InTree(url) })
	if err := n.Unsubscribe(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	eventually(t, "left", func() bool { return !n.InTree(url) })
}
