package feedtree_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// Issue: gaps are recovered from parent, lazy links, root replicas, then HTTP, each
// step visible in the item's history, which outlives the program.
func TestAnItemTellsHowItCame(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	kept := store.NewMemory()
	still := func(c *feedtree.Config) { c.Store, c.Polling.Off, c.Polling.Min = kept, true, time.Hour }
	n := startNode(t, o, still)
	got := collect(t, subscribe(t, n, url))
	now, line := time.Now(), signing.Line{}.Bump(time.Now())
	for i, c := range []struct {
		via   multicast.Via
		asked int
		how   feedtree.How
	}{
		{multicast.ViaTree, 0, feedtree.Pushed},
		{multicast.ViaCatchUp, 0, feedtree.CaughtUp},
		{multicast.ViaParent, 1, feedtree.FromParent},
		{multicast.ViaLazy, 3, feedtree.FromLazy},
		{multicast.ViaReplica, 7, feedtree.FromReplica},
	} {
		guid := fmt.Sprint("item-", i)
		var env *signing.Envelope
		env, line = news(t, id, line, url, now, guid)
		n.DeliverBy(env, c.via, "neighbour", c.asked)
		eventually(t, guid, func() bool { return got.got()[guid] == 1 })
		u, _ := got.of(guid)
		if len(u.Ways) != 1 || u.Ways[0].How != c.how || u.Ways[0].Asked != c.asked || u.Ways[0].From == "" || u.Ways[0].At.IsZero() {
			t.Errorf("%v: %+v, want one way: %s, %d asked", c.via, u.Ways, c.how, c.asked)
		}
	}

	o.set("/feed.xml", page{body: document(announcing(id, url), "hole", "0")})
	n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(url), From: 6, To: 6,
		Stamp: multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: line.Epoch, Seq: 7}})
	eventually(t, "what was missing", func() bool { return got.got()["hole"] == 1 })
	hole, _ := got.of("hole")
	if w := hole.Ways; len(w) != 1 || w[0].How != feedtree.FromOrigin || w[0].From != url || w[0].Why != "what is missing was at no other node" {
		t.Errorf("over HTTP: %+v", w)
	}
	env, _ := news(t, id, line, url, now, "hole") // and then it is pushed after all
	n.DeliverBy(env, multicast.ViaTree, "neighbour", 0)
	ways := func(n *feedtree.Node) []feedtree.Way { return n.Ways(url, hole.Item) }
	eventually(t, "the second way", func() bool { return len(ways(n)) == 2 })
	before := ways(n)
	for i := range 20 {
		n.DeliverBy(env, multicast.ViaTree, "neighbour", i)
	}
	eventually(t, "the last of many", func() bool { w := ways(n); return w[len(w)-1].Asked == 19 })
	if w := ways(n); len(w) != 8 || w[0] != before[0] {
		t.Errorf("%d ways are kept, the first %+v; want 8, and %+v", len(w), w[0], before[0])
	}

	n.Close()
	again := startNode(t, o, still)
	if w := ways(again); len(w) != 8 || w[0] != before[0] {
		t.Errorf("after a restart: %+v", w)
	}
}

// Issue: gaps recovered at last over HTTP. A document carries no head of the line, so the
// status says what that closes: not the line, until the events themselves come.
func TestAGapThatHTTPFilledIsNotProvedClosed(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off, c.Polling.Min = true, time.Hour })
	s := subscribe(t, n, url)
	got := collect(t, s)
	line := signing.Line{}.Bump(time.Now())
	var lost []*signing.Envelope
	for _, guid := range []string{"a", "b"} {
		env, next := news(t, id, line, url, time.Now(), guid)
		lost, line = append(lost, env), next
	}
	o.set("/feed.xml", page{body: document(announcing(id, url), "b", "a", "0")})
	n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(url), From: 1, To: 2,
		Stamp: multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: line.Epoch, Seq: 3}})
	eventually(t, "the site's items", func() bool { return got.got()["a"] == 1 && got.got()["b"] == 1 })
	eventually(t, "the site has answered", func() bool { g := s.Status().Gaps; return len(g) == 1 && g[0].Asked != nil })
	if g := s.Status().Gaps[0]; g.From != 1 || g.To != 2 || g.Source != id.Public().Fingerprint().String() || !strings.Contains(g.Sentence, "cannot prove") {
		t.Errorf("%+v", g)
	}
	n.DeliverBy(lost[0], multicast.ViaTree, "neighbour", 0)
	eventually(t, "one of them", func() bool { g := s.Status().Gaps; return len(g) == 1 && g[0].From == 2 })
	n.DeliverBy(lost[1], multicast.ViaTree, "neighbour", 0)
	eventually(t, "both", func() bool { return len(s.Status().Gaps) == 0 })
	volunteer := identity(t) // anybody can leave holes in a line of his own
	n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(url), From: 1, To: 2,
		Stamp: multicast.Stamp{Source: multicast.Source(volunteer.Public()), Epoch: 1, Seq: 3}})
	if g := s.Status().Gaps; len(g) != 0 {
		t.Errorf("a volunteer's: %+v", g)
	}
}
