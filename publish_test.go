package feedtree_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

func identity(t testing.TB) *signing.Identity {
	t.Helper()
	id, err := signing.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// announcing is the element by which a document names the feed's key.
func announcing(id *signing.Identity, url string) string {
	return feed.Tree{
		Version: 1, Group: multicast.GroupOf(url).String(), Fingerprint: id.Public().Fingerprint().String(), TTL: time.Minute,
	}.XML()
}

func publish(t testing.TB, n *feedtree.Node, id *signing.Identity, url, doc string) feedtree.Receipt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	r, err := n.Publish(ctx, id, url, []byte(doc))
	if err != nil && !errors.Is(err, feedtree.ErrNotHeld) {
		t.Fatal(err)
	}
	return r
}

// send pushes without waiting for anybody to hold it. A busy machine may not come
// to push within one short wait: only ErrNotHeld says that it did.
func send(t testing.TB, n *feedtree.Node, id *signing.Identity, url, doc string) {
	t.Helper()
	push := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := n.Publish(ctx, id, url, []byte(doc))
		return err
	}
	eventually(t, "something was pushed", func() bool {
		err := push()
		if err != nil && !errors.Is(err, feedtree.ErrNotHeld) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		return err == nil || errors.Is(err, feedtree.ErrNotHeld)
	})
}

func TestASignedItemIsSigned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(testing.TB) *origin
		want  store.Trust
	}{
		"https": {newSecureOrigin, store.Signed},
		"http":  {newOrigin, store.Unconfirmed}, // whoever sits on the line can name a key
	} {
		t.Run(name, func(t *testing.T) {
			o, id := c.start(t), identity(t)
			url := o.url("/feed.xml")
			o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
			nodes := startNodes(t, o, 2)
			s := subscribe(t, nodes[0], url)
			got := collect(t, s)
			send(t, nodes[1], id, url, document(announcing(id, url), "b", "a"))
			eventually(t, "b", func() bool { return got.got()["b"] == 1 })
			if u, _ := got.of("b"); u.Trust != c.want || u.Source != [32]byte(id.Public()) || u.Seq != 1 {
				t.Errorf("b is %v from %x, seq %d; want %v from the publisher", u.Trust, u.Source[:4], u.Seq, c.want)
			}
			_, state, err := s.Document(t.Context())
			if err != nil || state.Trust["guid:b"] != c.want {
				t.Errorf("in the document b is %v (%v)", state.Trust["guid:b"], err)
			}
			if got.got()["a"] != 0 {
				t.Error("a was there before and came again")
			}
		})
	}
}

func TestAForgedEventReachesNobody(t *testing.T) {
	t.Parallel()
	o, id, forger := newSecureOrigin(t), identity(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	nodes := startNodes(t, o, 3)
	s := subscribe(t, nodes[0], url)
	got := collect(t, s)
	send(t, nodes[1], forger, url, document("", "forged"))
	eventually(t, "the forgery is counted", func() bool { return s.Status().Refused["not the feed's key"] > 0 })
	send(t, nodes[2], id, url, document(announcing(id, url), "b", "a"))
	eventually(t, "the real thing", func() bool { return got.got()["b"] == 1 })
	doc, _, err := s.Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range doc.Items {
		if it.GUID == "forged" {
			t.Error("the forged item is in the document")
		}
	}
	if nodes[0].Status().Refused["judge: not the feed's key"] == 0 {
		t.Error("the node's own counter does not show it")
	}
}

func TestAnUnknownKeyIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.publish("/feed.xml", "a") // names no key yet
	still := func(c *feedtree.Config) { c.Polling.Off = true }
	reader := startNode(t, o, still)
	publisher := startNode(t, o, still, reader)
	eventually(t, "the nodes meet", func() bool { return reader.Status().Peers == 1 })
	s := subscribe(t, reader, url)
	got := collect(t, s)
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	send(t, publisher, id, url, document(announcing(id, url), "b", "a"))
	eventually(t, "b, once the key is known", func() bool { return got.got()["b"] == 1 })
	if u, _ := got.of("b"); u.Trust != store.Signed {
		t.Errorf("b is %v", u.Trust)
	}
	if st := s.Status(); st.OriginRequests != 2 || st.Publisher != id.Public().Fingerprint().String() {
		t.Errorf("%d requests, publisher %q", st.OriginRequests, st.Publisher)
	}
}

