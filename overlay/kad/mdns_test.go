package kad

import (
	"fmt"
	"net"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
)

// mDNS names a node once in ten minutes. One that does not answer at that moment is
// met a little later all the same.
func TestWhoIsBusyWhenFoundIsMetLater(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)
	busy := make(chan error, 1)
	go func() { // it hangs up on who calls first
		conn, err := l.Accept()
		if err == nil {
			err = conn.Close()
		}
		busy <- err
	}()
	n, _ := start(t, Config{Key: seeded(1)})
	later := Config{Key: seeded(2), Listen: []string{addr}}
	info, err := peer.AddrInfoFromString(addr + "/p2p/" + idOf(t, 2).String())
	if err != nil {
		t.Fatal(err)
	}
	go neighbourhood{n, make(chan struct{}, 1)}.HandlePeerFound(*info)
	if err := <-busy; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, later)
	eventually(t, "the two have met", func() bool { return len(n.Connected()) == 1 })
}
