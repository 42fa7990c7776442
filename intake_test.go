package feedtree_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// full is a store that has no room for a certain event for a while.
type full struct {
	store.Store
	seq  uint64
	left atomic.Int64 // how often it fails
}

var errFull = errors.New("the disk is full")

func (f *full) Apply(ctx context.Context, b store.Batch) ([]store.Item, error) {
	if slices.ContainsFunc(b.Envelopes, func(e store.Envelope) bool { return e.Seq == f.seq && e.Beat == 0 }) && f.left.Add(-1) >= 0 {
		return nil, errFull
	}
	return f.Store.Apply(ctx, b)
}

func (*full) Durable() bool { return true }

// What could not be stored must not be lost, and what comes after it must not
// hide that.
func TestAnEventThatCannotBeStoredIsNotLost(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]int64{"for a moment": 2, "for long": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, id := newSecureOrigin(t), identity(t)
			url := o.url("/feed.xml")
			o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
			dir, kept := t.TempDir(), &full{Store: store.NewMemory(), seq: 2}
			kept.left.Store(fails)
			with := func(c *feedtree.Config) {
				c.Dir, c.Store, c.Polling.Off, c.Polling.Min = dir, kept, true, time.Hour
			}
			publisher := startNode(t, nil, nil)
			reader := startNode(t, o, with, publisher)
			eventually(t, "the nodes meet", func() bool { return publisher.Status().Peers == 1 })
			got := collect(t, subscribe(t, reader, url))
			for _, items := range [][]string{{"1"}, {"2", "1"}, {"3", "2", "1"}} {
				say(t, publisher, id, url, document("", items...))
				last := items[0]
				if last != "2" || fails < 1000 {
					eventually(t, last, func() bool { return got.got()[last] == 1 })
				}
			}
			cursor := func() uint64 {
				cursors, err := kept.Cursors(t.Context(), multicast.GroupOf(url))
				if err != nil || len(cursors) != 1 {
					return 0
				}
				return cursors[0].Seq
			}
			if fails < 1000 {
				eventually(t, "the cursor at the end", func() bool { return cursor() == 3 })
				return
			}
			if c := cursor(); c != 1 {
				t.Errorf("the cursor is at %d, the second event is not stored", c)
			}
			status, _ := reader.Feed(url)
			if status.Refused["could not be stored"] == 0 {
				t.Errorf("it is not counted: %v", status.Refused)
			}
			reader.Close()
			kept.left.Store(0)
			reader = startNode(t, o, with, publisher)
			s := subscribe(t, reader, url)
			eventually(t, "the second after a restart", func() bool {
				doc, _, err := s.Document(t.Context())
				return err == nil && len(doc.Items) == 4
			})
		})
	}
}

// A flood that waits to be stored does not keep a node from ending. What is left
// comes again after the next start: no cursor moved over it.
func TestABacklogDoesNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "0")
	url := o.url("/feed.xml")
	kept := store.NewMemory()
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off, c.Store = true, kept })
	subscribe(t, n, url)
	eventually(t, "joined", func() bool { return n.InTree(url) })
	id, line := identity(t), signing.Line{}.Bump(time.Now())
	var flood []*signing.Envelope
	for i := range 200 {
		var names []string
		for j := range 800 {
			names = append(names, fmt.Sprint(i, "-", j))
		}
		h := signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Media: signing.RSS, Time: time.Now()}
		var env *signing.Envelope
		env, line = speak(t, id, line, h, document("", names...))
		flood = append(flood, env)
	}
	for _, env := range flood {
		n.Deliver(env, multicast.ViaTree)
	}
	began := time.Now()
	n.Close()
	took := time.Since(began)
	cursors, err := kept.Cursors(t.Context(), multicast.GroupOf(url))
	if err != nil || len(cursors) != 1 {
		t.Fatal(cursors, err)
	}
	t.Logf("closed after %v, with %d of %d events stored", took, cursors[0].Seq, len(flood))
	if one := took / time.Duration(cursors[0].Seq+1); took > 2500*time.Millisecond+2*one { // what is being stored is finished
		t.Error("it took too long")
	}
	known, err := kept.Known(t.Context(), url)
	for i := range uint64(len(flood)) {
		if _, stored := known[fmt.Sprintf("guid:%d-0", i)]; err != nil || stored && i >= cursors[0].Seq || !stored && i == cursors[0].Seq-1 {
			t.Fatalf("event %d is stored: %v; the cursor is at %d (%v)", i+1, stored, cursors[0].Seq, err)
		}
	}
}
