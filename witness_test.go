package feedtree_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// apart has every node believe that each of the others is in a network of its own:
// on loopback all share one.
func apart(c *feedtree.Config) {
	c.NetworkOf = func(peer string) string { return "network of " + peer }
}

// startApart starts nodes in networks of their own that know each other.
func startApart(t *testing.T, o *origin, count int, change func(i int, c *feedtree.Config)) (nodes []*feedtree.Node) {
	t.Helper()
	for i := range count {
		nodes = append(nodes, startNode(t, o, func(c *feedtree.Config) {
			apart(c)
			if change != nil {
				change(i, c)
			}
		}, nodes[:min(len(nodes), 1)]...))
	}
	for _, n := range nodes {
		eventually(t, "the nodes meet", func() bool { return n.Status().Peers >= count-1 })
	}
	return nodes
}

// trustOf is why an item is believed as a document says, and what is said against it.
func trustOf(t *testing.T, s *feedtree.Subscription, key string) string {
	t.Helper()
	_, state, err := s.Document(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trust, ok := state.Trust[key]
	if !ok {
		return ""
	}
	if doubt := state.Doubt[key]; doubt != witness.Unconfirmed {
		return fmt.Sprint(trust, " ", doubt)
	}
	return trust.String()
}

// teller is a volunteer that says what it likes.
type teller struct {
	id   *signing.Identity
	line signing.Line
}

func newTeller(t *testing.T) *teller {
	return &teller{id: identity(t), line: signing.Line{}.Bump(time.Now())}
}

// testimony is one about a document as the test origin serves it.
func (w *teller) testimony(t *testing.T, url, body string) *signing.Testimony {
	t.Helper()
	f, err := feed.Parse([]byte(body), "")
	if err != nil {
		t.Fatal(err)
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body)))
	s := &signing.Testimony{
		Status: 200, Strong: true, Taken: time.Now().UTC().Truncate(time.Millisecond), Parent: [32]byte(w.id.Public()),
		Validators: signing.ValidatorsHash(url, tag, ""), Body: sha256.Sum256([]byte(body)),
	}
	for _, it := range f.Items {
		s.Items = append(s.Items, signing.Testified{Key: signing.ItemKey(it.Key()), Hash: it.Hash()})
	}
	slices.SortFunc(s.Items, func(a, b signing.Testified) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return s
}

// word is the volunteer's next one: that it polled, with these items as news.
func (w *teller) word(t *testing.T, url string, as *signing.Testimony, news ...string) *signing.Envelope {
	t.Helper()
	h := signing.Header{Role: signing.Volunteer, Group: multicast.GroupOf(url), Time: time.Now()}
	payload, err := as.Marshal()
	if len(news) > 0 {
		h.Media, h.Coding = signing.RSS, signing.Zstd
		payload, err = as.Before(pack(t, document("", news...)))
		w.line.Event(&h)
	} else {
		w.line.Heartbeat(&h)
		h.Media = signing.Witness
	}
	if err != nil {
		t.Fatal(err)
	}
	wire, err := w.id.Seal(h, payload)
	if err != nil {
		t.Fatal(err)
	}
	env, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	if w.line, err = w.line.Advance(env); err != nil {
		t.Fatal(err)
	}
	return env
}

func pack(t *testing.T, doc string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(doc), nil)
}