func TestAPublisherTheFeedDoesNotNameIsAVolunteer(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.publish("/feed.xml", "a")
	still := func(c *feedtree.Config) { c.Polling.Off = true }
	reader := startNode(t, o, still)
	publisher := startNode(t, o, still, reader)
	eventually(t, "the nodes meet", func() bool { return reader.Status().Peers == 1 })
	got := collect(t, subscribe(t, reader, url))
	send(t, publisher, id, url, document("", "b", "a"))
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	if u, _ := got.of("b"); u.Trust != store.Unconfirmed {
		t.Errorf("b is %v, and nothing says whose key that is", u.Trust)
	}
}

func TestAPublisherContinuesItsLine(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	durable := durableMemory{store.NewMemory()}
	reader := startNode(t, o, func(c *feedtree.Config) { c.Store = durable })
	got := collect(t, subscribe(t, reader, url))
	kept := store.NewMemory()
	remembers := func(c *feedtree.Config) { c.Store = kept }

	publisher := startNode(t, o, remembers, reader)
	eventually(t, "they meet", func() bool { return publisher.Status().Peers == 1 })
	first := publish(t, publisher, id, url, document("", "b", "a"))
	if first.Items != 2 || first.Holders != 1 || first.Wanted != 1 {
		t.Errorf("first push: %+v", first)
	}
	again := publish(t, publisher, id, url, document("", "b", "a"))
	if again.Items != 0 || again.Stamp != first.Stamp || again.Holders != 1 {
		t.Errorf("the same again: %+v, want no event and %v still held", again, first.Stamp)
	}
	publisher.Close()

	publisher = startNode(t, o, remembers, reader)
	eventually(t, "they meet again", func() bool { return publisher.Status().Peers == 1 })
	second := publish(t, publisher, id, url, document("", "c", "b", "a"))
	if second.Items != 1 || second.Stamp.Seq != 1 || second.Stamp.Epoch <= first.Stamp.Epoch {
		t.Errorf("after a restart: %+v, want one item in an epoch after %d", second, first.Stamp.Epoch)
	}
	linked(t, kept, multicast.GroupOf(url), first.Stamp, second.Stamp)
	eventually(t, "all", func() bool { return got.got()["b"] == 1 && got.got()["c"] == 1 })
}

// linked checks that the event at next names the one at last as what was before it.
func linked(t *testing.T, s store.Store, g multicast.Group, last, next multicast.Stamp) {
	t.Helper()
	held, err := s.Envelopes(t.Context(), g, -1)
	if err != nil {
		t.Fatal(err)
	}
	var head, prev [32]byte
	for _, e := range held {
		env, err := signing.Open(e.Wire)
		if err != nil || e.Beat != 0 {
			continue
		}
		switch (multicast.Stamp{Source: e.Source, Epoch: e.Epoch, Seq: e.Seq}) {
		case last:
			head = env.Hash()
		case next:
			prev = env.Prev
		}
	}
	if head == [32]byte{} || head != prev {
		t.Errorf("%v names %x as what was before it, want %v, %x", next, prev, last, head)
	}
}

// durableMemory is a store that claims to outlive the process.
type durableMemory struct{ *store.Memory }

func (durableMemory) Durable() bool { return true }

