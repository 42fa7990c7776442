//go:build linux

package kad

import (
	"slices"
	"testing"
	"time"
)

// A node that refuses whoever calls finds out by AutoNAT that nobody gets through:
// it is in no routing table, has a relay, and two such nodes are introduced there,
// but exchange no frames.
func TestNobodyGetsThrough(t *testing.T) {
	if !isolated(t) {
		return
	}
	var hubs []*Node
	var seeds []string
	for i := 1; i <= 3; i++ {
		n, _ := startOpen(t, at(i, Config{Bootstrap: seeds}))
		hubs = append(hubs, n)
		seeds = append(seeds, n.Addrs()[0])
	}
	within(t, time.Minute, "the hubs know that they can be dialled", func() bool {
		return !slices.ContainsFunc(hubs, func(n *Node) bool { return n.Reach().State != Public })
	})
	// Over TCP alone: of QUIC the handshake is over before anybody is refused, and the
	// caller takes it for a success.
	deaf := func(i int) Config {
		c := at(i, Config{Bootstrap: seeds, deaf: true})
		c.Listen = c.Listen[1:]
		return c
	}
	x, _ := startOpen(t, deaf(4))
	y, seen := startOpen(t, deaf(5))
	for _, n := range []*Node{x, y} {
		within(t, time.Minute, "it knows that nobody gets through, and has a relay", func() bool {
			r := n.Reach()
			return r.State == Private && !n.Reachable() && len(r.Vain) > 0 && len(r.Relays) > 0
		})
	}
	within(t, time.Minute, "it is in no routing table", func() bool {
		for _, h := range hubs {
			if slices.Contains(h.Closest(x.Self().Key(), 20), x.Self()) {
				return false
			}
		}
		return true
	})
	y.Learn(x.Self(), hubs[0].AddrsOf(x.Self()))
	if err := y.Send(x.Self(), []byte("hello")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a relay introduces the two", func() bool { return y.Reach().Links.Relayed == 1 })
	within(t, time.Minute, "the frame is lost, and that is said", func() bool { return seen.lost(x.Self()) == 1 })
}

// startOpen starts a node that maps ports, asks and punches like those of people.
func startOpen(t *testing.T, c Config) (*Node, *seen) {
	t.Helper()
	c = quiet(t, c)
	c.NoNAT = false
	return begin(t, c)
}
