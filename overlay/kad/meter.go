package kad

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/quic-go/quic-go"
)

// Traffic is how many bytes went one way and the other.
type Traffic struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

func (t *Traffic) add(o Traffic)         { t.Sent += o.Sent; t.Received += o.Received }
func (t Traffic) less(o Traffic) Traffic { return Traffic{t.Sent - o.Sent, t.Received - o.Received} }

// Spending is what a node has sent and received since it was made, and what it may
// send.
type Spending struct {
	Traffic                      // over connections that came about, with all headers; to a second
	Protocols map[string]Traffic `json:"protocols"` // of these, what streams carried, by protocol
	Upload    Upload             `json:"upload"`
}

const (
	maxProtocols = 64 // counted apart; a stranger can name any
	otherName    = "other"
	unnamed      = "negotiation" // of a protocol for a stream

	headersIP4, headersIP6 = 20 + 8, 40 + 8 // of IP and UDP
	tcpOver                = 10             // one part in so many comes on top of streams over TCP
)

// meter counts what goes over the wire. libp2p tells what streams carry. To that come
// headers, acknowledgements and keep-alives, which are most of what a quiet node
// spends: a QUIC connection tells them, for one over TCP they are estimated.
type meter struct {
	mu        sync.Mutex
	protocols map[string]*Traffic
	peers     map[peer.ID]*flow
	conns     map[network.Conn]*reading
	total     Traffic
	budget    allowance
	looked    time.Time // at the connections
	last      counted
}

// counted is who streams carried something for last: mostly it is the same once more, as a frame
// comes in pieces.
type counted struct {
	about    protocol.ID
	with     peer.ID
	flow     *flow // nil: nobody
	protocol *Traffic
}

// flow is what went between this node and a peer.
type flow struct {
	streams  Traffic
	reckoned Traffic // of streams, what is in wire
	wire     Traffic
}

// reading is what a connection had told at the last look. A node with a hundred of them
// looks again and again, so what they are is found out once.
type reading struct {
	over   transports
	quic   *quic.Conn // nil if it is over something else
	header uint64     // that each of its packets has
	told   Traffic
}

func newMeter(most uint64) *meter {
	return &meter{
		protocols: make(map[string]*Traffic), peers: make(map[peer.ID]*flow), conns: make(map[network.Conn]*reading),
		budget: allowance{most: most},
	}
}

var _ metrics.Reporter = (*meter)(nil)

// LogSentMessageStream implements metrics.Reporter.
func (m *meter) LogSentMessageStream(n int64, about protocol.ID, with peer.ID) {
	m.stream(Traffic{Sent: uint64(n)}, about, with)
}

// LogRecvMessageStream implements metrics.Reporter.
func (m *meter) LogRecvMessageStream(n int64, about protocol.ID, with peer.ID) {
	m.stream(Traffic{Received: uint64(n)}, about, with)
}

func (m *meter) stream(t Traffic, about protocol.ID, with peer.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := &m.last; l.flow == nil || l.with != with || l.about != about {
		*l = counted{about, with, m.flow(with), m.protocol(about)}
	}
	m.last.flow.streams.add(t)
	m.last.protocol.add(t)
}

// protocol is what went by one, or by those that are not counted apart.
func (m *meter) protocol(about protocol.ID) *Traffic {
	name := cmp.Or(string(about), unnamed)
	p := m.protocols[name]
	if p == nil && len(m.protocols) >= maxProtocols {
		name = otherName
		p = m.protocols[name]
	}
	if p == nil {
		p = new(Traffic)
		m.protocols[name] = p
	}
	return p
}

func (m *meter) flow(p peer.ID) *flow {
	f := m.peers[p]
	if f == nil {
		f = new(flow)
		m.peers[p] = f
	}
	return f
}

// look reads the connections there are, and forgets who has none. It returns
// whether the node has to spare from now on.
func (m *meter) look(now time.Time, conns []network.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked = now
	m.last = counted{}
	over := make(map[peer.ID]transports, len(m.peers))
	for _, c := range conns {
		if !c.IsClosed() { // else closed reads it, or did
			over[c.RemotePeer()] |= m.readConn(c)
		}
	}
	for p, f := range m.peers {
		m.reckon(f, over[p])
		if over[p] == 0 {
			delete(m.peers, p)
		}
	}
	return m.budget.look(now, m.total.Sent)
}

// transports are those that a peer is connected over.
type transports uint8

const (
	overQUIC transports = 1 << iota
	overTCP
	overRelay // whose own connection counts
)

