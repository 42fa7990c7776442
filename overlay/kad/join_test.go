package kad

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// freePort returns a TCP port of loopback that nobody uses.
func freePort(t *testing.T) int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func idOf(t *testing.T, i int) peer.ID {
	key, err := crypto.UnmarshalEd25519PrivateKey(seeded(i))
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestBootstrapAppearsLater(t *testing.T) {
	t.Parallel()
	addr := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))
	n, in := start(t, Config{Bootstrap: []string{addr + "/p2p/" + idOf(t, 1).String()}})
	eventually(t, "the first tries fail", func() bool { return n.Counters()["joins_failed"] >= 2 })
	late, _ := start(t, Config{Key: seeded(1), Listen: []string{addr}})
	full(t, []*Node{n, late})
	eventually(t, "the layer above hears of it", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.routes > 0
	})
}

// A peer that leaves and comes back at the same address is found again.
func TestBootstrapComesBack(t *testing.T) {
	t.Parallel()
	addr := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))
	first, err := New(quiet(t, Config{Key: seeded(1), Listen: []string{addr}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(t.Context(), newSeen()); err != nil {
		t.Fatal(err)
	}
	n, _ := start(t, Config{Bootstrap: first.Addrs()})
	full(t, []*Node{n, first})
	first.Close()
	eventually(t, "it leaves the table", func() bool { return len(n.table.entries()) == 0 })
	again, _ := start(t, Config{Key: seeded(1), Listen: []string{addr}})
	full(t, []*Node{n, again})
}

// Nodes on one local network find each other without any address, those of
// another network stay out.
func TestLocalDiscovery(t *testing.T) {
	t.Parallel()
	local := Config{Network: "mdns", Listen: []string{"/ip4/0.0.0.0/udp/0/quic-v1"}}
	startLocal := func(c Config) *Node {
		c = quiet(t, c)
		c.NoMDNS = false
		n, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := n.Start(t.Context(), newSeen()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if !multicast() {
		t.Skip("no interface with multicast besides loopback: mDNS has nothing to work on")
	}
	a, b := startLocal(local), startLocal(local)
	local.Network = "other"
	other := startLocal(local)
	full(t, []*Node{a, b})
	if len(other.Connected()) != 0 || len(a.Connected()) != 1 {
		t.Error("two networks met")
	}
}

func multicast() bool {
	all, err := net.Interfaces()
	return err == nil && slices.ContainsFunc(all, func(i net.Interface) bool {
		return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagMulticast != 0 && i.Flags&net.FlagLoopback == 0
	})
}

func TestTwoNetworksDoNotMeet(t *testing.T) {
	one, _ := start(t, Config{Network: "one"})
	two, _ := start(t, Config{Network: "two", Bootstrap: one.Addrs()})
	eventually(t, "the other network is recognised", func() bool { return two.Counters()["refused_network"] > 0 })
	if err := one.Connect(t.Context(), two.Addrs()[0]); !errors.Is(err, errForeign) {
		t.Errorf("connect: %v", err)
	}
	introduce(one, two)
	send(t, one, two.Self(), []byte("x"))
	eventually(t, "a frame is refused as well", func() bool { return one.Counters()["dials_failed"] > 0 })
	for _, n := range []*Node{one, two} {
		if len(n.Connected()) != 0 || len(n.table.entries()) != 0 || n.Counters()["frames_in"] != 0 {
			t.Errorf("%v connected, %v in the table", n.Connected(), n.table.entries())
		}
	}
}

// Who has just started may name its protocols one after the other.
func TestAMemberMayNameItsProtocolLate(t *testing.T) {
	n, _ := start(t, Config{})
	late := stranger(t, n)
	connected := make(chan error)
	go func() { connected <- n.Connect(t.Context(), late.Addrs()[0].String()+"/p2p/"+late.ID().String()) }()
	eventually(t, "it names some", func() bool {
		all, err := n.host.Peerstore().GetProtocols(late.ID())
		return err == nil && len(all) > 0
	})
	late.SetStreamHandler(n.set.treeProtocol(), func(s network.Stream) { _ = s.Reset() })
	if err := <-connected; err != nil || len(n.Connected()) != 1 {
		t.Errorf("%v, %d connected", err, len(n.Connected()))
	}
}

func TestRememberedPeers(t *testing.T) {
	nodes, _ := gather(t, 3, Config{})
	full(t, nodes)
	known := nodes[1].Peers()
	if len(known) != 2 || len(known[0].Addrs) == 0 {
		t.Fatalf("remembered: %+v", known)
	}
	known = append([]Peer{{ID: "nonsense", Addrs: []string{"/"}}, {ID: idOf(t, 99).String(), Addrs: []string{"/ip4/127.0.0.1/tcp/1"}}}, known...)
	back, _ := start(t, Config{Key: seeded(7), Remembered: known})
	full(t, append(nodes, back))
}

func TestConfigErrorsNameTheValue(t *testing.T) {
	id := "12D3KooWCJtR2nJUXLQMMVLMGdKpeBGkNkCJGXuU7SYmGGPvGvJn"
	for text, c := range map[string]Config{
		"Main Net":                    {Network: "Main Net"},
		"localhost:4001":              {Listen: []string{"localhost:4001"}},
		"/ip4/0.0.0.0/udp/1":          {Listen: []string{"/ip4/0.0.0.0/udp/1"}},
		"/ip4/192.0.2.1/tcp/4001":     {Bootstrap: []string{"/ip4/192.0.2.1/tcp/4001"}},
		"/p2p/" + id:                  {Bootstrap: []string{"/p2p/" + id}},
		"/ip4/192.0.2.300/tcp/1/p2p/": {Bootstrap: []string{"/ip4/192.0.2.300/tcp/1/p2p/"}},
		"/ip4/192.0.2.1/tcp/1/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN": {Bootstrap: []string{"/ip4/192.0.2.1/tcp/1/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN"}},
		"-1": {BucketSize: -1},
	} {
		n, err := New(c)
		if err == nil {
			n.Close()
			t.Errorf("%q was taken", text)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not named by: %v", text, err)
		}
	}
	if _, err := New(Config{Key: []byte("short")}); err == nil {
		t.Error("a short key was taken")
	}
}

func TestPortInUse(t *testing.T) {
	first, _ := start(t, Config{})
	for _, addr := range first.host.Addrs() {
		n, err := New(quiet(t, Config{Listen: []string{addr.String()}}))
		if err != nil {
			t.Fatal(err)
		}
		err = n.Start(t.Context(), newSeen())
		if err == nil || !strings.Contains(err.Error(), addr.String()) || !strings.Contains(err.Error(), "another program uses this port") {
			t.Errorf("listening on %v again: %v", addr, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyEd25519(t *testing.T) {
	n, _ := start(t, Config{})
	ecdsa, _, err := crypto.GenerateKeyPair(crypto.ECDSA, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := stranger(t, n, libp2p.Identity(ecdsa))
	if s, err := h.NewStream(t.Context(), n.host.ID(), n.set.treeProtocol()); err == nil {
		_ = s.SetDeadline(time.Now().Add(2 * time.Second))
		_, err = s.Write([]byte{1, 'x'})
		if err == nil {
			_, err = s.Read(make([]byte, 1))
		}
		if err == nil {
			t.Error("an ECDSA identity was let in")
		}
	}
	eventually(t, "it is counted", func() bool { return n.Counters()["refused_key"] > 0 })
}

// A dead peer in the table costs a lookup about a second, and then its place.
func TestLookupThroughTheDead(t *testing.T) {
	t.Parallel()
	nodes, _ := gather(t, 7, Config{})
	full(t, nodes)
	dead := nodes[6]
	var group []byte
	for i := 0; root(nodes, overlay.KeyOf(group)) != dead.Self(); i++ {
		group = name(i)
	}
	id := dead.Self()
	dead.host.Close()
	alive := nodes[:6]
	asker := alive[0]
	if root(alive, overlay.KeyOf(group)) == asker.Self() {
		asker = alive[1]
	}
	began := time.Now()
	found, err := asker.Lookup(t.Context(), group)
	took := time.Since(began)
	if err != nil {
		t.Fatal(err)
	}
	if took > 2500*time.Millisecond {
		t.Errorf("the lookup took %v", took)
	}
	if slices.Contains(found, id) || found[0] != root(alive, overlay.KeyOf(group)) {
		t.Errorf("found %s", Text(found[0]))
	}
	eventually(t, "the dead is nobody's next hop", func() bool { // its last word takes its time to everybody
		return !slices.ContainsFunc(alive, func(n *Node) bool {
			hop, ok := n.NextHop(overlay.KeyOf(group))
			return ok && hop == id
		})
	})
	eventually(t, "everybody forgets the dead", func() bool {
		for _, n := range alive {
			if slices.Contains(n.Closest(id.Key(), 20), id) {
				return false
			}
		}
		return true
	})
	evicted := uint64(0)
	for _, n := range alive {
		if n != asker { // whose lookup was a reason of its own
			evicted += n.Counters()["peers_evicted"]
		}
	}
	if evicted == 0 {
		t.Error("nobody redialled the dead: it was left to the DHT")
	}
}

func TestSuspect(t *testing.T) {
	nodes, _ := gather(t, 2, Config{})
	full(t, nodes)
	a, b := nodes[0], nodes[1]
	if !a.table.doubts.begin(b.host.ID(), true) {
		t.Fatal("in doubt already")
	}
	if _, ok := a.NextHop(b.table.self); ok {
		t.Error("a suspect is a next hop")
	}
	a.table.doubts.end(b.host.ID())
	a.Suspect(b.Self())
	eventually(t, "it is cleared by its answer", func() bool {
		hop, ok := a.NextHop(b.table.self)
		return ok && hop == b.Self()
	})
	if a.Counters()["peers_silent"] != 0 {
		t.Error("a live peer was found silent")
	}
}

func TestConnect(t *testing.T) {
	a, _ := start(t, Config{})
	b, _ := start(t, Config{})
	if err := a.Connect(t.Context(), b.Addrs()[0]); err != nil {
		t.Fatal(err)
	}
	if got := a.Connected(); len(got) != 1 || got[0] != b.Self() {
		t.Errorf("connected: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, addr := range []string{"nonsense", a.Addrs()[0]} {
		if err := a.Connect(ctx, addr); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("connect to %s: %v", addr, err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	var nodes []*Node
	for i := range 3 {
		c := Config{Key: seeded(i)}
		if i > 0 {
			c.Bootstrap = nodes[0].Addrs()
		}
		n, err := New(quiet(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(t.Context(), newSeen()); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	full(t, nodes)
	send(t, nodes[1], nodes[2].Self(), []byte("x"))
	for _, n := range nodes {
		began := time.Now()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > closeLimit {
			t.Errorf("close took %v", took)
		}
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestCloseWhileACallbackBlocks(t *testing.T) {
	t.Parallel()
	a, _ := start(t, Config{})
	in := newSeen()
	in.block = make(chan struct{})
	b, err := New(quiet(t, Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	introduce(a, b)
	send(t, a, b.Self(), []byte("x"))
	eventually(t, "the callback blocks", func() bool { return len(in.from(a.Self())) == 1 })
	began := time.Now()
	if err := b.Close(); err == nil || time.Since(began) > closeLimit+time.Second {
		t.Errorf("close: %v after %v", err, time.Since(began))
	}
	close(in.block)
}

// Who was found last may go: then the others are asked for.
func TestCompany(t *testing.T) {
	n, _ := start(t, Config{})
	if n.accompanied() {
		t.Fatal("in company from the start")
	}
	others := map[peer.ID]*Node{}
	for range 2 {
		other, _ := start(t, Config{})
		others[other.host.ID()] = other
		if err := n.Connect(t.Context(), other.Addrs()[0]); err != nil {
			t.Fatal(err)
		}
	}
	for left := len(others); left > 0; left-- {
		if !n.accompanied() {
			t.Fatalf("%d are connected, and none is found", left)
		}
		last := *n.companion.Load()
		others[last].Close()
		eventually(t, "it is gone", func() bool { return n.host.Network().Connectedness(last) != network.Connected })
	}
	if n.accompanied() {
		t.Error("in the company of one who is gone")
	}
}
