package kad

import (
	"testing"
	"time"
)

// A neighbour that answers nothing is silent; but not where it is this node that was
// late to look, since what the neighbour sent may be unread.
func TestWhoIsLateBlamesNobody(t *testing.T) {
	c := Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
	a, _ := start(t, c)
	b, _ := start(t, c)
	if err := a.Connect(t.Context(), b.Addrs()[0]); err != nil {
		t.Fatal(err)
	}
	conn := a.host.Network().ConnsToPeer(b.host.ID())[0]
	for _, late := range []bool{false, true} {
		var p pulse
		p.wrote(conn)
		now := time.Now().Add(silenceTCP + time.Second)
		if late {
			p.excuse(now)
		}
		if silent := p.silent(conn, now); silent == late {
			t.Errorf("late: %v, and the neighbour counts as silent: %v", late, silent)
		}
	}
}
