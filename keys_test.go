package feedtree_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// house is a publisher's keys: a root kept at home, and what it signed.
type house struct {
	t     testing.TB
	url   string
	root  *signing.Identity
	state signing.KeyState
	cert  signing.Certificate
}

// newHouse makes the keys of a feed, and the first certificate, with one signing key.
func newHouse(t testing.TB, url string, issued time.Time) (h *house, signer *signing.Identity) {
	h = &house{t: t, url: url, root: identity(t)}
	h.state = signing.KeyState{URL: url, Roots: signing.RootSet{Keys: []signing.PublicKey{h.root.Public()}, Threshold: 1}}
	return h, h.rotate(issued)
}

// rotate makes another signing key and drops those before.
func (h *house) rotate(issued time.Time) *signing.Identity {
	id := identity(h.t)
	h.state.Signing = []signing.SigningKey{{Key: id.Public(), Until: issued.Add(signing.MaxSigning)}}
	h.sign(issued, h.root)
	return id
}

func (h *house) sign(issued time.Time, by ...*signing.Identity) {
	h.t.Helper()
	h.state.Version++
	h.state.Issued = issued
	s, err := signing.SignKeyState(h.state, by...)
	if err == nil {
		h.cert, err = h.cert.With(s)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// announce puts the feed and the certificate on the site.
func (h *house) announce(o *origin, items ...string) {
	h.serve(o)
	o.set("/feed.xml", page{body: document(h.element(), items...)})
}

func (h *house) serve(o *origin) {
	o.set("/keys.pem", page{body: string(h.cert.MarshalPEM())})
}

func (h *house) element() string {
	return feed.Tree{
		Version: 1, Group: multicast.GroupOf(h.url).String(), Cert: strings.Replace(h.url, "/feed.xml", "/keys.pem", 1),
		Fingerprint: h.cert.Latest().Fingerprint().String(), TTL: time.Minute,
	}.XML()
}

func (h *house) teach(n *feedtree.Node) {
	h.t.Helper()
	if err := n.LearnKeys(h.t.Context(), h.url, h.cert.MarshalPEM()); err != nil {
		h.t.Fatal(err)
	}
}

func still(c *feedtree.Config) { c.Polling.Off = true }

// A subscriber learns the keys from the feed's certificate, and what changes in them
// from the tree: with the site gone it still believes the next key, and no longer
// the one revoked.
func TestKeysComeFromTheSiteAndThenFromTheTree(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, first := newHouse(t, url, time.Now())
	h.announce(o, "a")
	reader := startNode(t, o, still)
	publisher := startNode(t, o, still, reader)
	eventually(t, "the nodes meet", func() bool { return reader.Status().Peers == 1 })
	s := subscribe(t, reader, url)
	got := collect(t, s)
	eventually(t, "the reader is in the tree", func() bool { return s.Status().Attached })
	if st := s.Status(); st.Keys.State != feedtree.KeysCurrent || st.Keys.Version != 1 || st.Pin.How != "https" ||
		st.Pin.Fingerprint != h.root.Public().Fingerprint().String() || st.Publisher != st.Pin.Fingerprint {
		t.Fatalf("%+v %+v", st.Keys, st.Pin)
	}
	if o.asked("/keys.pem") != 1 {
		t.Errorf("the certificate was asked for %d times", o.asked("/keys.pem"))
	}
	h.teach(publisher)
	send(t, publisher, first, url, document("", "b", "a"))
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	if u, _ := got.of("b"); u.Trust != store.Signed {
		t.Errorf("b is %v", u.Trust)
	}

	o.set("/keys.pem", page{status: 404})
	o.set("/feed.xml", page{status: 404})
	h.state.Revoked = []signing.Revocation{{Key: first.Public(), Epoch: 1 << 50}} // all it said counts
	second := h.rotate(time.Now())
	h.teach(publisher)
	send(t, publisher, second, url, document("", "c", "b", "a"))
	eventually(t, "c, signed with the next key", func() bool { return got.got()["c"] == 1 })
	if u, _ := got.of("c"); u.Trust != store.Signed || u.Source != [32]byte(second.Public()) {
		t.Errorf("c is %v", u.Trust)
	}
	eventually(t, "the keys are stored", func() bool {
		rec, _, err := reader.Store().Feed(t.Context(), url)
		return err == nil && strings.Contains(string(rec.Cert), "FEEDTREE KEY STATE") && s.Status().Keys.Version == 2
	})
	if o.asked("/keys.pem") != 1 {
		t.Errorf("the certificate was asked for %d times: the tree told", o.asked("/keys.pem"))
	}
	if err := publisher.LearnKeys(t.Context(), url, h.cert[:1].MarshalPEM()); signing.ReasonOf(err) != signing.ReasonStale {
		t.Errorf("a rollback by hand: %v", err)
	}
	ctx, cancel := testContext(t)
	defer cancel()
	if _, err := publisher.Publish(ctx, first, url, []byte(document("", "d"))); err == nil || !strings.Contains(err.Error(), "does not list the key") {
		t.Errorf("published with a key that is revoked: %v", err)
	}
}

// After a restart the keys are those that the tree taught, and the site need not be
// asked.
func TestKeysSurviveARestart(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, _ := newHouse(t, url, time.Now())
	h.announce(o, "a")
	kept := store.NewMemory()
	with := func(c *feedtree.Config) { c.Store, c.Polling.Off = kept, true }
	n := startNode(t, o, with)
	subscribe(t, n, url)
	n.Close()
	n = startNode(t, o, with)
	f, ok := n.Feed(url)
	if !ok || f.Keys.Version != 1 || f.Keys.State != feedtree.KeysCurrent || f.Pin == nil || o.asked("/keys.pem") != 1 {
		t.Errorf("%+v %+v, asked %d times", f.Keys, f.Pin, o.asked("/keys.pem"))
	}
}

// security.md §5, row 11: each attack would work on one who goes by the signature
// alone, as a node does that only forwards; and none works on a subscriber.
func TestAttacksOnAKeyedFeed(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	now := time.Now()
	h, old := newHouse(t, url, now)
	h.state.Revoked = []signing.Revocation{{Key: old.Public(), Epoch: 5, Seq: 40}}
	signer := h.rotate(now)
	h.announce(o, "a")
	other, othersKey := newHouse(t, o.url("/other.xml"), now)
	n, defenceless := startNode(t, o, still), startNode(t, o, still)
	s := subscribe(t, n, url)
	thief := identity(t)
	line := func(epoch, seq uint64) signing.Line { return signing.Line{Epoch: epoch, Seq: seq, Head: [32]byte{1}} }
	said := func(id *signing.Identity, l signing.Line, change func(*signing.Header)) *signing.Envelope {
		hd := signing.Header{Role: signing.Publisher, Group: multicast.GroupOf(url), Time: now, TTL: time.Minute, KeyState: 2}
		if change != nil {
			change(&hd)
		}
		payload := []byte(nil)
		if hd.Media != signing.None {
			payload = []byte(h.cert.MarshalPEM())
			l.Event(&hd)
		} else {
			l.Heartbeat(&hd)
		}
		wire, err := id.Seal(hd, payload)
		if err != nil {
			t.Fatal(err)
		}
		env, err := signing.Open(wire)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	for name, c := range map[string]struct {
		env *signing.Envelope
		why string // "": it is no attack
	}{
		"the publisher":                           {said(signer, line(9, 1), nil), ""},
		"replay of a revoked key's word":          {said(old, line(5, 41), nil), "revoked key"},
		"revoked, in another epoch":               {said(old, line(6, 1), nil), "revoked key"},
		"fast-forward by a revoked key":           {said(old, line(signing.MaxNumber, signing.MaxNumber), nil), "revoked key"},
		"what it said before":                     {said(old, line(5, 40), nil), ""},
		"cross-feed: another feed's key":          {said(othersKey, line(9, 1), nil), "not the feed's key"},
		"bad rotation: a key nobody listed":       {said(thief, line(9, 1), nil), "not the feed's key"},
		"bad rotation: the root itself":           {said(h.root, line(9, 1), nil), "not the feed's key"},
		"with the right certificate in its hands": {said(thief, line(9, 1), func(hd *signing.Header) { hd.Media = signing.Keys }), "not the feed's key"},
		"fast-forward: from the future":           {said(signer, line(9, 1), func(hd *signing.Header) { hd.Time = now.Add(24 * time.Hour) }), "from the future"},
	} {
		if verdict, why := n.Judge(c.env); why != c.why || (verdict == multicast.Accept) != (c.why == "") {
			t.Errorf("%s: %v %q, want %q", name, verdict, why, c.why)
		}
		future := c.env.Time.After(now.Add(time.Hour)) // which even a forwarder refuses
		if verdict, _ := defenceless.Judge(c.env); verdict != multicast.Accept && !future {
			t.Errorf("%s: refused without any defence, so it proves nothing", name)
		}
	}
	if st := s.Status(); st.Keys.Version != 2 || st.Refused["revoked key"] == 0 {
		t.Errorf("%+v %v", st.Keys, st.Refused)
	}

	// Key states that come with an event of anybody's, who may be a volunteer.
	told := func(c signing.Certificate) *signing.Envelope {
		hd := signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Time: now, Media: signing.Keys}
		signing.Line{}.Bump(now).Event(&hd)
		wire, err := thief.Seal(hd, c.MarshalPEM())
		if err != nil {
			t.Fatal(err)
		}
		env, err := signing.Open(wire)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	forge := func(change func(*signing.KeyState), by ...*signing.Identity) signing.Certificate {
		st := h.state
		st.Version++
		change(&st)
		made, err := signing.SignKeyState(st, by...)
		if err != nil {
			t.Fatal(err)
		}
		return signing.Certificate{made}
	}
	for name, c := range map[string]struct {
		cert   signing.Certificate
		reason signing.Reason // "": it is learned, or of no effect
	}{
		"rollback":               {h.cert[:1], ""}, // an old one is no crime, and teaches nothing
		"cross-feed":             {other.cert, signing.ReasonOtherFeed},
		"bad rotation":           {forge(func(s *signing.KeyState) { s.Roots.Keys = []signing.PublicKey{thief.Public()} }, thief), signing.ReasonThreshold},
		"fast-forward":           {forge(func(s *signing.KeyState) { s.Version += 5000 }, h.root), signing.ReasonJump},
		"signed by a stolen key": {forge(func(s *signing.KeyState) { s.Roots.Keys = []signing.PublicKey{signer.Public()}; s.Signing = nil }, signer), signing.ReasonThreshold},
	} {
		before := s.Status().Refused["certificate: "+string(c.reason)]
		n.Judge(told(c.cert))
		if st := s.Status(); st.Keys.Version != 2 || c.reason != "" && st.Refused["certificate: "+string(c.reason)] == before {
			t.Errorf("%s: version %d, %v", name, st.Keys.Version, st.Refused)
		}
	}
	// Freeze: whoever withholds the next state has until the key ends. A word under a
	// later one sends the subscriber to the site, once in a while.
	next := h.rotate(now)
	h.serve(o)
	word := said(next, line(9, 1), func(hd *signing.Header) { hd.KeyState = 3 })
	if verdict, _ := n.Judge(word); verdict != multicast.Unknown {
		t.Errorf("a word under a key state that is not known: %v", verdict)
	}
	eventually(t, "the next state", func() bool { return s.Status().Keys.Version == 3 })
	if verdict, why := n.Judge(word); verdict != multicast.Accept {
		t.Errorf("then: %v %s", verdict, why)
	}
	asked := o.asked("/keys.pem")
	for range 50 {
		if verdict, _ := n.Judge(said(thief, line(9, 1), func(hd *signing.Header) { hd.KeyState = 4 })); verdict != multicast.Refuse {
			t.Fatalf("right after the site was asked: %v", verdict)
		}
	}
	if o.asked("/keys.pem") != asked {
		t.Error("a stranger sends the subscriber to the site at will")
	}
}

// The keys of a publisher who was away for a year have ended: volunteers are heard,
// its own word is not, and when it comes with a new key it is believed at once.
func TestAPublisherReturnsAfterAYear(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, old := newHouse(t, url, time.Now().AddDate(-1, 0, 0))
	h.announce(o, "a")
	reader := startNode(t, o, still)
	publisher := startNode(t, o, still, reader)
	eventually(t, "the nodes meet", func() bool { return reader.Status().Peers == 1 })
	s := subscribe(t, reader, url)
	got := collect(t, s)
	eventually(t, "the reader is in the tree", func() bool { return s.Status().Attached })
	if st := s.Status(); st.Keys.State != feedtree.KeysExpired || !strings.Contains(st.Failure, "feedtree key rotate") {
		t.Errorf("%+v, %q", st.Keys, st.Failure)
	}
	now := time.Now()
	if verdict, why := reader.Judge(heartbeat(t, old, url, signing.Publisher, now)); verdict == multicast.Accept {
		t.Errorf("the key that ended: %v %s", verdict, why)
	}
	if verdict, why := reader.Judge(heartbeat(t, identity(t), url, signing.Volunteer, now)); verdict != multicast.Accept {
		t.Errorf("a volunteer: %v %s", verdict, why)
	}
	h.teach(publisher)
	ctx, cancel := testContext(t)
	defer cancel()
	if _, err := publisher.Publish(ctx, old, url, []byte(document("", "b", "a"))); err == nil || !strings.Contains(err.Error(), "key rotate") {
		t.Errorf("published with a key that has ended: %v", err)
	}
	fresh := h.rotate(now)
	h.serve(o)
	h.teach(publisher)
	send(t, publisher, fresh, url, document("", "b", "a"))
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	if u, _ := got.of("b"); u.Trust != store.Signed {
		t.Errorf("b is %v", u.Trust)
	}
	eventually(t, "all is well again", func() bool {
		st := s.Status()
		return st.Keys.State == feedtree.KeysCurrent && st.Failure == ""
	})
}

// A certificate that cannot be had is asked for again when somebody speaks under a
// key that it may list; what they said is not lost.
func TestACertificateThatComesLate(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, id := newHouse(t, url, time.Now())
	h.announce(o, "a")
	o.set("/keys.pem", page{status: 503})
	n := startNode(t, o, still)
	s := subscribe(t, n, url)
	if st := s.Status(); st.Keys.State != feedtree.KeysUnreachable || !strings.Contains(st.Failure, "cannot be had") {
		t.Fatalf("%+v, %q", st.Keys, st.Failure)
	}
	h.serve(o)
	if verdict, _ := n.Judge(heartbeat(t, id, url, signing.Publisher, time.Now())); verdict != multicast.Unknown {
		t.Errorf("a key that the certificate may list: %v", verdict)
	}
	eventually(t, "the certificate", func() bool { return s.Status().Keys.State == feedtree.KeysCurrent })
	if verdict, why := n.Judge(heartbeat(t, id, url, signing.Publisher, time.Now())); verdict != multicast.Accept {
		t.Errorf("%v %s", verdict, why)
	}
}

func TestSetPin(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, id := newHouse(t, url, time.Now())
	h.announce(o, "a")
	n := startNode(t, o, still)
	s := subscribe(t, n, url)
	accepts := func() bool {
		verdict, _ := n.Judge(heartbeat(t, id, url, signing.Publisher, time.Now()))
		return verdict == multicast.Accept
	}
	if !accepts() || len(n.Pins()) != 1 || n.Pins()[0].How != "https" {
		t.Fatalf("%+v", n.Pins())
	}
	strange := identity(t).Public().Fingerprint().String()
	if err := n.SetPin(t.Context(), url, strange); err != nil {
		t.Fatal(err)
	}
	if accepts() || n.Pins()[0].How != "manual" || n.Pins()[0].Fingerprint != strange {
		t.Errorf("pinned to another: %+v", n.Pins())
	}
	eventually(t, "the site is asked, and disagrees", func() bool { return s.Status().Failure != "" })
	if st := s.Status(); st.Pin.Fingerprint != strange || st.Pin.Rival != h.root.Public().Fingerprint().String() || st.Keys.State != feedtree.KeysMoved {
		t.Errorf("%+v %+v", st.Pin, st.Keys)
	}
	if err := n.SetPin(t.Context(), url, h.root.Public().Fingerprint().String()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"nonsense":   n.SetPin(t.Context(), url, "sha-256:12"),
		"no feed":    n.SetPin(t.Context(), "nonsense", strange),
		"a stranger": n.SetPin(t.Context(), o.url("/nowhere.xml"), strange),
	} {
		if err == nil {
			t.Errorf("%s: pinned", what)
		}
	}
	if p := n.Pins(); p[0].How != "manual" || p[0].Fingerprint != h.root.Public().Fingerprint().String() {
		t.Errorf("%+v", p)
	}
}

// What is signed with a key that the tree has not told of yet waits for that, and is
// not lost: events need not come in order.
func TestAWordBeforeItsKey(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, _ := newHouse(t, url, time.Now())
	h.announce(o, "a")
	n := startNode(t, o, still)
	s := subscribe(t, n, url)
	next := h.rotate(time.Now())
	o.set("/feed.xml", page{status: 503}) // the site is of no help
	hd := signing.Header{Role: signing.Publisher, Group: multicast.GroupOf(url), Time: time.Now(), KeyState: 2, Media: signing.Keys}
	signing.Line{}.Bump(time.Now()).Event(&hd)
	wire, err := next.Seal(hd, h.cert.MarshalPEM())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	word := heartbeat(t, next, url, signing.Publisher, time.Now())
	if verdict, _ := n.Judge(word); verdict == multicast.Accept {
		t.Error("a key that nobody listed")
	}
	if verdict, why := n.Judge(certificate); verdict != multicast.Accept {
		t.Errorf("the certificate by itself: %v %s", verdict, why)
	}
	if verdict, why := n.Judge(word); verdict != multicast.Accept {
		t.Errorf("then: %v %s", verdict, why)
	}
	eventually(t, "it is stored", func() bool {
		rec, _, err := n.Store().Feed(t.Context(), url)
		return err == nil && s.Status().Keys.Version == 2 && strings.Count(string(rec.Cert), "BEGIN FEEDTREE KEY STATE") == 2
	})
}

// What is in the store under a revoked key's later words is not shown as an item.
func TestItemsOfARevokedKeyAreGone(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, id := newHouse(t, url, time.Now())
	h.announce(o, "a")
	reader := startNode(t, o, still)
	publisher := startNode(t, o, still, reader)
	eventually(t, "the nodes meet", func() bool { return reader.Status().Peers == 1 })
	s := subscribe(t, reader, url)
	got := collect(t, s)
	eventually(t, "the reader is in the tree", func() bool { return s.Status().Attached })
	h.teach(publisher)
	send(t, publisher, id, url, document("", "b", "a"))
	send(t, publisher, id, url, document("", "stolen", "b", "a"))
	eventually(t, "both", func() bool { return got.got()["b"] == 1 && got.got()["stolen"] == 1 })
	last, _ := got.of("b")
	h.state.Revoked = []signing.Revocation{{Key: id.Public(), Epoch: last.Epoch, Seq: last.Seq}}
	fresh := h.rotate(time.Now())
	h.teach(publisher)
	send(t, publisher, fresh, url, document("", "c", "b", "a"))
	eventually(t, "c", func() bool { return got.got()["c"] == 1 })
	if shown := shownOf(t, s); shown["stolen"] != "" || shown["b"] != "signed" || shown["c"] != "signed" {
		t.Errorf("shown: %v", shown)
	}
	if beliefs := believed(t, reader, url); !beliefs["stolen"].TakenBack || beliefs["b"].TakenBack || beliefs["b"].Trust != store.Signed {
		t.Errorf("believed: %+v", beliefs)
	}
	for guid, revoked := range map[string]bool{"stolen": true, "b": false, "c": false} {
		if got := revokedInStore(t, reader, url, guid); got != revoked {
			t.Errorf("the store says that %q is revoked: %v", guid, got)
		}
	}
	send(t, publisher, fresh, url, document("", "stolen", "c", "b", "a")) // it was no theft after all
	eventually(t, "what the next key says as well", func() bool { return shownOf(t, s)["stolen"] == "signed" })
}

// shownOf is why each item of a feed's document is believed, by guid.
func shownOf(t testing.TB, s *feedtree.Subscription) map[string]string {
	t.Helper()
	doc, state, err := s.Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, it := range doc.Items {
		shown[it.GUID] = state.Trust[it.Key()].String()
	}
	return shown
}

// believed is what a node knows of the items that it stores, by guid.
// revokedInStore is what somebody learns of an item who has only the node's store.
func revokedInStore(t testing.TB, n *feedtree.Node, url, guid string) bool {
	t.Helper()
	rec, ok, err := n.Store().Feed(t.Context(), url)
	items, err2 := n.Store().Items(t.Context(), url, 50)
	if err != nil || err2 != nil || !ok {
		t.Fatal(ok, err, err2)
	}
	at := slices.IndexFunc(items, func(it store.Item) bool { return it.Key == "guid:"+guid })
	if at < 0 {
		t.Fatalf("%q is not there", guid)
	}
	return feedtree.Revoked(rec, items[at])
}

func believed(t testing.TB, n *feedtree.Node, url string) map[string]feedtree.Belief {
	t.Helper()
	items, err := n.Store().Items(t.Context(), url, 50)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]feedtree.Belief{}
	for _, it := range items {
		found[strings.TrimPrefix(it.Key, "guid:")] = n.Believed(it)
	}
	return found
}

// What a stolen key said is shown all the same where the site says it, as fetched from
// there. And documents made before the revocation count as old ones.
func TestWhatTheSiteSaysOutlivesItsKey(t *testing.T) {
	t.Parallel()
	o := newSecureOrigin(t)
	url := o.url("/feed.xml")
	h, id := newHouse(t, url, time.Now())
	h.announce(o, "a")
	n := startNode(t, o, still)
	s := subscribe(t, n, url)
	line := signing.Line{}.Bump(time.Now())
	for _, guid := range []string{"a", "stolen"} {
		env, next := news(t, id, line, url, time.Now(), guid)
		n.Deliver(env, multicast.ViaTree)
		line = next
		eventually(t, guid, func() bool { return shownOf(t, s)[guid] == "signed" })
	}
	before := s.State().Version
	h.state.Revoked = []signing.Revocation{{Key: id.Public(), Epoch: 1, Seq: 1}} // nothing of it counts
	h.rotate(time.Now())
	hd := signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Time: time.Now(), Media: signing.Keys}
	signing.Line{}.Bump(time.Now()).Event(&hd)
	wire, err := identity(t).Seal(hd, h.cert.MarshalPEM())
	if err != nil {
		t.Fatal(err)
	}
	revocation, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	n.Judge(revocation)
	eventually(t, "the document is another one", func() bool { return s.State().Version > before })
	if shown := shownOf(t, s); shown["stolen"] != "" || shown["a"] != "fetched" {
		t.Errorf("shown: %v; want a, which the site has, as fetched, and no more", shown)
	}
	if got := believed(t, n, url); !got["stolen"].TakenBack || got["a"] != (feedtree.Belief{Trust: store.Fetched}) {
		t.Errorf("believed: %+v", got)
	}
}

func testContext(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 10*time.Second)
}
