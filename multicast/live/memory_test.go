package live

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// memory is an overlay of several nodes in one process: everybody is connected
// to everybody, frames arrive in order over one channel per direction.
type memory struct {
	mu     sync.Mutex
	nodes  map[overlay.ID]*member
	tamper func(from, to overlay.ID, frame []byte) []byte // what arrives instead
}

// member is a node of a memory overlay, its loop, and what it was told.
type member struct {
	net  *memory
	id   overlay.ID
	loop *Loop
	in   map[overlay.ID]chan []byte
	stop func()

	mu        sync.Mutex
	delivered []string
	from      map[string]overlay.ID
	kept      []string
	notices   []tree.Notice
	learnt    map[overlay.ID]bool
}

// network makes nodes n0, n1, … and runs them until the test's end.
func network(t *testing.T, n int, judge Judge) (*memory, []*member) {
	net := &memory{nodes: map[overlay.ID]*member{}}
	var all []*member
	for i := range n {
		all = append(all, net.add(t, overlay.ID(fmt.Sprint("n", i)), judge))
	}
	synctest.Wait()
	return net, all
}

func (net *memory) add(t *testing.T, id overlay.ID, judge Judge) *member {
	m := &member{net: net, id: id, in: map[overlay.ID]chan []byte{}, from: map[string]overlay.ID{}, learnt: map[overlay.ID]bool{}}
	m.loop = New(m, Config{Judge: judge, Deliver: m.deliver, Keep: m.keep, Notice: m.notice, Seed: uint64(len(net.nodes) + 1)})
	net.mu.Lock()
	net.nodes[id] = m
	others := make([]*member, 0, len(net.nodes))
	for _, o := range net.nodes {
		others = append(others, o)
	}
	net.mu.Unlock()
	for _, o := range others {
		o.loop.Routes()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		m.loop.Run(ctx)
		close(ended)
	}()
	m.stop = func() { cancel(); <-ended }
	return m
}

// kill ends a node without goodbye: nothing it sends arrives any more.
func (net *memory) kill(m *member) {
	net.mu.Lock()
	delete(net.nodes, m.id)
	var others []*member
	for _, o := range net.nodes {
		others = append(others, o)
	}
	net.mu.Unlock()
	m.stop()
	m.hangUp()
	for _, o := range others {
		o.loop.Gone(m.id)
		o.loop.Routes()
	}
}

func (net *memory) end() {
	net.mu.Lock()
	nodes := net.nodes
	net.nodes = map[overlay.ID]*member{}
	net.mu.Unlock()
	for _, m := range nodes {
		m.stop()
		m.hangUp()
	}
}

func (m *member) hangUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.in {
		close(in)
	}
	m.in = nil
}

func (m *member) Self() overlay.ID { return m.id }

func (m *member) NextHop(key overlay.Key) (overlay.ID, bool) {
	near := m.Closest(key, 1)
	if len(near) == 0 || !key.Closer(near[0].Key(), m.id.Key()) {
		return "", false
	}
	return near[0], true
}

func (m *member) Closest(key overlay.Key, n int) []overlay.ID {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	var ids []overlay.ID
	for id := range m.net.nodes {
		if id != m.id {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b overlay.ID) int {
		if key.Closer(a.Key(), b.Key()) {
			return -1
		}
		return 1
	})
	return ids[:min(n, len(ids))]
}

func (m *member) RTT(overlay.ID) (time.Duration, bool) { return 0, false }

func (m *member) Lookup(_ context.Context, name []byte) ([]overlay.ID, error) {
	return m.Closest(overlay.KeyOf(name), 20), nil
}

func (m *member) AddrsOf(id overlay.ID) [][]byte { return [][]byte{[]byte("/at/" + id)} }

func (m *member) Learn(id overlay.ID, _ [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learnt[id] = true
}

func (m *member) Keep(overlay.ID, bool) {}
func (m *member) Suspect(overlay.ID)    {}
func (m *member) Reachable() bool       { return true }

func (m *member) Send(to overlay.ID, parts ...[]byte) error {
	frame := slices.Concat(parts...)
	m.net.mu.Lock()
	peer, tamper := m.net.nodes[to], m.net.tamper
	alive := m.net.nodes[m.id] == m
	m.net.mu.Unlock()
	if peer == nil || !alive {
		return fmt.Errorf("%s is gone", to)
	}
	if tamper != nil {
		frame = tamper(m.id, to, frame)
	}
	return peer.arrive(m.id, frame)
}

// arrive queues a frame for the goroutine of the peer it comes from.
func (m *member) arrive(from overlay.ID, frame []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.in == nil {
		return fmt.Errorf("%s is gone", m.id)
	}
	in := m.in[from]
	if in == nil {
		in = make(chan []byte, 1024)
		m.in[from] = in
		go func() {
			for frame := range in {
				m.loop.Frame(from, frame)
			}
		}()
	}
	select {
	case in <- frame:
		return nil
	default:
		return fmt.Errorf("the queue to %s is full", m.id)
	}
}

func (m *member) deliver(d multicast.Delivery, e *signing.Envelope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := nameOf(e)
	m.delivered = append(m.delivered, name)
	m.from[name] = d.From
}

func nameOf(e *signing.Envelope) string {
	if e.Kind == signing.Heartbeat {
		return fmt.Sprintf("beat %d", e.Seq)
	}
	return fmt.Sprintf("news %d", e.Seq)
}

func (m *member) keep(_ multicast.Event, e *signing.Envelope) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, nameOf(e))
}

func (m *member) notice(n tree.Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notices = append(m.notices, n)
}

// got checks what was delivered, in any order and each once.
func (m *member) got(t *testing.T, want ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	got := slices.Sorted(slices.Values(m.delivered))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s was delivered %q, want %q", m.id, got, want)
	}
}

func (m *member) join(t *testing.T, cursor []multicast.Stamp, recent ...[]byte) {
	t.Helper()
	if err := m.loop.Join(t.Context(), groupA, cursor, recent); err != nil {
		t.Fatal(err)
	}
}

func (m *member) publish(t *testing.T, wire []byte, want int) {
	t.Helper()
	if err := m.loop.Publish(t.Context(), wire, want); err != nil {
		t.Fatal(err)
	}
}

// forge alters the last byte of every envelope in a frame.
func forge(frame []byte) []byte {
	m, _, r := decode(frame)
	if r != "" || m.Type != tree.Data {
		return frame
	}
	body := bytes.Clone(m.Event.Body)
	body[len(body)-1] ^= 1
	m.Event = &multicast.Event{Body: body}
	frames, err := encoded(m, nowhere)
	if err != nil {
		panic(err)
	}
	return frames[0]
}
