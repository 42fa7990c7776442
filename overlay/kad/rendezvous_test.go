//go:build linux

package kad

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// publicDHT starts nodes that speak the public protocol, at the addresses from
// 45.91.0.5 on, and returns where they are.
func publicDHT(t *testing.T, count int) (hosts []host.Host, addrs []string) {
	t.Helper()
	for i := range count {
		h, err := libp2p.New(libp2p.ListenAddrStrings(fmt.Sprintf("/ip4/45.91.0.%d/tcp/4001", 5+i)), libp2p.DisableRelay())
		if err != nil {
			t.Fatal(err)
		}
		d, err := dht.New(h, dht.Mode(dht.ModeServer))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close(); h.Close() })
		if i > 0 {
			first := peer.AddrInfo{ID: hosts[0].ID(), Addrs: hosts[0].Addrs()}
			if err := h.Connect(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		}
		hosts = append(hosts, h)
		addrs = append(addrs, fmt.Sprintf("%s/p2p/%s", h.Addrs()[0], h.ID()))
	}
	return hosts, addrs
}

// Two nodes that know nobody find each other on the public DHT, and nothing of it
// stays with them. Who is to stay away from it does.
func TestRendezvous(t *testing.T) {
	if !isolated(t) {
		return
	}
	hosts, addrs := publicDHT(t, 4)
	calls := make(chan peer.ID, 100)
	for _, h := range hosts {
		h.Network().Notify(&network.NotifyBundle{ConnectedF: func(_ network.Network, c network.Conn) { calls <- c.RemotePeer() }})
	}
	open := func(i int, c Config) *Node {
		c = quiet(t, at(i, c))
		c.NoRendezvous = c.Network == "elsewhere"
		n, _ := begin(t, c)
		return n
	}
	first := open(1, Config{Rendezvous: addrs[:2]})
	aloof := open(3, Config{Rendezvous: addrs[:2], Network: "elsewhere"})
	within(t, time.Minute, "the first is written down", func() bool { return first.Reach().Rendezvous.Told != nil })
	second := open(2, Config{Rendezvous: addrs[:2]})
	within(t, time.Minute, "the second has found it", func() bool {
		return second.Reach().Rendezvous.Found == 1 && slices.Contains(second.Connected(), first.Self())
	})
	r := second.Reach().Rendezvous
	if r.Off || r.Asked == nil {
		t.Errorf("%+v", r)
	}
	if r := aloof.Reach().Rendezvous; !r.Off || r.Asked != nil || r.Told != nil {
		t.Errorf("stays away: %+v", r)
	}
	within(t, time.Minute, "the visits are over", func() bool {
		return !slices.ContainsFunc(hosts, func(h host.Host) bool {
			return h.Network().Connectedness(peer.ID(second.Self())) == network.Connected
		})
	})
	for len(calls) > 0 {
		if <-calls == peer.ID(aloof.Self()) {
			t.Error("who is to stay away called the public DHT")
		}
	}
}

// That no node of the public DHT answers is no trouble.
func TestNoRendezvousToBeHad(t *testing.T) {
	nobody, _ := start(t, Config{})
	gone := nobody.Addrs()[0]
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	c := quiet(t, Config{Rendezvous: []string{gone}})
	c.NoRendezvous = false
	n, _ := begin(t, c)
	within(t, time.Minute, "the visit failed", func() bool { return n.Counters()["visits_failed"] == 1 })
	if r := n.Reach().Rendezvous; r.Asked != nil || r.Told != nil {
		t.Errorf("%+v", r)
	}
}

func TestRendezvousAddresses(t *testing.T) {
	if _, err := New(Config{Rendezvous: []string{"nonsense"}, NoMDNS: true}); err == nil {
		t.Error("nonsense is taken for an address of the public DHT")
	}
	s, err := Config{}.check()
	if err != nil || len(s.rendezvous) == 0 {
		t.Errorf("by default there are the nodes that IPFS names; here %d, %v", len(s.rendezvous), err)
	}
	if s, err = (Config{NoRendezvous: true}).check(); err != nil || s.rendezvous != nil {
		t.Errorf("told to stay away it knows %v, %v", s.rendezvous, err)
	}
}