// Volunteers who see the same make an item corroborated at a node that did not ask
// itself, and only where they are apart.
func TestItemsAreCorroborated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		network func(string) string
		want    string
	}{
		"in networks of their own": {func(peer string) string { return peer }, "corroborated"},
		"in one network":           {func(string) string { return "10.0.0.0/16" }, "unconfirmed"},
		"nobody knows where":       {func(string) string { return "" }, "unconfirmed"},
		"on this machine":          {nil, "unconfirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			o.publish("/feed.xml", "a")
			url := o.url("/feed.xml")
			n := startNode(t, o, func(c2 *feedtree.Config) {
				c2.Polling = feedtree.Polling{Off: true, Min: time.Hour} // it does not ask again
				c2.NetworkOf = c.network
			})
			s := subscribe(t, n, url)
			got := collect(t, s)
			eventually(t, "joined", func() bool { return n.InTree(url) })
			one, two := newTeller(t), newTeller(t)
			body := document("", "b", "a")
			n.Deliver(one.word(t, url, one.testimony(t, url, body), "b"), multicast.ViaTree)
			eventually(t, "b", func() bool { return got.got()["b"] == 1 })
			if u, _ := got.of("b"); u.Trust != store.Unconfirmed || trustOf(t, s, "guid:b") != "unconfirmed" {
				t.Errorf("one says so: %v", u.Trust)
			}
			version := s.State().Version
			n.Deliver(two.word(t, url, two.testimony(t, url, body)), multicast.ViaTree)
			eventually(t, "both are heard", func() bool { return s.Status().Witnesses.Heard == 2 })
			if c.want == "corroborated" {
				eventually(t, "another document", func() bool { return s.State().Version > version })
				kept, err := n.Store().Items(t.Context(), url, 1)
				if err != nil || kept[0].Key != "guid:b" || kept[0].Trust != store.Corroborated {
					t.Errorf("kept as %v of %q, %v", kept[0].Trust, kept[0].Key, err)
				}
			}
			if trust := trustOf(t, s, "guid:b"); trust != c.want {
				t.Errorf("two say so: %s, want %s", trust, c.want)
			}
			if got.got()["b"] != 1 {
				t.Error("it came again")
			}
		})
	}
}

// twoFaced is an origin, and what it says to one node: the same under the same tag,
// and what else it is told to say.
func twoFaced(t *testing.T, o *origin) (lie func(items ...string), other *origin) {
	t.Helper()
	var mu sync.Mutex
	var more []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		body := o.pages[r.URL.Path].body
		o.mu.Unlock()
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body))))
		mu.Lock()
		defer mu.Unlock()
		for _, name := range more {
			body = strings.Replace(body, "<item>", "<item><guid>"+name+"</guid><title>About "+name+"</title></item><item>", 1)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other = &origin{config: fetch.Config{Resolve: []string{o.config.Resolve[0] + ":" + port}}}
	return func(items ...string) { mu.Lock(); more = items; mu.Unlock() }, other
}

// Issue 5: a lying volunteer among real nodes. It adds an item to the document that
// the others got, under the same tag. The item is never corroborated, it is
// contradicted, and the volunteer is not heard again, also after a restart.
func TestALyingVolunteerIsCaught(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	lie, face := twoFaced(t, o)
	dir, kept := t.TempDir(), store.NewMemory()
	nodes := startApart(t, o, 5, func(i int, c *feedtree.Config) {
		switch i {
		case 0:
			c.Dir, c.Store = dir, kept
		case 4:
			c.Fetch = face.config
		}
	})
	var subs []*feedtree.Subscription
	var all []*arrivals
	for _, n := range nodes {
		s := subscribe(t, n, url)
		subs, all = append(subs, s), append(all, collect(t, s))
	}
	honest := subs[:4]
	for _, s := range honest {
		eventually(t, "others testify", func() bool { return s.Status().Witnesses.Heard >= 2 })
	}
	lie("x")
	never := func(i int) {
		for _, u := range all[i].all() {
			if u.Item.GUID == "x" && u.Trust != store.Unconfirmed {
				t.Errorf("node %d: the lie came as %v", i, u.Trust)
			}
		}
		if trust := trustOf(t, subs[i], "guid:x"); trust != "" && !strings.HasPrefix(trust, "unconfirmed") {
			t.Errorf("node %d: the lie is %s", i, trust)
		}
	}
	for i, s := range honest {
		eventually(t, "the liar is caught", func() bool { never(i); return s.Status().Witnesses.Liars == 1 })
		eventually(t, "the lie is contradicted", func() bool { never(i); return trustOf(t, s, "guid:x") == "unconfirmed contradicted" })
		if n := nodes[i].Status().Liars; n != 1 {
			t.Errorf("node %d: %d liars", i, n)
		}
	}
	// Those next to it refuse it, and hand nothing of it on to the others.
	eventually(t, "what it says next is refused", func() bool {
		return slices.ContainsFunc(honest, func(s *feedtree.Subscription) bool { return s.Status().Refused["a volunteer caught lying"] > 0 })
	})
	o.publish("/feed.xml", "b", "a")
	for i := range honest {
		eventually(t, "the others go on", func() bool { return all[i].got()["b"] == 1 })
	}

	nodes[0].Close()
	again := startNode(t, o, func(c *feedtree.Config) { apart(c); c.Dir, c.Store = dir, kept })
	if n := again.Status().Liars; n != 1 {
		t.Errorf("after a restart %d liars are known", n)
	}
	s := subscribe(t, again, url)
	eventually(t, "the lie is not believed after a restart", func() bool {
		trust := trustOf(t, s, "guid:x")
		return trust == "unconfirmed disputed" || trust == "unconfirmed contradicted"
	})
}

