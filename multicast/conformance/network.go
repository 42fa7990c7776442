package conformance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// Backend makes the carriers to be tested.
type Backend struct {
	// New makes a carrier on a node, and what the node calls.
	New func(net *kad.Node, network string, out multicast.Callbacks[*signing.Envelope]) (multicast.Carrier, kad.Inbound, error)

	// Forge brings bytes that are no valid envelope to a carrier that New made, as a
	// hostile neighbour could who once forwarded the true ones.
	Forge func(t testing.TB, victim kad.Inbound, via *kad.Node, network string, true, forged []byte)
}

const (
	size   = 8
	within = time.Minute // what a busy machine may take
)

// node is one of the network, and what its carrier told it.
type node struct {
	multicast.Carrier
	net *kad.Node
	in  kad.Inbound
	end func() error // ends Run and returns what it returned

	mu      sync.Mutex
	got     map[multicast.Stamp]int
	cursors map[multicast.Source]uint64
	lost    map[multicast.Stamp]bool
	notices []multicast.Notice
	judge   map[multicast.Group]multicast.Verdict
}

// network is nodes that know each other.
type network struct {
	name    string
	backend Backend
	nodes   []*node
}

func start(t *testing.T, b Backend) *network {
	t.Helper()
	n := &network{name: "conformance", backend: b}
	t.Cleanup(func() { n.close(t) })
	for range size {
		n.add(t)
	}
	for _, each := range n.nodes {
		eventually(t, "the nodes meet", func() bool { return len(each.net.Connected()) >= size-1 })
	}
	return n
}

// close ends all nodes at once.
func (n *network) close(t *testing.T) {
	var each sync.WaitGroup
	for _, made := range n.nodes {
		each.Go(func() {
			if err := errors.Join(made.end(), made.net.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	each.Wait()
}

// add starts a node that joins through the first.
func (n *network) add(t *testing.T) *node {
	t.Helper()
	c := kad.Config{
		Network: n.name, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"},
		NoMDNS: true, NoNAT: true, NoRendezvous: true,
	}
	if len(n.nodes) > 0 {
		c.Bootstrap = n.nodes[0].net.Addrs()
	}
	made := &node{
		got: map[multicast.Stamp]int{}, cursors: map[multicast.Source]uint64{},
		lost: map[multicast.Stamp]bool{}, judge: map[multicast.Group]multicast.Verdict{},
	}
	var err error
	if made.net, err = kad.New(c); err != nil {
		t.Fatal(err)
	}
	made.Carrier, made.in, err = n.backend.New(made.net, n.name, multicast.Callbacks[*signing.Envelope]{
		Judge: made.judged, Deliver: made.deliver, Notice: made.notice,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.Run(ctx) }()
	made.end = sync.OnceValue(func() error { cancel(); return <-ended })
	n.nodes = append(n.nodes, made)
	if err := made.net.Start(t.Context(), made.in); err != nil {
		t.Fatal(err)
	}
	return made
}

// join lets nodes join a group and waits until they are in it together.
func join(t *testing.T, g multicast.Group, cursor []multicast.Stamp, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Join(t.Context(), g, cursor, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		eventually(t, "the members are connected", func() bool {
			s, ok := n.Group(g)
			return ok && s.Member && s.Attached && (s.Audience < 0 || s.Audience >= len(nodes)-1)
		})
	}
}

func (n *node) judged(env *signing.Envelope) (multicast.Verdict, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.judge[env.Group]; ok {
		return v, "not the feed's key"
	}
	return multicast.Accept, ""
}

func (n *node) rule(g multicast.Group, v multicast.Verdict) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.judge[g] = v
}

func (n *node) deliver(d multicast.Delivery, env *signing.Envelope) {
	n.mu.Lock()
	n.got[d.Event.Stamp]++
	n.cursors[d.Event.Stamp.Source] = d.Cursor
	n.mu.Unlock()
	if err := n.Stored(env.Group, d.Event.Stamp); err != nil {
		panic(err) // the carrier calls back, so it runs
	}
}

func (n *node) notice(what multicast.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notices = append(n.notices, what)
	if what.Kind == multicast.Missing {
		for seq := what.From; seq <= what.To; seq++ {
			n.lost[multicast.Stamp{Source: what.Stamp.Source, Epoch: what.Stamp.Epoch, Seq: seq}] = true
		}
	}
}

// times is how often a stamp was delivered here.
func (n *node) times(s multicast.Stamp) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.got[s]
}

// missing reports whether a stamp was told as Missing here.
func (n *node) missing(s multicast.Stamp) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[s]
}

func (n *node) noticed(kind multicast.NoticeKind, g multicast.Group) (all []multicast.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, what := range n.notices {
		if what.Kind == kind && what.Group == g {
			all = append(all, what)
		}
	}
	return all
}

// refusals is how much was refused under reasons with a prefix.
func (n *node) refusals(prefix string) (sum uint64) {
	_, refused := n.Counters()
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		if len(why) >= len(prefix) && why[:len(prefix)] == prefix {
			sum += refused[why]
		}
	}
	return sum
}

// author says one line in one group.
type author struct {
	id    *signing.Identity
	group multicast.Group
	line  signing.Line
	ttl   time.Duration
}

func newAuthor(t *testing.T, url string) *author {
	t.Helper()
	g := multicast.GroupOf("https://conformance.example/" + t.Name() + url)
	var seed [32]byte
	copy(seed[:], g[:])
	id, err := signing.FromSeed(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return &author{id: id, group: g, line: signing.Line{}.Bump(time.Now()), ttl: time.Hour}
}

// write seals the line's next event, and publishes nothing.
func (a *author) write(t *testing.T) ([]byte, multicast.Stamp) {
	t.Helper()
	h := signing.Header{Role: signing.Publisher, Media: signing.RSS, Group: a.group, Time: time.Now(), TTL: a.ttl}
	a.line.Event(&h)
	return a.seal(t, h, make([]byte, 256))
}

// beat seals a heartbeat, and publishes nothing.
func (a *author) beat(t *testing.T) ([]byte, multicast.Stamp) {
	t.Helper()
	h := signing.Header{Role: signing.Publisher, Group: a.group, Time: time.Now(), TTL: a.ttl}
	a.line.Heartbeat(&h)
	return a.seal(t, h, nil)
}

func (a *author) seal(t *testing.T, h signing.Header, payload []byte) ([]byte, multicast.Stamp) {
	t.Helper()
	wire, err := a.id.Seal(h, payload)
	if err != nil {
		t.Fatal(err)
	}
	env, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	if a.line, err = a.line.Advance(env); err != nil {
		t.Fatal(err)
	}
	s := multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq}
	if env.Kind == signing.Heartbeat {
		s.Beat = uint64(env.Time.UnixMilli())
	}
	return wire, s
}

// say publishes the line's next event at a node.
func (a *author) say(t *testing.T, n *node) multicast.Stamp {
	t.Helper()
	wire, stamp := a.write(t)
	if err := n.Publish(t.Context(), wire, 0); err != nil {
		t.Fatal(err)
	}
	return stamp
}

// arrives waits until every node has a stamp, once.
func arrives(t *testing.T, s multicast.Stamp, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, "the event comes", func() bool { return n.times(s) > 0 })
	}
	for i, n := range nodes {
		if got := n.times(s); got != 1 {
			t.Errorf("event %v was delivered %d times at node %d", s, got, i)
		}
	}
}

// eventually waits for a condition, looking at it often.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// others are all nodes but one.
func others(nodes []*node, n *node) (rest []*node) {
	for _, each := range nodes {
		if each != n {
			rest = append(rest, each)
		}
	}
	return rest
}
