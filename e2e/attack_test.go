package e2e

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/kad"
)

// mallory is a member like any other that keeps every frame it gets and sends
// what it likes.
type mallory struct {
	*kad.Node
	loop   *live.Loop
	mu     sync.Mutex
	frames [][]byte
}

func (m *mallory) Frame(from overlay.ID, frame []byte) {
	m.mu.Lock()
	m.frames = append(m.frames, bytes.Clone(frame))
	m.mu.Unlock()
	m.loop.Frame(from, frame)
}

func (m *mallory) Gone(id overlay.ID) { m.loop.Gone(id) }
func (m *mallory) Routes()            { m.loop.Routes() }

// carrying returns the recorded frames in which an item's guid stands. Payloads
// are compressed, so an event is told by its size and its group.
func (m *mallory) carrying(g multicast.Group) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found [][]byte
	for _, f := range m.frames {
		if len(f) > 400 && bytes.Contains(f, g[:]) {
			found = append(found, f)
		}
	}
	return found
}

func newMallory(t *testing.T, s *swarm) *mallory {
	t.Helper()
	cfg := kad.Config{Network: s.network, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true}
	for _, p := range s.proxies {
		cfg.Bootstrap = append(cfg.Bootstrap, p.addr)
	}
	node, err := kad.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &mallory{Node: node}
	m.loop = live.New(node, live.Config{})
	if err := node.Start(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.loop.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		node.Close()
	})
	return m
}

func refusals(s *swarm) uint64 {
	var sum uint64
	for _, p := range s.proxies {
		st, err := p.status()
		if err != nil {
			continue
		}
		for _, n := range st.Refused {
			sum += n
		}
	}
	return sum
}

// What is altered in flight, replayed, or moved to another group reaches no
// reader and is counted on the status page.
func TestHostileMember(t *testing.T) {
	st := newStage(t, 4)
	url := st.legacy.url
	st.subscribe(url)
	st.subscribe(st.signed.url)
	m := newMallory(t, st.swarm)
	g := multicast.GroupOf(url)
	if err := m.loop.Join(t.Context(), g, nil, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "mallory in the tree", func() bool {
		status, ok := m.loop.Group(g)
		return ok && status.Attached
	})
	st.legacy.add("genuine")
	st.put()
	st.spread(url, "genuine", time.Now(), 20*time.Second) // how soon is TestLegacyFeed's question
	eventually(t, 10*time.Second, "mallory has an event", func() bool { return len(m.carrying(g)) > 0 })
	event := m.carrying(g)[0]
	peers := m.Connected()
	shower := func(frame []byte) {
		for _, id := range peers {
			m.Send(id, frame)
		}
	}
	served := func() []string {
		var docs []string
		for _, p := range st.proxies {
			_, doc := p.get("/feed/" + url)
			docs = append(docs, doc)
		}
		return docs
	}
	before := served()

	other := multicast.GroupOf(st.signed.url)
	moved := bytes.Replace(bytes.Clone(event), g[:], other[:], 1)
	for what, frame := range map[string][]byte{
		"altered in flight": flip(event, len(event)-20),
		"a header altered":  flip(event, bytes.LastIndex(event, g[:])+40),
		"for another group": moved,
		"truncated":         event[:len(event)-30],
		"garbage":           bytes.Repeat([]byte{0xff}, 500),
	} {
		counted := refusals(st.swarm)
		shower(frame)
		eventually(t, 10*time.Second, what+": counted on a status page", func() bool { return refusals(st.swarm) > counted })
	}
	for range 20 {
		shower(event) // the genuine one again
	}
	st.legacy.add("after the attack")
	st.put()
	st.spread(url, "after the attack", time.Now(), 20*time.Second)
	for i, p := range st.proxies {
		if n := p.holds(url, "genuine"); n != 1 {
			t.Errorf("proxy %d serves the replayed item %d times", i, n)
		}
		_, doc := p.get("/feed/" + url)
		if n, was := bytes.Count([]byte(doc), []byte("<item>")), bytes.Count([]byte(before[i]), []byte("<item>")); n != was+1 {
			t.Errorf("proxy %d serves %d items, want %d", i, n, was+1)
		}
	}
	if !slices.ContainsFunc(st.proxies, func(p *proxy) bool { _, page := p.get("/"); return len(page) > 0 }) {
		t.Error("no page")
	}
}

func flip(frame []byte, at int) []byte {
	f := bytes.Clone(frame)
	f[at] ^= 0x20
	return f
}