// FeedTree §4.3: heartbeats let subscribers know that nothing was lost; here
// also that nobody need poll.
func TestALivePublisherSilencesTheVolunteers(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	nodes := startNodes(t, o, 3)
	all := []*arrivals{collect(t, subscribe(t, nodes[0], url)), collect(t, subscribe(t, nodes[1], url))}
	eventually(t, "a volunteer", func() bool { return len(volunteers(nodes, url)) > 0 })
	p, err := nodes[2].Publisher(t.Context(), id, url, feedtree.PublisherConfig{TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "no volunteer", func() bool { return len(volunteers(nodes, url)) == 0 })
	asked, beats := o.asked("/feed.xml"), nodes[0].Status().Feeds[0].BeatsReceived
	eventually(t, "heartbeats", func() bool { return nodes[0].Status().Feeds[0].BeatsReceived >= beats+3 })
	if now := o.asked("/feed.xml"); now > asked+1 { // one may have been on its way
		t.Errorf("%d requests while the publisher is live", now-asked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := p.Push(ctx, []byte(document("", "b", "a"))); !errors.Is(err, feedtree.ErrNotHeld) {
		t.Errorf("held by stores that do not outlive the process: %v", err)
	}
	for _, a := range all {
		eventually(t, "b", func() bool { return a.got()["b"] == 1 })
	}
	p.Close()
	eventually(t, "a volunteer takes over from a silent publisher", func() bool { return len(volunteers(nodes, url)) > 0 })
}

// A publisher that ends in order, or whose key is used without a promise later,
// leaves the feed to the volunteers at once.
func TestTheLastWordIsWhatAPublisherPromises(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	nodes := startNodes(t, o, 2)
	got := collect(t, subscribe(t, nodes[0], url))
	live := func(want bool) {
		t.Helper()
		eventually(t, "what it promised is known", func() bool { f, _ := nodes[0].Feed(url); return f.Live == want })
	}
	long := feedtree.PublisherConfig{TTL: time.Hour}
	p, err := nodes[1].Publisher(t.Context(), id, url, long)
	if err != nil {
		t.Fatal(err)
	}
	live(true)
	send(t, nodes[1], id, url, document("", "b", "a")) // beside the publisher: it promises for both
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	live(true)
	p.Close()
	live(false)
	o.set("/feed.xml", page{body: document(announcing(id, url), "c", "b", "a")})
	eventually(t, "c from the origin", func() bool { return got.got()["c"] == 1 })
	if _, err := nodes[1].Publisher(t.Context(), id, url, long); err != nil {
		t.Fatal(err)
	}
	live(true)
}

// One item that no event can carry keeps back no other.
func TestAnItemTooLargeKeepsBackNoOther(t *testing.T) {
	t.Parallel()
	n, id := startNode(t, nil, nil), identity(t)
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 2<<20)
	for i := range noise {
		noise[i] = 'a' + byte(rng.UintN(26))
	}
	url := "https://news.example.org/feed.xml"
	doc := document("<item><guid>huge</guid><description>"+string(noise)+"</description></item>", "b", "a")
	for range 2 { // and again, as a server does after each change
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := n.Publish(ctx, id, url, []byte(doc))
			result <- err
		}()
		eventually(t, "the others are out", func() bool {
			items, err := n.Store().Items(t.Context(), url, -1)
			return err == nil && len(items) == 2
		})
		eventually(t, "it waits for holders", func() bool { return n.Awaited() == 1 })
		cancel()
		if err := <-result; err == nil || !strings.Contains(err.Error(), "guid:huge") {
			t.Errorf("nothing is said of the item that stays: %v", err)
		}
		eventually(t, "it waits no more", func() bool { return n.Awaited() == 0 })
	}
	if items, err := n.Store().Items(t.Context(), url, -1); err != nil || len(items) != 2 {
		t.Errorf("%d items published, %v", len(items), err)
	}
}

// A feed that was only published from here and turns out to be private when it is
// subscribed to leaves the overlay like any other.
func TestAPublishedFeedThatIsPrivateLeaves(t *testing.T) {
	t.Parallel()
	o, id := newOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document("", "a"), header: map[string]string{"Cache-Control": "private"}})
	n := startNode(t, o, nil)
	send(t, n, id, url, document("", "b"))
	eventually(t, "in the overlay", func() bool { return n.InTree(url) })
	s := subscribe(t, n, url)
	if f := s.Status(); f.Role != feedtree.RoleLocal || f.Title != "News" {
		t.Errorf("role %q, local %q, title %q", f.Role, f.Local, f.Title)
	}
	eventually(t, "out of the overlay", func() bool { return !n.InTree(url) })
	if state := s.State(); state.Fetched.IsZero() || state.Local == "" {
		t.Errorf("state %+v", state)
	}
}