// A lie under validators of its own is no proof against anybody. But the next poll by
// whomever shows that the item is not there.
func TestALieIsDisputedAtTheNextPoll(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	nodes := startApart(t, o, 4, func(i int, c *feedtree.Config) { c.Polling.Off = i == 3 })
	var subs []*feedtree.Subscription
	for _, n := range nodes {
		subs = append(subs, subscribe(t, n, url))
	}
	reader, n := subs[3], nodes[3]
	eventually(t, "the volunteers testify", func() bool { return reader.Status().Witnesses.Heard >= 2 })
	for range 2 { // as many as corroborate
		liar := newTeller(t)
		as := liar.testimony(t, url, document("", "x", "a"))
		n.Deliver(liar.word(t, url, as, "x"), multicast.ViaTree)
	}
	eventually(t, "the lie is there", func() bool { return trustOf(t, reader, "guid:x") != "" })
	heard := reader.Status().BeatsReceived
	eventually(t, "the lie is disputed", func() bool { return trustOf(t, reader, "guid:x") == "unconfirmed disputed" })
	t.Logf("after %d polls", reader.Status().BeatsReceived-heard)
	if s := reader.Status().Witnesses; s.Liars != 0 {
		t.Errorf("it proves nothing, and %d were caught", s.Liars)
	}
}

// An origin answers differently by region, with tags of their own: what only some see
// is disputed, and nobody is a liar.
func TestRegionsAreNoLies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := 0
	o := newRude(t)
	url := o.set("/feed.xml", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		body := document("", "a", "b")
		if asked > 8 { // who asks in turn alternates between two regions
			body = document("", []string{"east", "west"}[asked%2], "a", "b")
		}
		mu.Unlock()
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body))))
		fmt.Fprint(w, body)
	})
	var nodes []*feedtree.Node
	for range 4 {
		nodes = append(nodes, o.start(t, func(c *feedtree.Config) {
			apart(c)
			c.Polling = feedtree.Polling{Min: pollMin, Max: pollMin}
			for _, n := range nodes {
				c.Overlay.Bootstrap = append(c.Overlay.Bootstrap, n.Addrs()...)
			}
		}))
	}
	var subs []*feedtree.Subscription
	for _, n := range nodes {
		eventually(t, "the nodes meet", func() bool { return n.Status().Peers == len(nodes)-1 })
		subs = append(subs, subscribe(t, n, url))
	}
	eventually(t, "a region's item is disputed somewhere", func() bool {
		for _, s := range subs {
			if s.Status().Witnesses.Disputed > 0 {
				return true
			}
		}
		return false
	})
	for i, n := range nodes {
		if s := n.Status(); s.Liars != 0 {
			t.Errorf("node %d takes %d for liars", i, s.Liars)
		}
	}
}

