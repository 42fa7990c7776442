package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// neighbourly is a status with nodes connected in each way.
func neighbourly(now time.Time, feeds ...string) []feedtree.Neighbour {
	direct := feedtree.Neighbour{Feeds: feeds, Neighbour: kad.Neighbour{
		Conn:    kad.Conn{Peer: "12D3KooWDirectDirectAAAA", Addr: "/ip4/203.0.113.7/udp/4001/quic-v1", Kind: kad.Direct},
		Traffic: kad.Traffic{Sent: 1_200_000, Received: 3_400_000}, Since: now.Add(-3 * time.Hour), RTT: 23_400 * time.Microsecond,
	}}
	punched := feedtree.Neighbour{Neighbour: kad.Neighbour{
		Conn:    kad.Conn{Peer: "12D3KooWPunchedPunchBBBB", Addr: "/ip6/2001:db8::7/tcp/4001", Kind: kad.Punched},
		Traffic: kad.Traffic{Sent: 900, Received: 800}, Since: now.Add(-20 * time.Minute), RTT: 4_260 * time.Microsecond,
	}}
	relayed := feedtree.Neighbour{Neighbour: kad.Neighbour{
		Conn:  kad.Conn{Peer: "12D3KooWRelayedRelayCCCC", Addr: "/ip4/198.51.100.2/udp/4001/quic-v1/p2p/12D3KooWRelay/p2p-circuit", Kind: kad.Relayed},
		Since: now.Add(-5 * time.Second),
	}}
	return []feedtree.Neighbour{direct, punched, relayed}
}

// The page names who is connected: where, how, for how long, what passed between the
// two, and for which feeds.
func TestThePageNamesTheNodesConnected(t *testing.T) {
	p, n := exampleProxy(t)
	if strings.Contains(get(p, "/").Body.String(), `id="peers"`) {
		t.Error("a list of nobody")
	}
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "Letters <b>"}}
	n.status.Neighbours = neighbourly(newClock().now(), example)
	n.status.Peers = 3
	body := get(p, "/").Body.String()
	for _, want := range []string{
		`<code title="12D3KooWDirectDirectAAAA">…rectAAAA</code> at 203.0.113.7:4001<`,
		"connected 3 h ago · 23 ms there and back · 1.2 MB sent, 3.4 MB received", "shares Letters &lt;b&gt;<",
		"at [2001:db8::7]:4001, introduced by a relay", "4.3 ms there and back",
		"…elayCCCC</code> through a relay", "connected 5 s ago · 0 bytes sent, 0 bytes received",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(body, "198.51.100.2") {
		t.Error("the relay's address is shown as a node's")
	}
	n.status.Neighbours, n.status.Peers = nil, 120
	for i := range 120 {
		n.status.Neighbours = append(n.status.Neighbours, feedtree.Neighbour{Neighbour: kad.Neighbour{Conn: kad.Conn{Peer: fmt.Sprint("peer-", i), Addr: "/ip4/192.0.2.1/tcp/1"}}})
	}
	body = get(p, "/").Body.String()
	if got := strings.Count(body, `<li data-key="peer-`); got != peersShown || !strings.Contains(body, "These are 50 of 120") {
		t.Errorf("%d of 120 listed", got)
	}
}

func TestHostPort(t *testing.T) {
	for addr, want := range map[string]string{
		"/ip4/192.0.2.1/udp/4001/quic-v1":     "192.0.2.1:4001",
		"/ip6zone/eth0/ip6/fe80::1/tcp/4001":  "[fe80::1]:4001",
		"/dns4/node.example.org/tcp/4001/tls": "/dns4/node.example.org/tcp/4001/tls",
		"":                                    "",
	} {
		if got := hostPort(addr); got != want {
			t.Errorf("%q: %q, want %q", addr, got, want)
		}
	}
}
