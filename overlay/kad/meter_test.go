package kad

import (
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// measured is what a node has sent and received by now.
func (n *Node) measured() Spending {
	n.meter.look(time.Now(), n.host.Network().Conns())
	return n.Spending()
}

// What is counted is what went over the wire, over QUIC and over TCP: the frames and
// a little more, at both ends alike.
func TestTheMeterCountsBothWays(t *testing.T) {
	const frames, size = 40, 50_000
	for _, listen := range []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"} {
		c := Config{Listen: []string{listen}}
		a, _ := start(t, c)
		b, _ := start(t, c)
		if err := a.Connect(t.Context(), b.Addrs()[0]); err != nil {
			t.Fatal(err)
		}
		// One by one: what overflows a socket's buffer is sent, and counted, once more.
		for i := range uint64(frames) {
			if err := a.Send(b.Self(), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the frame is there", func() bool { return b.Counters()["frames_in"] == i+1 })
		}
		sent, received := a.measured(), b.measured()
		for name, n := range map[string]uint64{"sent": sent.Sent, "received": received.Received} {
			if n < frames*size || n > frames*size*5/4 {
				t.Errorf("%s: %s %d bytes, of which %d were frames", listen, name, n, frames*size)
			}
		}
		if sent.Received == 0 || sent.Received > frames*size/4 {
			t.Errorf("%s: the sender received %d bytes", listen, sent.Received)
		}
		if tree := sent.Protocols["/feedtree/test/tree/1"]; tree.Sent < frames*size || tree.Sent > sent.Sent {
			t.Errorf("%s: %d of them by the tree's protocol: %v", listen, tree.Sent, sent.Protocols)
		}
		with := a.Neighbours()
		if len(with) != 1 || with[0].Traffic != sent.Traffic || with[0].Since.IsZero() || with[0].Kind != Direct {
			t.Errorf("%s: neighbours %+v, all in all %+v", listen, with, sent.Traffic)
		}
		// What went over a connection that is gone still counts.
		before := sent.Sent
		_ = a.host.Network().ClosePeer(b.host.ID())
		eventually(t, "they part", func() bool { return len(a.Neighbours()) == 0 })
		if after := a.measured(); after.Sent < before {
			t.Errorf("%s: %d bytes sent, and %d after the end", listen, before, after.Sent)
		}
		eventually(t, "it forgets the peer", func() bool {
			a.measured()
			a.meter.mu.Lock()
			defer a.meter.mu.Unlock()
			return len(a.meter.peers) == 0
		})
	}
}

// A stranger can name any protocol.
func TestProtocolsCountedAreBounded(t *testing.T) {
	m := newMeter(0)
	for i := range 1000 {
		m.LogRecvMessageStream(1, protocol.ID(fmt.Sprint("/made/up/", i)), idOf(t, 1))
	}
	s := m.spending(time.Now())
	if len(s.Protocols) > maxProtocols+1 || s.Protocols[otherName].Received != 1000-maxProtocols {
		t.Errorf("%d protocols, %d bytes of others", len(s.Protocols), s.Protocols[otherName].Received)
	}
}

// A frame comes in pieces, of which only the first has its counters looked up: they are those of
// its peer and its protocol all the same, also once the peer was forgotten.
func TestPiecesAreCountedWhereTheyBelong(t *testing.T) {
	m := newMeter(0)
	for _, x := range []struct {
		about protocol.ID
		with  peer.ID
		n     int64
	}{{"/a", "p", 1}, {"/a", "p", 2}, {"/b", "p", 4}, {"/b", "q", 8}, {"/b", "q", 16}, {"/a", "q", 32}} {
		m.LogRecvMessageStream(x.n, x.about, x.with)
	}
	if p, q := m.peers["p"].streams.Received, m.peers["q"].streams.Received; p != 7 || q != 56 {
		t.Errorf("%d bytes from p and %d from q, want 7 and 56", p, q)
	}
	if a, b := m.protocols["/a"].Received, m.protocols["/b"].Received; a != 35 || b != 28 {
		t.Errorf("%d bytes of a and %d of b, want 35 and 28", a, b)
	}
	m.look(time.Now(), nil) // nobody is connected
	m.LogSentMessageStream(64, "/a", "q")
	if q := m.peers["q"]; q == nil || q.streams != (Traffic{Sent: 64}) {
		t.Errorf("after q was forgotten it has %+v", q)
	}
}

// A node that sent what it may serves nobody any more: it is in no routing table and
// no root, and what it sends of its own still arrives. It says so, and ends when it may.
func TestANodeSpares(t *testing.T) {
	a, _ := start(t, Config{MaxUpload: 1 << 20})
	b, _ := start(t, Config{Bootstrap: a.Addrs()[:1]})
	eventually(t, "b knows a", func() bool { return len(b.table.entries()) == 1 && len(a.table.entries()) == 1 })
	if !a.Reachable() || a.Sparing() {
		t.Fatal("it spares, and has sent nothing")
	}
	for range 2 {
		if err := a.Send(b.Self(), make([]byte, 500_000)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a spares", func() bool { return a.Sparing() && !a.Reachable() })
	eventually(t, "b does not count on a any more", func() bool { return len(b.table.entries()) == 0 })
	if u := a.Spending().Upload; !u.Sparing || u.Until == nil || u.Hour < 1_000_000 {
		t.Errorf("it says %+v", u)
	}
	if err := a.Send(b.Self(), []byte("own")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its own frame arrives", func() bool { return b.Counters()["frames_in"] == 3 })
	if c := a.host.Network().Connectedness(b.host.ID()); c != network.Connected {
		t.Errorf("they are %v", c)
	}
	a.LimitUpload(0)
	eventually(t, "a serves again", func() bool { return !a.Sparing() && a.Reachable() && len(b.table.entries()) == 1 })
}
