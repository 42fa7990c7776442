package gossip

import (
	"context"
	"testing"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

var news = multicast.GroupOf("https://news.example/feed.xml")

// members starts count nodes that join news, through the first. What a node's carrier
// has for an overlay, and calls, is as with says.
func members(t *testing.T, count int, with func(i int, net *kad.Node) (Overlay, multicast.Callbacks[*signing.Envelope])) (nets []*kad.Node, all []*Carrier) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel) // in case none was started
	for i := range count {
		c := kad.Config{Network: "members", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true}
		if i > 0 {
			c.Bootstrap = nets[0].Addrs()
		}
		net, err := kad.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = net.Close() })
		o, out := with(i, net)
		g, err := New(o, Config{Network: "members"}, out)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = g.Run(ctx) // its only error is to be called twice
		}()
		t.Cleanup(func() { cancel(); <-ended })
		if err := net.Start(ctx, g); err != nil {
			t.Fatal(err)
		}
		if err := g.Join(ctx, news, nil, nil); err != nil {
			t.Fatal(err)
		}
		nets, all = append(nets, net), append(all, g)
	}
	return nets, all
}
