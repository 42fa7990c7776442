package kad

import (
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// Addresses that strangers name: what is dialled is an IP address that is somewhere.
func FuzzDialable(f *testing.F) {
	for _, text := range []string{
		"/ip4/192.0.2.1/udp/4001/quic-v1", "/ip6/2001:db8::1/tcp/4001", "/dns4/example.org/tcp/1", "/ip4/0.0.0.0/tcp/1",
		"/ip4/192.0.2.1/udp/4001/quic-v1/p2p/12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA/p2p-circuit",
	} {
		f.Add(ma.StringCast(text).Bytes())
	}
	f.Add([]byte{0xff, 0xff, 0xff})
	fuzz.Hold(f, func(t *testing.T, b []byte) {
		addr, ok := dialable(b)
		if !ok {
			return
		}
		ip, err := manet.ToIP(addr)
		if err != nil || ip.IsUnspecified() || ip.IsMulticast() || len(b) > maxAddrLen {
			t.Errorf("%v would be dialled", addr)
		}
		if again, ok := dialable(addr.Bytes()); !ok || !again.Equal(addr) {
			t.Errorf("%v is read again as %v", addr, again)
		}
	})
}

// Addresses that a feed names, or a person.
func FuzzParseFull(f *testing.F) {
	f.Add("/ip4/203.0.113.7/udp/4001/quic-v1/p2p/12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA")
	f.Add("/dnsaddr/bootstrap.libp2p.io/p2p/QmNnooDu7bfjPFoTZYxMNLWUQJyrVwtbZg5gBMjTezGAJN")
	f.Add("/ip4/192.0.2.1/tcp/1/p2p/" + strings.Repeat("Nn", 30_000)) // took 19 s
	f.Add("/ip6zone/eth0/ip6/fe80::1/tcp/1//p2p/x")
	fuzz.Hold(f, func(t *testing.T, text string) {
		info, err := parseFull(text)
		if err == nil && (info.ID == "" || len(info.Addrs) == 0) {
			t.Errorf("%q: %v", text, info)
		}
		if id, err := ParseText(text); err == nil && Text(id) == "" {
			t.Errorf("%q: %v", text, id)
		}
	})
}
