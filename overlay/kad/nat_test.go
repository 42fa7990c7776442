//go:build linux

package kad

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// judged is long enough for AutoNAT v2: it asks nobody twice in two minutes, and on a
// busy machine the first to be asked may be heard too late.
const judged = 5 * time.Minute

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
	// The last one learns it from those who come now. Before that it can ask only two.
	within(t, time.Minute, "the hubs that were called know that they can be dialled", func() bool {
		return !slices.ContainsFunc(hubs[:2], func(n *Node) bool { return n.Reach().State != Public })
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
		within(t, judged, "it knows that nobody gets through, and has a relay", func() bool {
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
	sent := 0
	within(t, time.Minute, "a relay introduces the two", func() bool {
		if seen.lost(x.Self()) == sent {
			sent++
			// Not what a hub knows: of all that is pushed from one /24, as here, libp2p hears
			// ten at first and then one every five seconds, and drops the rest for good.
			y.Learn(x.Self(), x.AddrsOf(x.Self()))
			if err := y.Send(x.Self(), []byte("hello")); err != nil {
				t.Fatal(err)
			}
		}
		return y.Reach().Links.Relayed == 1
	})
	within(t, time.Minute, "the frame is lost, and that is said", func() bool { return seen.lost(x.Self()) == sent })
}

// startOpen starts a node that maps ports, asks and punches like those of people.
func startOpen(t *testing.T, c Config) (*Node, *seen) {
	t.Helper()
	c = quiet(t, c)
	c.NoNAT = false
	return begin(t, c)
}

// A node that moves to another network calls those it knows at once, with nobody to
// bootstrap from: within ten seconds they are together.
func TestAnotherNetwork(t *testing.T) {
	if !isolated(t) {
		return
	}
	home, _ := startOpen(t, at(1, Config{}))
	c := at(2, Config{})
	c.Listen = nil // all interfaces
	roamer, _ := startOpen(t, c)
	if err := roamer.Connect(t.Context(), home.Addrs()[0]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it remembers the other", func() bool { return len(roamer.Peers()) == 1 })
	for i := 2; i < 10; i++ { // whatever it used is gone
		run(t, "ip", "addr", "del", fmt.Sprintf("45.91.0.%d/16", i), "dev", "lo")
	}
	run(t, "ip", "addr", "del", "45.91.0.1/16", "dev", "lo")
	eventually(t, "it is alone", func() bool { return len(roamer.Connected()) == 0 })
	run(t, "ip", "addr", "add", "45.91.0.1/16", "dev", "lo")
	run(t, "ip", "addr", "add", "45.91.0.77/16", "dev", "lo")
	back := time.Now()
	within(t, time.Minute, "it is back", func() bool { return len(roamer.Connected()) == 1 })
	took := time.Since(back)
	t.Logf("back after %v", took)
	if took > 10*time.Second {
		t.Errorf("back after %v, want 10s at most", took)
	}
	if roamer.Counters()["wakes"] == 0 {
		t.Error("nothing woke it")
	}
}

func run(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}
