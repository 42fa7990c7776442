package feedtree_test

import (
	"context"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// said is what a node holds of a source's line, in its order.
func said(t testing.TB, n *feedtree.Node, url string, key signing.PublicKey) (all []*signing.Envelope) {
	t.Helper()
	held, err := n.Store().Envelopes(t.Context(), multicast.GroupOf(url), -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range held {
		if e.Source != key {
			continue
		}
		env, err := signing.Open(e.Wire)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, env)
	}
	return all
}

// honest checks that nothing said is a proof against its source.
func honest(t testing.TB, all []*signing.Envelope) {
	t.Helper()
	for i, a := range all {
		for _, b := range all[:i] {
			if p, err := signing.ProveFork(a, b); err == nil {
				t.Errorf("%v %d/%d and %v %d/%d are a fork at %d", a.Kind, a.Epoch, a.Seq, b.Kind, b.Epoch, b.Seq, p.Place)
			}
		}
	}
}

// Issue: without state (a CI job) a new epoch is linked to the last head that the
// network knows.
func TestAJobWithoutStateGoesOnBehindTheHead(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	reader := startNode(t, o, func(c *feedtree.Config) {
		c.Polling.Off, c.Polling.Min, c.Store = true, time.Hour, durable{store.NewMemory()}
	})
	got := collect(t, subscribe(t, reader, url))
	for _, items := range [][]string{{"1"}, {"2", "1"}, {"3", "2", "1"}} {
		job := startNode(t, nil, nil, reader) // another machine each time, with nothing on it
		eventually(t, "the nodes meet", func() bool { return job.Status().Peers == 1 })
		publish(t, job, id, url, document("", items...))
		eventually(t, items[0], func() bool { return got.got()[items[0]] == 1 })
		job.Close()
	}
	all := said(t, reader, url, id.Public())
	if len(all) != 3 {
		t.Fatalf("%d events are held, want 3", len(all))
	}
	honest(t, all)
	for i, env := range all[1:] {
		if before := all[i]; env.Epoch <= before.Epoch || env.Seq != 1 || env.Prev != before.Hash() {
			t.Errorf("event %d/%d names %x as what was before it, want %d/%d, %x",
				env.Epoch, env.Seq, env.Prev[:8], before.Epoch, before.Seq, before.Hash())
		}
	}
	for _, guid := range []string{"1", "2", "3"} {
		if n := got.got()[guid]; n != 1 {
			t.Errorf("%s came %d times", guid, n)
		}
	}
}

// news is what an event about items says, in the name of the publisher.
func news(t testing.TB, id *signing.Identity, l signing.Line, url string, at time.Time, items ...string) (*signing.Envelope, signing.Line) {
	t.Helper()
	return speak(t, id, l, signing.Header{Role: signing.Publisher, Media: signing.RSS, Group: multicast.GroupOf(url), Time: at, TTL: time.Minute},
		document("", items...))
}

// Security reference, rule 4: two valid headers at one place: told to all, stored,
// shown; nothing of that epoch is accepted as signed any more, the origin is asked,
// until a new epoch is opened.
func TestAPublisherThatSaysTwoThingsIsNotBelieved(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	kept := store.NewMemory()
	one := startNode(t, o, func(c *feedtree.Config) { c.Store, c.Polling.Min = kept, time.Second })
	other := startNode(t, o, nil, one)
	eventually(t, "the nodes meet", func() bool { return other.Status().Peers == 1 })
	subscribe(t, one, url)
	got := collect(t, subscribe(t, other, url))
	eventually(t, "in the tree", func() bool {
		a, _ := one.Feed(url)
		b, _ := other.Feed(url)
		return a.Attached && b.Attached
	})
	now := time.Now()
	start := signing.Line{}.Bump(now)
	a, line := news(t, id, start, url, now, "a")
	b, _ := news(t, id, start, url, now, "b")
	if one.Say(t.Context(), a) != nil || other.Say(t.Context(), b) != nil {
		t.Fatal("not said")
	}
	forked := func(n *feedtree.Node) bool { f, _ := n.Feed(url); return len(f.Forks) == 1 }
	eventually(t, "both know", func() bool { return forked(one) && forked(other) })
	for _, n := range []*feedtree.Node{one, other} {
		f, _ := n.Feed(url)
		fork := f.Forks[0]
		p, err := signing.OpenFork(fork.Proof)
		if err != nil || p.First.Key != id.Public() || !fork.Publisher || fork.Epoch != start.Epoch || fork.Place != 1 ||
			fork.Source != id.Public().Fingerprint().String() {
			t.Errorf("%+v, %v", fork, err)
		}
		if f.Live {
			t.Error("a publisher that lies is taken for live")
		}
	}

	lie, line := news(t, id, line, url, now.Add(time.Second), "lie")
	if err := one.Say(t.Context(), lie); err != nil {
		t.Fatal(err)
	}
	o.set("/feed.xml", page{body: document(announcing(id, url), "origin", "0")})
	eventually(t, "the origin is asked", func() bool { return got.got()["origin"] == 1 })
	if u, _ := got.of("origin"); u.Trust == store.Signed {
		t.Errorf("%+v", u)
	}
	eventually(t, "the third statement is refused", func() bool {
		f, _ := other.Feed(url)
		return f.Refused["its source said two things at one place"] > 0
	})
	if got.got()["lie"] != 0 {
		t.Error("what a proven liar says is shown")
	}

	anew, _ := news(t, id, line.Bump(time.Now()), url, time.Now(), "anew")
	if err := one.Say(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new epoch", func() bool { return got.got()["anew"] == 1 })
	if u, _ := got.of("anew"); u.Trust != store.Signed {
		t.Errorf("the new epoch's event is %v", u.Trust)
	}

	one.Close()
	again := startNode(t, o, func(c *feedtree.Config) { c.Store = kept })
	if f, ok := again.Feed(url); !ok || len(f.Forks) != 1 {
		t.Errorf("after a restart: %+v", f.Forks)
	}
	if verdict, _ := again.Judge(lie); verdict != multicast.Refuse {
		t.Error("after a restart the liar is believed again")
	}
}

// Each word of a live publisher proves up to when nothing is missing; one that it
// owes shows, and the next one ends that. A word that says more than came proves
// nothing.
func TestFreshnessIsProvedByThePublisher(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off, c.Polling.Min = true, time.Hour })
	subscribe(t, n, url)
	status := func() feedtree.FeedStatus { f, _ := n.Feed(url); return f }
	fetched := status().FreshAsOf
	if fetched.IsZero() || !fetched.Equal(status().LastFetch) {
		t.Fatalf("fresh as of %v, fetched at %v", fetched, status().LastFetch)
	}
	now := time.Now().Add(2 * time.Second).Truncate(time.Millisecond) // its clock is ahead
	h := signing.Header{Role: signing.Publisher, Group: multicast.GroupOf(url), TTL: time.Minute, Time: now}
	beat, line := speak(t, id, signing.Line{}.Bump(now), h, "")
	n.Deliver(beat, multicast.ViaTree)
	eventually(t, "fresher", func() bool { return status().FreshAsOf.After(fetched) })
	if at := status().FreshAsOf; at.After(time.Now()) {
		t.Errorf("fresh as of %v, which is to come", at)
	}

	stamp := multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: line.Epoch}
	stranger := stamp
	stranger.Source[0]++
	n.Notice(multicast.Notice{Kind: multicast.Overdue, Group: multicast.GroupOf(url), Stamp: stranger, After: time.Minute})
	n.Notice(multicast.Notice{Kind: multicast.Overdue, Group: multicast.GroupOf(url), Stamp: stamp, After: 2 * time.Minute})
	eventually(t, "the silence shows", func() bool { return !status().SilentSince.IsZero() })
	if silent := time.Since(status().SilentSince); silent < 2*time.Minute {
		t.Errorf("silent for %v, want what the publisher owes and not what a stranger does", silent)
	}

	before := status().FreshAsOf
	h.Time = time.Now().Add(3 * time.Second)
	_, line = news(t, id, line, url, h.Time, "1") // does not come
	h.Time = h.Time.Add(time.Second)
	beat, _ = speak(t, id, line, h, "")
	beats := status().BeatsReceived
	n.DeliverWith(beat, 0)
	eventually(t, "heard", func() bool { return status().BeatsReceived == beats+1 })
	if f := status(); !f.FreshAsOf.Equal(before) || !f.SilentSince.IsZero() {
		t.Errorf("fresh as of %v, silent since %v; want %v and not", f.FreshAsOf, f.SilentSince, before)
	}
}

