package feedtree_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// FeedTree §5: one polls, the others hear it and do not.
func TestALegacyFeedIsPolledByOneForAll(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	nodes := startNodes(t, o, 3)
	var all []*arrivals
	for _, n := range nodes {
		all = append(all, collect(t, subscribe(t, n, url)))
	}
	eventually(t, "one volunteer", func() bool { return len(volunteers(nodes, url)) == 1 })

	before, began := o.asked("/feed.xml"), time.Now()
	o.publish("/feed.xml", "b", "a")
	for i, a := range all {
		eventually(t, "b everywhere", func() bool { return a.got()["b"] > 0 })
		t.Logf("node %d has b after %v", i, time.Since(began))
	}
	o.publish("/feed.xml", "c", "b", "a")
	for _, a := range all {
		eventually(t, "c everywhere", func() bool { return a.got()["c"] > 0 })
	}
	eventually(t, "heartbeats are heard", func() bool {
		f, _ := nodes[0].Feed(url)
		g, _ := nodes[1].Feed(url)
		return f.BeatsReceived+g.BeatsReceived >= 3
	})
	rounds := int(time.Since(began)/(pollMin*8/10)) + 1
	if polls := o.asked("/feed.xml") - before; polls > rounds+2 {
		t.Errorf("%d requests in %v, want about one per %v", polls, time.Since(began), pollMin)
	}
	for i, a := range all {
		if got := a.got(); got["a"] != 0 || got["b"] != 1 || got["c"] != 1 {
			t.Errorf("node %d got %v, want b and c once each", i, got)
		}
	}
}

func TestAnotherTakesOverFromADeadVolunteer(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	nodes := startNodes(t, o, 3)
	all := map[*feedtree.Node]*arrivals{}
	for _, n := range nodes {
		all[n] = collect(t, subscribe(t, n, url))
	}
	var polls []*feedtree.Node
	eventually(t, "one volunteer", func() bool { polls = volunteers(nodes, url); return len(polls) == 1 })
	dead := polls[0]
	dead.Close()
	o.publish("/feed.xml", "b", "a")
	for n, a := range all {
		if n != dead {
			eventually(t, "b at the survivors", func() bool { return a.got()["b"] == 1 })
		}
	}
}

// An item that only a newcomer's first fetch saw must reach those who were there
// before, whoever polls next.
func TestWhatANewcomerSawFirstIsNotLost(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	slow := func(c *feedtree.Config) { c.Polling.Off = true } // never asks again
	first := startNode(t, o, slow)
	second := startNode(t, o, nil, first)
	eventually(t, "the nodes meet", func() bool { return first.Status().Peers == 1 && second.Status().Peers == 1 })
	got := collect(t, subscribe(t, first, url))
	o.publish("/feed.xml", "b", "a")
	subscribe(t, second, url)
	eventually(t, "b at the one who was there", func() bool { return got.got()["b"] == 1 })
	if u, _ := got.of("b"); u.Trust != store.Unconfirmed || u.Seq == 0 {
		t.Errorf("b came as %v, seq %d; want from the tree, unconfirmed", u.Trust, u.Seq)
	}
	if n := o.asked("/feed.xml"); first.Status().Feeds[0].OriginRequests != 1 {
		t.Errorf("the one that is not to poll asked the origin again (%d requests in all)", n)
	}
}

func TestALocalFeedNeverEntersTheOverlay(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	for what, p := range map[string]page{
		"/private.xml":           {body: document("", "a"), header: map[string]string{"Cache-Control": "private"}},
		"/none.xml":              {body: document(`<ft:poll xmlns:ft="`+feed.Namespace+`" allow="none"/>`, "a")},
		"/self.xml":              {body: document(`<ft:poll xmlns:ft="`+feed.Namespace+`" allow="self"/>`, "a")},
		"/noarchive.xml":         {body: document("", "a"), header: map[string]string{"X-Robots-Tag": "noindex, noarchive"}},
		"/feed.xml?token=abc123": {body: document("", "a")},
	} {
		path, _, _ := strings.Cut(what, "?")
		o.set(path, p)
		nodes := startNodes(t, o, 2)
		url := o.url(what)
		got := collect(t, subscribe(t, nodes[0], url))
		status, ok := nodes[0].Feed(url)
		if !ok || status.Role != feedtree.RoleLocal || status.Local == "" {
			t.Fatalf("%s: role %q, local %q", what, status.Role, status.Local)
		}
		p.body = strings.Replace(p.body, "<item>", "<item><guid>b</guid></item><item>", 1)
		o.set(path, p)
		eventually(t, "polled by its owner alone", func() bool {
			if nodes[0].InTree(url) || nodes[1].InTree(url) {
				t.Fatalf("%s: has a tree", what)
			}
			return got.got()["b"] == 1
		})
		if _, err := nodes[0].Publish(t.Context(), identity(t), url, []byte(p.body)); !errors.Is(err, feedtree.ErrLocal) {
			t.Errorf("%s: publishing it: %v", what, err)
		}
	}
}

