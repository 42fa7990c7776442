package kad

import (
	"testing"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

func TestLearnIsBounded(t *testing.T) {
	n, _ := start(t, Config{})
	addr := ma.StringCast("/ip4/192.0.2.1/udp/4001/quic-v1").Bytes()
	for i := range maxLearned + 20 {
		n.Learn(overlay.ID(idOf(t, i)), [][]byte{addr})
	}
	if got := len(n.host.Peerstore().PeersWithAddrs()); got > maxLearned+1 {
		t.Errorf("%d peers with addresses", got)
	}
	if len(n.AddrsOf(overlay.ID(idOf(t, 0)))) != 0 || len(n.AddrsOf(overlay.ID(idOf(t, maxLearned)))) != 1 {
		t.Error("not the oldest made room")
	}
	var many [][]byte
	for i := range 100 {
		many = append(many, ma.StringCast("/ip4/192.0.2.1").Encapsulate(ma.StringCast("/tcp/"+string(rune('1'+i%9)))).Bytes())
	}
	last := overlay.ID(idOf(t, maxLearned+19))
	n.Learn(last, many)
	if got := n.AddrsOf(last); len(got) == 0 || len(got) > maxPeerAddrs {
		t.Errorf("%d addresses of one peer", len(got))
	}
}

func TestLearnForgets(t *testing.T) {
	n, _ := start(t, Config{})
	p := idOf(t, 1)
	n.Learn(overlay.ID(p), [][]byte{ma.StringCast("/ip4/192.0.2.1/tcp/1").Bytes()})
	// What it noted carries the lifetime that marks it, and so can expire.
	n.host.Peerstore().UpdateAddrs(p, learnFor, time.Nanosecond)
	eventually(t, "it is forgotten", func() bool { return n.AddrsOf(overlay.ID(p)) == nil })
}

func TestLearnRefuses(t *testing.T) {
	n, _ := start(t, Config{})
	good := ma.StringCast("/ip4/192.0.2.1/tcp/1").Bytes()
	p := overlay.ID(idOf(t, 1))
	for what, b := range map[string][]byte{
		"garbage":        {1, 2, 3},
		"nothing":        nil,
		"a name":         ma.StringCast("/dns4/evil.example/tcp/1").Bytes(),
		"another peer":   ma.StringCast("/ip4/192.0.2.1/tcp/1/p2p/" + idOf(t, 2).String()).Bytes(),
		"unspecified":    ma.StringCast("/ip4/0.0.0.0/tcp/1").Bytes(),
		"multicast":      ma.StringCast("/ip4/224.0.0.1/udp/1/quic-v1").Bytes(),
		"a web socket":   ma.StringCast("/ip4/192.0.2.1/tcp/1/ws").Bytes(),
		"plain UDP":      ma.StringCast("/ip4/192.0.2.1/udp/1").Bytes(),
		"very long":      make([]byte, maxAddrLen+1),
		"a unix address": ma.StringCast("/unix/tmp/socket").Bytes(),
	} {
		before := n.Counters()["refused_addr"]
		n.Learn(p, [][]byte{b})
		if n.AddrsOf(p) != nil || n.Counters()["refused_addr"] != before+1 {
			t.Errorf("%s: taken, or not counted", what)
		}
	}
	n.Learn(n.Self(), [][]byte{good})
	n.Learn("nobody", [][]byte{good})
	for _, p := range n.host.Peerstore().PeersWithAddrs() {
		if p != n.host.ID() {
			t.Errorf("learned %v", p)
		}
	}
	for _, addr := range n.host.Peerstore().Addrs(n.host.ID()) {
		if addr.Equal(ma.StringCast("/ip4/192.0.2.1/tcp/1")) {
			t.Error("learned about itself")
		}
	}
}

// Whom a message names is found without an address, through the DHT.
func TestSendWithoutAddress(t *testing.T) {
	nodes, ins := gather(t, 3, Config{})
	full(t, nodes)
	far, _ := start(t, Config{Client: true, Listen: []string{}, Bootstrap: nodes[0].Addrs()})
	eventually(t, "it joins", func() bool { return len(far.table.entries()) == 3 })
	target := nodes[2].host.ID()
	_ = far.host.Network().ClosePeer(target)
	far.host.Peerstore().ClearAddrs(target)
	send(t, far, nodes[2].Self(), []byte("x"))
	eventually(t, "the frame arrives", func() bool { return len(ins[2].from(far.Self())) == 1 })
	for _, n := range nodes {
		for _, id := range n.Closest(far.table.self, 20) {
			if id == far.Self() {
				t.Error("a client is in a routing table")
			}
		}
	}
	if far.Reachable() || !nodes[0].Reachable() {
		t.Error("who is reachable")
	}
}

func TestText(t *testing.T) {
	id := overlay.ID(idOf(t, 1))
	back, err := ParseText(Text(id))
	if err != nil || back != id {
		t.Errorf("%v, %v", back, err)
	}
	if _, err := ParseText("QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN"); err == nil {
		t.Error("an RSA peer was taken")
	}
	if Text(overlay.ID(peer.ID("x"))) == "" {
		t.Error("no text")
	}
}
