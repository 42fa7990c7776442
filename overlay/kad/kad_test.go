package kad

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

var onLoopback = []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"}

// seeded returns the same key for the same number, so that positions do not
// change from run to run.
func seeded(i int) ed25519.PrivateKey {
	seed := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("kad test"), uint64(i)))
	return ed25519.NewKeyFromSeed(seed[:])
}

// seen is an Inbound that remembers what it was told.
type seen struct {
	mu     sync.Mutex
	frames map[overlay.ID][][]byte
	gone   map[overlay.ID]int
	routes int
	block  chan struct{} // if set, Frame waits for it
}

func newSeen() *seen {
	return &seen{frames: make(map[overlay.ID][][]byte), gone: make(map[overlay.ID]int)}
}

func (s *seen) Frame(from overlay.ID, frame []byte) {
	s.mu.Lock()
	s.frames[from] = append(s.frames[from], frame)
	block := s.block
	s.mu.Unlock()
	if block != nil {
		<-block
	}
}

func (s *seen) Gone(id overlay.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[id]++
}

func (s *seen) Routes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes++
}

func (s *seen) from(id overlay.ID) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames[id])
}

func (s *seen) lost(id overlay.ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone[id]
}

// eventually waits for a condition. How long it may take on a busy machine is not what
// is tested.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, time.Minute, what, ok)
}

func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	if !soon(limit, ok) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}

// soon waits for a condition and reports whether it came to be.
func soon(limit time.Duration, ok func() bool) bool {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(limit)
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// quiet is a loopback node's configuration that meets nobody by chance.
func quiet(t testing.TB, c Config) Config {
	if c.Listen == nil {
		c.Listen = onLoopback
	}
	if c.Network == "" {
		c.Network = "test"
	}
	c.NoMDNS, c.NoNAT, c.NoRendezvous = true, true, true
	if os.Getenv("KAD_LOG") != "" {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return c
}

func start(t testing.TB, c Config) (*Node, *seen) {
	t.Helper()
	return begin(t, quiet(t, c))
}

func begin(t testing.TB, c Config) (*Node, *seen) {
	t.Helper()
	in := newSeen()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := n.Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return n, in
}

// gather starts count nodes that join through the first.
func gather(t testing.TB, count int, c Config) ([]*Node, []*seen) {
	t.Helper()
	nodes, ins := make([]*Node, count), make([]*seen, count)
	for i := range nodes {
		c.Key = seeded(i)
		nodes[i], ins[i] = start(t, c)
		if i == 0 {
			c.Bootstrap = nodes[0].Addrs()[:1]
		}
	}
	return nodes, ins
}

func full(t testing.TB, nodes []*Node) {
	t.Helper()
	eventually(t, "everybody knows everybody", func() bool {
		for _, n := range nodes {
			if len(n.table.entries()) < len(nodes)-1 || len(n.Connected()) < len(nodes)-1 {
				return false
			}
		}
		return true
	})
}

// root returns who of nodes is nearest to key.
func root(nodes []*Node, key overlay.Key) overlay.ID {
	best := nodes[0].Self()
	for _, n := range nodes[1:] {
		if key.Closer(n.Self().Key(), best.Key()) {
			best = n.Self()
		}
	}
	return best
}

func name(i int) []byte { return fmt.Appendf(nil, "group %d", i) }

func TestRoutingAgreesWithXOR(t *testing.T) {
	nodes, _ := gather(t, 8, Config{})
	full(t, nodes)
	for i := range 200 {
		key := overlay.KeyOf(name(i))
		want := root(nodes, key)
		for _, n := range nodes {
			hop, ok := n.NextHop(key)
			if ok != (n.Self() != want) || ok && hop != want {
				t.Fatalf("key %v: next hop %s, %v; the root is %s", key, Text(hop), ok, Text(want))
			}
			near := n.Closest(key, 3)
			if len(near) != 3 || slices.Contains(near, n.Self()) {
				t.Fatalf("closest: %d peers, or self among them", len(near))
			}
			for j := range near[:2] {
				if key.Closer(near[j+1].Key(), near[j].Key()) {
					t.Fatal("closest: not nearest first")
				}
			}
		}
	}
	if n := len(nodes[0].Closest(overlay.Key{}, -1)); n != 0 {
		t.Errorf("closest -1: %d peers", n)
	}
}

func TestLookupFindsTheRoot(t *testing.T) {
	nodes, _ := gather(t, 8, Config{})
	full(t, nodes)
	for i := range 20 {
		want := root(nodes, overlay.KeyOf(name(i)))
		asker := nodes[i%len(nodes)]
		found, err := asker.Lookup(t.Context(), name(i))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(found, asker.Self()) {
			t.Fatal("lookup names the asker")
		}
		if asker.Self() != want && found[0] != want {
			t.Errorf("lookup %d: %s, want %s", i, Text(found[0]), Text(want))
		}
	}
	if rtt, ok := nodes[0].RTT(nodes[1].Self()); !ok || rtt <= 0 || rtt > time.Second {
		t.Errorf("RTT %v, %v", rtt, ok)
	}
	if _, ok := nodes[0].RTT(overlay.ID(peer.ID("nobody"))); ok {
		t.Error("RTT of nobody")
	}
}

func TestLookupAlone(t *testing.T) {
	n, _ := start(t, Config{})
	if _, err := n.Lookup(t.Context(), name(0)); err != ErrAlone {
		t.Fatalf("lookup alone: %v", err)
	}
	if _, ok := n.NextHop(overlay.Key{}); ok {
		t.Fatal("a next hop without peers")
	}
}
