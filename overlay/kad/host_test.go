package kad

import (
	"fmt"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
)

// Behind one NAT there may be a house of nodes, but not everybody.
func TestManyNodesBehindOneAddress(t *testing.T) {
	for _, host := range []string{"/ip4/192.0.2.7", "/ip6/2001:db8::7"} {
		resources, err := newResources("/feedtree/test/tree/1")
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		for i := range 2 * connsPerHost {
			addr := ma.StringCast(fmt.Sprintf("%s/udp/%d/quic-v1", host, 1000+i))
			conn, err := resources.OpenConnection(network.DirInbound, false, addr)
			if err != nil {
				break
			}
			taken++
			// Only who has said who he is leaves the transient scope.
			if err := conn.SetPeer(idOf(t, i)); err != nil {
				t.Fatal(err)
			}
		}
		if taken != connsPerHost {
			t.Errorf("%s: %d connections taken, want %d", host, taken, connsPerHost)
		}
		resources.Close()
	}
}

// The memory for large frames is reserved for each peer.
func TestMemoryOfOnePeerIsBounded(t *testing.T) {
	resources, err := newResources("/feedtree/test/tree/1")
	if err != nil {
		t.Fatal(err)
	}
	defer resources.Close()
	p := idOf(t, 1)
	var reserved, streams int
	for range 2 * streamsPerPeer {
		s, err := resources.OpenStream(p, network.DirInbound)
		if err != nil {
			break
		}
		if s.SetProtocol("/feedtree/test/tree/1") != nil {
			break
		}
		streams++
		for s.ReserveMemory(MaxFrame, network.ReservationPriorityMedium) == nil {
			reserved++
		}
	}
	if streams != streamsPerPeer || reserved < 1 || reserved > 4 {
		t.Errorf("%d streams with %d frames", streams, reserved)
	}
}