// Neighbouring addresses are one network: whoever has one has the others, too.
func TestNetworks(t *testing.T) {
	for at, want := range map[string]string{
		"192.0.2.77": "192.0.0.0/16", "192.0.200.1": "192.0.0.0/16", "192.1.2.77": "192.1.0.0/16",
		"2001:db8:1::1": "2001:db8::/32", "2001:db8:ffff::9": "2001:db8::/32", "2001:db9::1": "2001:db9::/32",
		"fe80::1%eth0": "fe80::/32",
	} {
		if got := feedtree.NetworkName(netip.MustParseAddr(at)); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
	if got := feedtree.NetworkName(netip.Addr{}); got != "" {
		t.Errorf("no address: %q", got)
	}
}

// Issue: distinct keys, networks and parents. In a large group a volunteer is seldom a
// neighbour: it is visited, and counts as from where it was found, not from where it
// says it is; and that is remembered.
func TestVolunteersWhoAreNoNeighboursCorroborate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   []string // where they are found; "": not at all
		want string
	}{
		"in two networks":       {[]string{"192.0.2.1", "198.51.100.1"}, "corroborated"},
		"in one network":        {[]string{"192.0.2.1", "192.0.77.1"}, "unconfirmed"},
		"one cannot be reached": {[]string{"192.0.2.1", ""}, "unconfirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			o.publish("/feed.xml", "a")
			url, kept := o.url("/feed.xml"), store.NewMemory()
			alone := func(c *feedtree.Config) { c.Store, c.Polling = kept, feedtree.Polling{Off: true, Min: time.Hour} }
			n := startNode(t, o, alone)
			one, two := newTeller(t), newTeller(t)
			var mu sync.Mutex
			visits := map[string]int{}
			where := map[signing.PublicKey]string{one.id.Public(): c.at[0], two.id.Public(): c.at[1]}
			n.VisitBy(func(_ context.Context, id overlay.ID) (netip.Addr, bool) {
				public, err := peer.ID(id).ExtractPublicKey()
				if err != nil {
					t.Error(err)
					return netip.Addr{}, false
				}
				raw, _ := public.Raw()
				mu.Lock()
				defer mu.Unlock()
				at := where[signing.PublicKey(raw)]
				visits[at]++
				if at == "" {
					return netip.Addr{}, false
				}
				return netip.MustParseAddr(at), true
			})
			s := subscribe(t, n, url)
			eventually(t, "joined", func() bool { return n.InTree(url) })
			body := document("", "b", "a")
			for _, w := range []*teller{one, two} {
				n.Deliver(w.word(t, url, w.testimony(t, url, body), "b"), multicast.ViaTree)
			}
			eventually(t, "both were looked for", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return visits[c.at[0]] == 1 && visits[c.at[1]] == 1
			})
			if c.want == "corroborated" {
				eventually(t, c.want, func() bool { return trustOf(t, s, "guid:b") == c.want })
			} else if trust := trustOf(t, s, "guid:b"); trust != c.want {
				t.Errorf("%s, want %s", trust, c.want)
			}
			if c.want != "corroborated" {
				return
			}
			n.Close()
			again := startNode(t, o, alone)
			again.VisitBy(func(context.Context, overlay.ID) (netip.Addr, bool) {
				t.Error("visited again")
				return netip.Addr{}, false
			})
			eventually(t, "joined again", func() bool { return again.InTree(url) })
			for _, w := range []*teller{one, two} {
				again.Deliver(w.word(t, url, w.testimony(t, url, document("", "c", "b", "a")), "c"), multicast.ViaTree)
			}
			sub := subscribe(t, again, url)
			eventually(t, "the next one", func() bool { return trustOf(t, sub, "guid:c") == "corroborated" })
		})
	}
}
