package kad

import (
	"net"
	"slices"
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
)

// A node that comes back listens where it did, unless somebody else does now.
func TestSteadyPorts(t *testing.T) {
	taken, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, used, _ := net.SplitHostPort(taken.LocalAddr().String())
	spare, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, unused, _ := net.SplitHostPort(spare.LocalAddr().String())
	spare.Close()
	defer taken.Close()
	for _, tc := range []struct{ name, listen, before, want string }{
		{"free", "/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/udp/" + unused + "/quic-v1", "/ip4/127.0.0.1/udp/" + unused + "/quic-v1"},
		{"taken", "/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/udp/" + used + "/quic-v1", "/ip4/127.0.0.1/udp/0/quic-v1"},
		{"asked for by name", "/ip4/127.0.0.1/udp/4001/quic-v1", "/ip4/127.0.0.1/udp/" + unused + "/quic-v1", "/ip4/127.0.0.1/udp/4001/quic-v1"},
		{"another transport", "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/" + unused + "/quic-v1", "/ip4/127.0.0.1/tcp/0"},
		{"another interface", "/ip4/0.0.0.0/udp/0/quic-v1", "/ip4/127.0.0.1/udp/" + unused + "/quic-v1", "/ip4/0.0.0.0/udp/0/quic-v1"},
		{"rubbish", "/ip4/127.0.0.1/udp/0/quic-v1", "rubbish", "/ip4/127.0.0.1/udp/0/quic-v1"},
	} {
		listen, err := ma.NewMultiaddr(tc.listen)
		if err != nil {
			t.Fatal(err)
		}
		if got := steady([]ma.Multiaddr{listen}, []string{tc.before}); got[0].String() != tc.want {
			t.Errorf("%s: %v, want %s", tc.name, got[0], tc.want)
		}
	}
}

func TestListeningAgain(t *testing.T) {
	run := func(before []string) []string {
		n, err := New(Config{Network: "ports", Listen: onLoopback,
			Before: before, NoMDNS: true, NoNAT: true, NoRendezvous: true})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		if err := n.Start(t.Context(), newSeen()); err != nil {
			t.Fatal(err)
		}
		addrs := n.Listening()
		slices.Sort(addrs)
		return addrs
	}
	first := run(nil)
	if again := run(first); !slices.Equal(again, first) {
		t.Fatalf("listened on %s, then on %s", strings.Join(first, " "), strings.Join(again, " "))
	}
}