// What sites say to search engines about their feeds every day is no wish that
// others should poll them alone, and who announces a tree wants its feed passed on.
func TestOrdinaryWordsToRobotsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	n := startNode(t, o, nil)
	o.set("/noindex.xml", page{body: document("", "a"), header: map[string]string{"X-Robots-Tag": "noindex, follow"}})
	o.set("/polled.xml", page{body: document(`<ft:poll xmlns:ft="`+feed.Namespace+`" allow="cooperative"/>`, "a")})
	o.set("/tree.xml", page{
		body:   document(`<ft:tree xmlns:ft="`+feed.Namespace+`" version="1" group="x"/>`, "a"),
		header: map[string]string{"X-Robots-Tag": "noarchive"},
	})
	for _, path := range []string{"/noindex.xml", "/polled.xml", "/tree.xml"} {
		if f := subscribe(t, n, o.url(path)).Status(); f.Role == feedtree.RoleLocal {
			t.Errorf("%s stays local: %s", path, f.Local)
		}
	}
}

// A feed that is passed on is taken out when its origin begins to ask for that,
// with the same document, and comes back when it no longer does.
func TestAnOriginCanChangeItsMind(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	if role(n, url) == feedtree.RoleLocal {
		t.Fatal("local from the start")
	}
	o.set("/feed.xml", page{body: document("", "a"), header: map[string]string{"X-Robots-Tag": "FeedTree: none"}})
	eventually(t, "it stays here", func() bool { return role(n, url) == feedtree.RoleLocal && !n.InTree(url) })
	o.publish("/feed.xml", "b", "a")
	eventually(t, "it is passed on", func() bool { return role(n, url) != feedtree.RoleLocal })
}

func TestARestartCatchesUpWithoutAskingTheOrigin(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	stays := startNode(t, o, nil)
	dir, kept := t.TempDir(), store.NewMemory()
	resumable := func(c *feedtree.Config) {
		c.Dir, c.Store = dir, kept
		c.Polling.Min = time.Minute // it does not poll before the other is heard
	}
	goes := startNode(t, o, resumable, stays)
	id := goes.ID()
	subscribe(t, stays, url)
	before := collect(t, subscribe(t, goes, url))
	eventually(t, "joined", func() bool { f, _ := goes.Feed(url); return f.Attached && f.BeatsReceived > 0 })
	goes.Close()
	o.publish("/feed.xml", "b", "a")
	there := collect(t, subscribe(t, stays, url))
	eventually(t, "b at the one that stays", func() bool { return there.got()["b"] == 1 })

	goes = startNode(t, o, resumable, stays)
	if goes.ID() != id {
		t.Errorf("the node's ID was %s and is %s", id, goes.ID())
	}
	s := subscribe(t, goes, url)
	eventually(t, "b after the restart", func() bool {
		doc, _, err := s.Document(t.Context())
		return err == nil && len(doc.Items) == 2
	})
	if f, _ := goes.Feed(url); f.OriginRequests != 0 {
		t.Errorf("%d requests to the origin after the restart", f.OriginRequests)
	}
	cursors, err := kept.Cursors(t.Context(), multicast.GroupOf(url))
	if err != nil || len(cursors) != 1 || cursors[0].Seq != 2 {
		t.Errorf("cursors %v, %v; want one at the second event", cursors, err)
	}
	if before.got()["b"] != 0 || !errors.Is(before.err, feedtree.ErrClosed) {
		t.Errorf("the subscription of the closed node: %v, %v", before.got(), before.err)
	}
}