// readConn adds what a connection has told since the last look.
func (m *meter) readConn(c network.Conn) transports {
	r := m.conns[c]
	if r == nil {
		r = newReading(c)
		m.conns[c] = r
	}
	if r.over != overQUIC {
		return r.over
	}
	s := r.quic.ConnectionStats()
	is := Traffic{s.BytesSent + r.header*s.PacketsSent, s.BytesReceived + r.header*s.PacketsReceived}
	more := is.less(r.told)
	r.told = is
	m.flow(c.RemotePeer()).wire.add(more)
	m.total.add(more)
	return overQUIC
}

func newReading(c network.Conn) *reading {
	r := &reading{over: overTCP, quic: quicOf(c)}
	switch {
	case relayed(c.RemoteMultiaddr()):
		r.over = overRelay
	case r.quic != nil:
		r.over, r.header = overQUIC, headersOf(c.RemoteMultiaddr())
	}
	return r
}

func headersOf(addr ma.Multiaddr) uint64 {
	if _, err := addr.ValueForProtocol(ma.P_IP6); err == nil {
		return headersIP6
	}
	return headersIP4
}

// reckon estimates what streams over TCP cost.
func (m *meter) reckon(f *flow, over transports) {
	more := f.streams.less(f.reckoned)
	f.reckoned = f.streams
	if over&overQUIC != 0 || over == 0 {
		return
	}
	more.Sent += more.Sent / tcpOver
	more.Received += more.Received / tcpOver
	f.wire.add(more)
	if over&overTCP != 0 {
		m.total.add(more)
	}
}

// closed reads a connection for the last time.
func (m *meter) closed(c network.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	over := m.readConn(c)
	delete(m.conns, c)
	if over != overQUIC {
		m.reckon(m.flow(c.RemotePeer()), over)
	}
}

// with returns what went between this node and a peer.
func (m *meter) with(p peer.ID) Traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.peers[p]; f != nil {
		return f.wire
	}
	return Traffic{}
}

func (m *meter) spending(now time.Time) Spending {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Spending{Traffic: m.total, Protocols: make(map[string]Traffic, len(m.protocols)), Upload: m.budget.report(now)}
	for _, name := range slices.Sorted(maps.Keys(m.protocols)) {
		s.Protocols[name] = *m.protocols[name]
	}
	return s
}

// limited reports whether what is sent has to be watched.
func (m *meter) limited() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.budget.most > 0 || m.budget.sparing
}

// fresh reports whether somebody looked in the last second.
func (m *meter) fresh(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Sub(m.looked) < time.Second
}

func (m *meter) limit(most uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.budget.most = most
}

// What else libp2p could ask for and does not: the totals follow from the rest.

// LogSentMessage implements metrics.Reporter.
func (m *meter) LogSentMessage(int64) {}

// LogRecvMessage implements metrics.Reporter.
func (m *meter) LogRecvMessage(int64) {}

// GetBandwidthForPeer implements metrics.Reporter.
func (m *meter) GetBandwidthForPeer(p peer.ID) metrics.Stats { return statsOf(m.with(p)) }

// GetBandwidthForProtocol implements metrics.Reporter.
func (m *meter) GetBandwidthForProtocol(about protocol.ID) metrics.Stats {
	return m.GetBandwidthByProtocol()[about]
}

// GetBandwidthTotals implements metrics.Reporter.
func (m *meter) GetBandwidthTotals() metrics.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return statsOf(m.total)
}

// GetBandwidthByPeer implements metrics.Reporter.
func (m *meter) GetBandwidthByPeer() map[peer.ID]metrics.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[peer.ID]metrics.Stats, len(m.peers))
	for p, f := range m.peers {
		all[p] = statsOf(f.wire)
	}
	return all
}

// GetBandwidthByProtocol implements metrics.Reporter.
func (m *meter) GetBandwidthByProtocol() map[protocol.ID]metrics.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[protocol.ID]metrics.Stats, len(m.protocols))
	for name, t := range m.protocols {
		all[protocol.ID(name)] = statsOf(*t)
	}
	return all
}

// Reset implements metrics.Reporter, and resets nothing: these counts only grow.
func (m *meter) Reset() {}

// TrimIdle implements metrics.Reporter. What is idle is forgotten anyway.
func (m *meter) TrimIdle(time.Time) {}

func statsOf(t Traffic) metrics.Stats {
	return metrics.Stats{TotalIn: int64(t.Received), TotalOut: int64(t.Sent)}
}
