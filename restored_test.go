package feedtree_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// A publisher whose state comes from a backup does not know what it said since.
// It must not say something else at the same places of its line: others would
// take it for what they have.
func TestARestoredPublisherIsHeard(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	group := multicast.GroupOf(url)
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	reader := startNode(t, o, func(c *feedtree.Config) {
		c.Polling.Off, c.Polling.Min, c.Store = true, time.Hour, durable{store.NewMemory()}
	})
	got := collect(t, subscribe(t, reader, url))

	var backup store.Batch
	first := startNode(t, nil, nil, reader)
	eventually(t, "the nodes meet", func() bool { return first.Status().Peers == 1 })
	for _, items := range [][]string{{"1"}, {"2", "1"}, {"3", "2", "1"}} {
		publish(t, first, id, url, document("", items...))
		if backup.Line == nil {
			backup = copyOf(t, first, url)
		}
	}
	eventually(t, "all three", func() bool { return len(got.got()) == 3 })
	first.Close()

	kept := store.NewMemory()
	if _, err := kept.Apply(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	second := startNode(t, nil, func(c *feedtree.Config) { c.Store = kept }, reader)
	eventually(t, "the nodes meet", func() bool { return second.Status().Peers == 1 })
	publish(t, second, id, url, document("", "4", "3", "2", "1"))
	eventually(t, "the fourth", func() bool { return got.got()["4"] == 1 })
	for _, guid := range []string{"1", "2", "3"} {
		if n := got.got()[guid]; n != 1 {
			t.Errorf("%s came %d times", guid, n)
		}
	}
	honest(t, append(said(t, reader, url, id.Public()), said(t, second, url, id.Public())...))
	if f, _ := reader.Feed(url); len(f.Forks) != 0 {
		t.Errorf("the restored publisher is accused: %+v", f.Forks)
	}
	u, _ := got.of("4")
	if u.Epoch <= backup.Line.Epoch || u.Trust != store.Signed {
		t.Errorf("the fourth is %v of epoch %d; want one after %d", u.Trust, u.Epoch, backup.Line.Epoch)
	}
	if lines, err := kept.Lines(t.Context(), group); err != nil || len(lines) != 1 || lines[0].Epoch != u.Epoch {
		t.Errorf("lines %v, %v; want the epoch %d that was heard", lines, err, u.Epoch)
	}
}

// durable is a store that says it outlives the process, so that receipts are sent.
type durable struct{ store.Store }

func (durable) Durable() bool { return true }

// say publishes, and gives up waiting for holders before long.
func say(t *testing.T, n *feedtree.Node, id *signing.Identity, url, doc string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := n.Publish(ctx, id, url, []byte(doc)); err != nil && !errors.Is(err, feedtree.ErrNotHeld) {
		t.Fatal(err)
	}
}

// copyOf is what a backup of the node's store would hold of a feed.
func copyOf(t *testing.T, n *feedtree.Node, url string) (b store.Batch) {
	t.Helper()
	s, group := n.Store(), multicast.GroupOf(url)
	rec, ok, err := s.Feed(t.Context(), url)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	lines, err := s.Lines(t.Context(), group)
	if err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	b.Feed, b.Line = &rec, &lines[0]
	if b.Items, err = s.Items(t.Context(), url, -1); err != nil {
		t.Fatal(err)
	}
	if b.Envelopes, err = s.Envelopes(t.Context(), group, -1); err != nil {
		t.Fatal(err)
	}
	if b.Cursors, err = s.Cursors(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	return b
}

// Whoever spoke while its clock was ahead would go on in the future, where
// nobody listens.
func TestAClockSetBackDoesNotSilence(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	reader := startNode(t, o, func(c *feedtree.Config) {
		c.Polling.Off, c.Polling.Min, c.Store = true, time.Hour, durable{store.NewMemory()}
	})
	got := collect(t, subscribe(t, reader, url))
	next := time.Now().AddDate(1, 0, 0)
	kept := store.NewMemory()
	line := signing.Line{}.Bump(next)
	if _, err := kept.Apply(t.Context(), store.Batch{Line: &store.Line{
		Group: multicast.GroupOf(url), Source: id.Public(), Epoch: line.Epoch, Beat: uint64(next.UnixMilli()),
	}}); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, nil, func(c *feedtree.Config) { c.Store = kept }, reader)
	eventually(t, "the nodes meet", func() bool { return n.Status().Peers == 1 })
	publish(t, n, id, url, document("", "1"))
	eventually(t, "the item", func() bool { return got.got()["1"] == 1 })
}