// FeedTree §4.5.2: as a fallback the conventional feed is asked.
func TestANodeAloneIsAnOrdinaryReader(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	alone := startNode(t, o, nil)
	got := collect(t, subscribe(t, alone, url))
	for _, guid := range []string{"b", "c"} {
		o.publish("/feed.xml", guid, "a")
		eventually(t, guid, func() bool { return got.got()[guid] == 1 })
	}
	if u, _ := got.of("c"); u.Trust != store.Fetched {
		t.Errorf("trust %v", u.Trust)
	}
}

func TestAFailingOriginIsToldAndRecovers(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, nil)
	s := subscribe(t, n, url)
	got := collect(t, s)
	o.set("/feed.xml", page{status: 503, body: "later"})
	eventually(t, "the failure shows", func() bool { return strings.Contains(s.State().Failure, "503") })
	if doc, _, err := s.Document(t.Context()); err != nil || len(doc.Items) != 1 {
		t.Errorf("the document while the origin fails: %v", err)
	}
	o.publish("/feed.xml", "b", "a")
	eventually(t, "b", func() bool { return got.got()["b"] == 1 && s.State().Failure == "" })
}

// Whoever says what nobody can read has not polled for anybody.
func TestGarbageIsNoOutcome(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	eventually(t, "it polls", func() bool { return role(n, url) == feedtree.RoleVolunteer })
	id, line := identity(t), signing.Line{}.Bump(time.Now())
	eventually(t, "some garbage", func() bool {
		var env *signing.Envelope
		env, line = speak(t, id, line, signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Media: signing.RSS, Time: time.Now()}, "garbage")
		n.Deliver(env, multicast.ViaTree)
		f, _ := n.Feed(url)
		if f.EventsReceived > 0 && f.Role != feedtree.RoleVolunteer {
			t.Fatalf("it polls no more, after %d events of garbage", f.EventsReceived)
		}
		return f.EventsReceived >= 30 && f.Refused["unreadable payload"] >= 30
	})
}

// speak says the next word of a line: an event with a payload, or a heartbeat.
func speak(t testing.TB, id *signing.Identity, l signing.Line, h signing.Header, payload string) (*signing.Envelope, signing.Line) {
	t.Helper()
	if payload != "" {
		l.Event(&h)
	} else {
		l.Heartbeat(&h)
	}
	wire, err := id.Seal(h, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	env, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	next, err := l.Advance(env)
	if err != nil {
		t.Fatal(err)
	}
	return env, next
}

// What the tree brings late says nothing of the present, whichever way it came:
// a neighbour may pass on what it got long ago, or what it kept back.
func TestAnOldWordIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	h := signing.Header{Role: signing.Publisher, Group: multicast.GroupOf(url), TTL: 10 * time.Minute}
	line := signing.Line{}.Bump(time.Now().Add(-time.Hour))
	for _, c := range []struct {
		ago  time.Duration
		live bool
	}{{time.Hour, false}, {30 * time.Minute, false}, {2 * time.Minute, true}} {
		h.Time = time.Now().Add(-c.ago)
		before, _ := n.Feed(url)
		var env *signing.Envelope
		env, line = speak(t, id, line, h, "")
		n.Deliver(env, multicast.ViaTree)
		eventually(t, "heard", func() bool { f, _ := n.Feed(url); return f.BeatsReceived > before.BeatsReceived })
		if f, _ := n.Feed(url); f.Live != c.live {
			t.Errorf("a heartbeat of %v ago, with a TTL of %v: live is %v", c.ago, h.TTL, f.Live)
		}
	}
}

// An origin can make its feed private without changing the document.
func TestAFeedThatBecomesPrivateLeaves(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	eventually(t, "in the overlay", func() bool { return n.InTree(url) })
	o.set("/feed.xml", page{body: document("", "a"), header: map[string]string{"Cache-Control": "no-store"}})
	eventually(t, "out of the overlay", func() bool { return role(n, url) == feedtree.RoleLocal && !n.InTree(url) })
}
