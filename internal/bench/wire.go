package bench

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
)

// wire is what lies between a host and the network, and what is counted there.
type wire struct {
	delay time.Duration
	wrap  bool
	cut   atomic.Bool
}

// options put the wire below a host.
func (w *wire) options() []libp2p.Option {
	if !w.wrap {
		return nil
	}
	return []libp2p.Option{libp2p.QUICReuse(quicreuse.NewConnManager, quicreuse.OverrideListenUDP(w.listen))}
}

func (w *wire) listen(network string, at *net.UDPAddr) (net.PacketConn, error) {
	under, err := net.ListenUDP(network, at)
	if err != nil {
		return nil, err
	}
	s := &socket{UDPConn: under, wire: w, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	go s.run()
	return plain{s}, nil
}

// plain hides that the socket below can do more than a net.PacketConn.
type plain struct{ *socket }

// socket delays what is written to it.
type socket struct {
	*net.UDPConn
	wire   *wire
	mu     sync.Mutex
	queue  []packet
	wake   chan struct{}
	closed chan struct{}
	once   sync.Once
}

type packet struct {
	due time.Time
	to  netip.AddrPort
	b   []byte
}

// maxPackets bounds what a socket holds back; more is dropped, as a link would.
const maxPackets = 1 << 16

// SyscallConn is shadowed so that QUIC does not write past the queue.
func (plain) SyscallConn() {}

// ReadMsgUDP and WriteMsgUDP are shadowed for the same reason.
func (plain) ReadMsgUDP()  {}
func (plain) WriteMsgUDP() {}

func (s *socket) WriteTo(b []byte, to net.Addr) (int, error) {
	addr, ok := to.(*net.UDPAddr)
	if !ok || s.wire.cut.Load() {
		return len(b), nil
	}
	if s.wire.delay == 0 {
		return s.UDPConn.WriteTo(b, to)
	}
	s.mu.Lock()
	if len(s.queue) < maxPackets {
		s.queue = append(s.queue, packet{time.Now().Add(s.wire.delay), addr.AddrPort(), append([]byte(nil), b...)})
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := s.UDPConn.ReadFrom(b)
		if err != nil || !s.wire.cut.Load() {
			return n, from, err
		}
	}
}

// run hands packets to the kernel when they are due.
func (s *socket) run() {
	for {
		s.mu.Lock()
		var first packet
		waiting := len(s.queue) > 0
		if waiting {
			first = s.queue[0]
		}
		s.mu.Unlock()
		if !waiting {
			select {
			case <-s.wake:
			case <-s.closed:
				return
			}
			continue
		}
		if wait := time.Until(first.due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-s.closed:
				return
			}
		}
		_, _ = s.UDPConn.WriteToUDPAddrPort(first.b, first.to) // a packet may be lost
		s.mu.Lock()
		s.queue = s.queue[1:]
		s.mu.Unlock()
	}
}

func (s *socket) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.UDPConn.Close()
}

// meter counts bytes on streams as they are written.
type meter struct{ sent *atomic.Int64 }

func (m meter) LogSentMessage(n int64)                              { m.sent.Add(n) }
func (meter) LogRecvMessage(int64)                                  {}
func (meter) LogSentMessageStream(int64, protocol.ID, peer.ID)      {}
func (meter) LogRecvMessageStream(int64, protocol.ID, peer.ID)      {}
func (meter) GetBandwidthForPeer(peer.ID) (s metrics.Stats)         { return s }
func (meter) GetBandwidthForProtocol(protocol.ID) (s metrics.Stats) { return s }
func (meter) GetBandwidthTotals() (s metrics.Stats)                 { return s }
func (meter) GetBandwidthByPeer() map[peer.ID]metrics.Stats         { return nil }
func (meter) GetBandwidthByProtocol() map[protocol.ID]metrics.Stats { return nil }
func (meter) Reset()                                                {}
func (meter) TrimIdle(time.Time)                                    {}
