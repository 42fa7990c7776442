package kad

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/libp2p/go-yamux/v5"
	"github.com/quic-go/quic-go"

	"github.com/feedtree/feedtree/overlay"
)

// A process that is killed closes its TCP connections; its QUIC ones just fall
// silent, and libp2p takes half a minute to notice. What a live peer never does
// is leave a QUIC packet unacknowledged. So nothing needs to be sent to a
// healthy neighbour: one that acknowledged nothing for a while after something was
// written to it gets a ping, and who does not answer that is disconnected.
const (
	pulseEvery   = 500 * time.Millisecond
	silenceQUIC  = 2 * time.Second
	silenceTCP   = 10 * time.Second // where only frames tell that it lives
	pingPatience = 2 * time.Second
	redialAfter  = 2 * time.Second
	maxDoubts    = 128
)

// pulse is what is known of a neighbour's being alive.
type pulse struct {
	heard atomic.Uint64 // frames received

	mu      sync.Mutex
	waiting bool      // something was written, and nothing has come since
	signs   uint64    // of life there were at the write
	since   time.Time // that write
}

// count counts the signs of life: what only a live neighbour can
// cause. Packets where the transport tells, else frames.
func (p *pulse) count(conn network.Conn) (signs uint64, limit time.Duration) {
	if q := quicOf(conn); q != nil {
		return q.ConnectionStats().PacketsReceived, silenceQUIC
	}
	return p.heard.Load(), silenceTCP
}

// wrote starts the wait for a sign, unless it is on already.
func (p *pulse) wrote(conn network.Conn) {
	signs, _ := p.count(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting || signs != p.signs {
		p.waiting, p.signs, p.since = true, signs, time.Now()
	}
}

// silent reports whether the wait has been too long, and then starts anew.
func (p *pulse) silent(conn network.Conn, now time.Time) bool {
	signs, limit := p.count(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	if signs != p.signs {
		p.waiting = false
	}
	if !p.waiting || now.Sub(p.since) < limit {
		return false
	}
	p.since = now
	return true
}

// look goes over the links for as long as the node lives.
func (n *Node) look() {
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case now := <-ticker.C:
			for l, conn := range n.links.open() {
				if l.pulse.silent(conn, now) {
					n.doubt(l.peer, 0)
				}
			}
		}
	}
}

// open returns the links that are being written to, with their connections.
func (ls *links) open() map[*link]network.Conn {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	open := make(map[*link]network.Conn, len(ls.byPeer))
	for _, l := range ls.byPeer {
		if l.out != nil {
			open[l] = l.out.Conn()
		}
	}
	return open
}

func quicOf(conn network.Conn) *quic.Conn {
	var q *quic.Conn
	if conn.As(&q) {
		return q
	}
	return nil
}

// doubts holds the peers being checked on.
type doubts struct {
	mu sync.Mutex
	of map[peer.ID]bool // whether NextHop must avoid it meanwhile
}

func (d *doubts) begin(p peer.ID, avoid bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, already := d.of[p]; already || len(d.of) >= maxDoubts {
		return false
	}
	d.of[p] = avoid
	return true
}

func (d *doubts) end(p peer.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, p)
}

func (d *doubts) avoid(p peer.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[p]
}

// Suspect says that a peer does not seem to answer. NextHop avoids it from now
// until it has answered a ping; if it does not, it is disconnected and reported
// as gone.
func (n *Node) Suspect(id overlay.ID) {
	if p := peer.ID(id); p != n.host.ID() && allowed(p) {
		n.doubt(p, 0)
	}
}

// doubt checks on a peer after a while, once at a time.
func (n *Node) doubt(p peer.ID, after time.Duration) {
	if !n.doubts.begin(p, after == 0) {
		return
	}
	n.table.touch()
	n.goes(func() {
		defer n.table.touch()
		defer n.doubts.end(p)
		select {
		case <-time.After(after):
			n.verify(p)
		case <-n.ctx.Done():
		}
	})
}

// verify pings a connected peer and redials one that is not. Who does not answer
// leaves the routing table.
func (n *Node) verify(p peer.ID) {
	if n.host.Network().Connectedness(p) == network.Connected {
		if n.answers(p) || n.ctx.Err() != nil {
			return
		}
		n.count.inc(peersSilent)
		n.log.Debug("a peer stopped answering", "peer", p)
		n.evict(p)
		_ = n.host.Network().ClosePeer(p)
		return
	}
	if n.dht.RoutingTable().Find(p) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, dialPatience)
	defer cancel()
	if n.dial(ctx, peer.AddrInfo{ID: p}) != nil && n.ctx.Err() == nil {
		n.evict(p)
	}
}

func (n *Node) evict(p peer.ID) {
	n.count.inc(peersEvicted)
	n.dht.RoutingTable().RemovePeer(p)
}

func (n *Node) answers(p peer.ID) bool {
	ctx, cancel := context.WithTimeout(n.ctx, pingPatience)
	defer cancel()
	select {
	case r := <-ping.Ping(ctx, n.host, p):
		return r.Error == nil
	case <-ctx.Done():
		return false
	}
}

// RTT returns the smoothed round-trip time to a peer: what QUIC measures anyway,
// else what the DHT's queries and a first ping took.
func (n *Node) RTT(id overlay.ID) (time.Duration, bool) {
	p := peer.ID(id)
	for _, conn := range n.host.Network().ConnsToPeer(p) {
		if q := quicOf(conn); q != nil {
			if rtt := q.ConnectionStats().SmoothedRTT; rtt > 0 {
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