// A publisher's epoch that does not begin behind what came before shows that
// something is missing, and the origin is asked.
func TestAMissingEndOfAnEpochIsAskedFor(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off, c.Polling.Min = true, time.Hour })
	got := collect(t, subscribe(t, n, url))
	now := time.Now()
	one, line := news(t, id, signing.Line{}.Bump(now), url, now, "1")
	n.Deliver(one, multicast.ViaTree)
	eventually(t, "1", func() bool { return got.got()["1"] == 1 })
	kept := line
	_, line = news(t, id, line, url, now, "2") // is lost in a crash

	whole, next := news(t, id, kept.Bump(now.Add(time.Second)), url, now.Add(time.Second), "3")
	n.Deliver(whole, multicast.ViaTree)
	eventually(t, "3", func() bool { return got.got()["3"] == 1 })
	asked := o.asked("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "2", "1", "0")})
	line.Epoch = next.Epoch
	gap, _ := news(t, id, line.Bump(now.Add(2*time.Second)), url, now.Add(2*time.Second), "4")
	if asked != 1 {
		t.Errorf("%d requests before anything was missing", asked)
	}
	n.Deliver(gap, multicast.ViaTree)
	eventually(t, "2, from the origin", func() bool { return got.got()["2"] == 1 })
}

// Another process that speaks with a node's key makes the line a lie; the node goes
// on in an epoch in which it alone speaks.
func TestAConvictedAuthorOpensANewEpoch(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "0")})
	reader := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off, c.Polling.Min = true, time.Hour })
	got := collect(t, subscribe(t, reader, url))
	n := startNode(t, nil, nil, reader)
	eventually(t, "the nodes meet", func() bool { return n.Status().Peers == 1 })
	p, err := n.Publisher(t.Context(), id, url, feedtree.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, _ = p.Push(ctx, []byte(document("", "1"))) // nobody holds it durably
	eventually(t, "1", func() bool { return got.got()["1"] == 1 })
	all := said(t, reader, url, id.Public())
	mine := all[0]
	lie, _ := speak(t, id, signing.Line{Epoch: mine.Epoch, Head: mine.Prev}, mine.Header, document("", "lie"))
	if err := reader.Say(t.Context(), lie); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is known", func() bool { f, _ := reader.Feed(url); return len(f.Forks) == 1 })
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, _ = p.Push(ctx, []byte(document("", "2", "1")))
	eventually(t, "2", func() bool { return got.got()["2"] == 1 })
	if u, _ := got.of("2"); u.Epoch <= mine.Epoch || u.Trust != store.Signed {
		t.Errorf("2 is %v of epoch %d, want a signed one after %d", u.Trust, u.Epoch, mine.Epoch)
	}
}
