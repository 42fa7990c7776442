package kad

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"

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
		if network, hostPort, err := manet.DialArgs(addr); err == nil && network == "udp4" {
			server, _ = net.ResolveUDPAddr(network, hostPort)
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
