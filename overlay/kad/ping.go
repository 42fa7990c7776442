package kad

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/libp2p/go-yamux/v5"
	msmux "github.com/multiformats/go-multistream"
	"github.com/quic-go/quic-go"

	"github.com/feedtree/feedtree/overlay"
)

const (
	pingPatience = 2 * time.Second
	lateBy       = 500 * time.Millisecond // this node, when it is it that is slow
	answerTries  = 3
	vetAfter     = 700 * time.Millisecond
)

// ping asks for an echo over one connection. The ping of libp2p takes whichever
// connection it likes best, which says nothing about the others.
func (n *Node) ping(conn network.Conn) bool {
	ctx, cancel := context.WithTimeout(n.ctx, pingPatience)
	defer cancel()
	s, err := conn.NewStream(network.WithAllowLimitedConn(ctx, "ping"))
	if err != nil {
		return false
	}
	defer s.Reset()
	_ = s.SetDeadline(time.Now().Add(pingPatience))
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	if msmux.SelectProtoOrFail(ping.ID, s) != nil {
		return false
	}
	sent, got := make([]byte, ping.PingSize), make([]byte, ping.PingSize)
	_, _ = rand.Read(sent)
	began := time.Now()
	if _, err := s.Write(sent); err != nil {
		return false
	}
	if _, err := io.ReadFull(s, got); err != nil {
		return false
	}
	n.host.Peerstore().RecordLatency(conn.RemotePeer(), time.Since(began))
	return string(sent) == string(got)
}

// closeDead closes those of the connections that do not answer.
func (n *Node) closeDead(conns []network.Conn) {
	var all sync.WaitGroup
	for _, conn := range conns {
		all.Go(func() {
			if !n.answers(conn) && n.ctx.Err() == nil {
				n.count.inc(connsDead)
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}

// answers reports whether anything comes over a connection that is pinged. On a busy
// machine the echo may be late, but a packet comes. Where this node itself was late to
// look, what came meanwhile may still be unread: it asks once more.
func (n *Node) answers(conn network.Conn) bool {
	for range answerTries {
		before, began := received(conn), time.Now()
		if n.ping(conn) || received(conn) > before {
			return true
		}
		if time.Since(began) < pingPatience+lateBy {
			return false
		}
	}
	return false
}

// received counts the packets that came over a QUIC connection; of others it knows
// nothing.
func received(conn network.Conn) uint64 {
	if q := quicOf(conn); q != nil {
		return q.ConnectionStats().PacketsReceived
	}
	return 0
}

// vet looks for a ghost: a dial that was given up in its last instant leaves the
// other side with a QUIC connection that nobody is at the end of, and libp2p puts
// new streams on it for half a minute. The end of a handshake is acknowledged at
// once by a live peer, so a new connection on which nothing more arrives is
// suspect.
func (n *Node) vet(conn network.Conn) {
	if quicOf(conn) != nil && conn.Stat().Direction == network.DirInbound {
		n.goes(func() { n.closeGhost(conn) })
	}
}

// closeGhost waits for a packet, and closes the connection if none comes and it does
// not answer either.
func (n *Node) closeGhost(conn network.Conn) {
	before := received(conn)
	if n.pause(vetAfter) && received(conn) == before && !conn.IsClosed() {
		n.closeDead([]network.Conn{conn})
	}
}

func quicOf(conn network.Conn) *quic.Conn {
	var q *quic.Conn
	if conn.As(&q) {
		return q
	}
	return nil
}

// RTT returns the round-trip time to a peer: the shortest that QUIC has seen on the
// connection, which is what the way takes, while most of a mean over a few packets is
// what the machines at its ends were busy with; else what the DHT's queries and a first
// ping took.
func (n *Node) RTT(id overlay.ID) (time.Duration, bool) {
	p := peer.ID(id)
	for _, conn := range n.host.Network().ConnsToPeer(p) {
		if q := quicOf(conn); q != nil {
			if rtt := q.ConnectionStats().MinRTT; rtt > 0 {
				return rtt, true
			}
		}
	}
	rtt := n.host.Peerstore().LatencyEWMA(p)
	return rtt, rtt > 0
}

// measure pings once over a TCP connection, which keeps no time of its own.
func (n *Node) measure(conn network.Conn) {
	var session *yamux.Session
	if !conn.As(&session) {
		return
	}
	n.goes(func() {
		if rtt, err := session.Ping(); err == nil {
			n.host.Peerstore().RecordLatency(conn.RemotePeer(), rtt)
		}
	})
}
