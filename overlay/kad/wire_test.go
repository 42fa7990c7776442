package kad

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// wire forwards UDP between one client and a server until it is cut.
type wire struct {
	addr   ma.Multiaddr
	closed atomic.Bool
}

func (w *wire) cut() { w.closed.Store(true) }

// newWire leads to the first QUIC address in to.
func newWire(t *testing.T, to []ma.Multiaddr) *wire {
	t.Helper()
	var server *net.UDPAddr
	for _, addr := range to {
		if version, hostPort, err := manet.DialArgs(addr); err == nil && version == "udp4" {
			server, _ = net.ResolveUDPAddr(version, hostPort)
		}
	}
	near, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.DialUDP("udp4", nil, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	w := &wire{addr: ma.StringCast(fmt.Sprintf("/ip4/127.0.0.1/udp/%d/quic-v1", near.LocalAddr().(*net.UDPAddr).Port))}
	var client atomic.Pointer[net.UDPAddr]
	go w.pump(near, func(b []byte, from *net.UDPAddr) { client.Store(from); _, _ = far.Write(b) })
	go w.pump(far, func(b []byte, _ *net.UDPAddr) {
		if c := client.Load(); c != nil {
			_, _ = near.WriteToUDP(b, c)
		}
	})
	return w
}

func (w *wire) pump(from *net.UDPConn, to func([]byte, *net.UDPAddr)) {
	b := make([]byte, 2048)
	for {
		n, addr, err := from.ReadFromUDP(b)
		if err != nil {
			return
		}
		if !w.closed.Load() {
			to(b[:n], addr)
		}
	}
}

// wired starts two nodes with a wire between them that can be cut.
func wired(t *testing.T) (a, b *Node, ina, inb *seen, w *wire) {
	a, ina = start(t, Config{})
	b, inb = start(t, Config{})
	w = newWire(t, b.host.Network().ListenAddresses())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := a.host.Connect(ctx, peer.AddrInfo{ID: b.host.ID(), Addrs: []ma.Multiaddr{w.addr}}); err != nil {
		t.Fatal(err)
	}
	return a, b, ina, inb, w
}

// A node that falls silent without closing anything is noticed by what it does
// not acknowledge, long before QUIC gives up.
func TestSilentDeath(t *testing.T) {
	t.Parallel()
	a, b, ina, inb, w := wired(t)
	send(t, a, b.Self(), []byte("one"))
	eventually(t, "the link stands", func() bool { return len(inb.from(a.Self())) == 1 })
	w.cut()
	began := time.Now()
	eventually(t, "the silence is noticed", func() bool {
		_ = a.Send(b.Self(), []byte("are you there?")) // as keep-alives ask, again and again
		return ina.lost(b.Self()) > 0
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("noticed after %v", took)
	}
	if a.Counters()["conns_dead"] == 0 {
		t.Errorf("something else noticed it: %v", a.Counters())
	}
}

// A connection that nobody is at the end of is closed before libp2p puts much
// on it.
func TestGhost(t *testing.T) {
	t.Parallel()
	_, b, _, _, w := wired(t)
	conns := b.host.Network().Conns()
	if len(conns) != 1 || conns[0].Stat().Direction != network.DirInbound {
		t.Fatalf("connections: %v", conns)
	}
	b.closeGhost(conns[0])
	if conns[0].IsClosed() {
		t.Fatal("a live connection was taken for a ghost")
	}
	w.cut()
	// What was under way when the wire was cut may arrive yet, and on a busy machine
	// late: it passes for a sign of life once.
	within(t, 20*time.Second, "the dead connection is closed", func() bool {
		b.closeGhost(conns[0])
		return conns[0].IsClosed()
	})
}

// Whoever connects is looked at: a connection that falls silent at once is closed before
// identify gives up on it, after five seconds, and nobody has to write on it first.
func TestNewConnectionsAreVetted(t *testing.T) {
	t.Parallel()
	const early = 4500 * time.Millisecond
	b, _ := start(t, Config{})
	var last atomic.Pointer[wire]
	cut := make(chan network.Conn, 64)
	b.host.Network().Notify(&network.NotifyBundle{ConnectedF: func(_ network.Network, c network.Conn) { last.Load().cut(); cut <- c }})
	// What was under way when a wire was cut may arrive yet, and passes for a sign of life.
	for range 5 {
		a, _ := start(t, Config{})
		w := newWire(t, b.host.Network().ListenAddresses())
		last.Store(w)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_ = a.host.Connect(ctx, peer.AddrInfo{ID: b.host.ID(), Addrs: []ma.Multiaddr{w.addr}}) // nobody tells it who b is
		cancel()
		if conn := <-cut; soon(early-time.Since(began), conn.IsClosed) {
			return
		}
	}
	t.Error("no connection that was cut at once was closed early")
}

func TestPingTellsConnectionsApart(t *testing.T) {
	t.Parallel()
	a, _, _, _, w := wired(t)
	conn := a.host.Network().Conns()[0]
	if !a.ping(conn) {
		t.Error("no echo from a live peer")
	}
	w.cut()
	if a.ping(conn) {
		t.Error("an echo through a cut wire")
	}
}

func TestQUICFirst(t *testing.T) {
	quic, tcp := ma.StringCast("/ip4/192.0.2.1/udp/1/quic-v1"), ma.StringCast("/ip4/192.0.2.1/tcp/1")
	delay := func(addrs ...ma.Multiaddr) (last time.Duration) {
		for _, ranked := range quicFirst(addrs) {
			if !hasQUIC(ranked.Addr) {
				last = ranked.Delay
			}
		}
		return last
	}
	if with, alone := delay(quic, tcp), delay(tcp); with < tcpAfter || alone >= tcpAfter {
		t.Errorf("TCP waits %v beside QUIC, %v alone", with, alone)
	}
}

// A lookup does not wait for a peer that is connected and silent.
func TestLookupThroughTheSilent(t *testing.T) {
	t.Parallel()
	a, b, _, _, w := wired(t)
	eventually(t, "b is in the table", func() bool { return len(a.table.entries()) == 1 })
	w.cut()
	began := time.Now()
	if _, err := a.Lookup(t.Context(), name(1)); err != ErrNoAnswer {
		t.Errorf("lookup: %v", err)
	}
	if took := time.Since(began); took > 2500*time.Millisecond {
		t.Errorf("the lookup took %v", took)
	}
	eventually(t, "b is checked on", func() bool {
		return len(a.table.entries()) == 0 || a.usable(b.host.ID()) && a.Counters()["conns_dead"] > 0
	})
}
