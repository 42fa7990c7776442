package gossip_test

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/gossip"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// A publisher and a reader that gossip.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	group := multicast.GroupOf("https://news.example/feed.xml")
	feed, _ := signing.FromSeed(make([]byte, 32)) // a key of 32 zeros is for examples
	items := make(chan string)

	node := func(bootstrap []string, out multicast.Callbacks[*signing.Envelope]) (*kad.Node, *gossip.Carrier) {
		net, err := kad.New(kad.Config{
			Network: "example", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, Bootstrap: bootstrap,
			NoMDNS: true, NoNAT: true, NoRendezvous: true,
		})
		if err != nil {
			panic(err)
		}
		c, err := gossip.New(net, gossip.Config{Network: "example"}, out)
		if err != nil {
			panic(err)
		}
		go c.Run(ctx)
		if err := net.Start(ctx, c); err != nil {
			panic(err)
		}
		return net, c
	}
	first, reader := node(nil, multicast.Callbacks[*signing.Envelope]{
		Deliver: func(_ multicast.Delivery, e *signing.Envelope) { items <- string(e.Payload) },
	})
	second, publisher := node(first.Addrs(), multicast.Callbacks[*signing.Envelope]{})
	defer second.Close()
	defer first.Close()
	defer cancel()

	if err := reader.Join(ctx, group, nil, nil); err != nil {
		fmt.Println(err)
	}
	wire, err := feed.Seal(signing.Header{
		Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS, Group: group,
		Epoch: 1, Seq: 1, Time: time.Now(), TTL: time.Hour,
	}, []byte("<rss>one new item</rss>"))
	if err != nil {
		fmt.Println(err)
	}
	if err := publisher.Publish(ctx, wire, 0); err != nil { // waits for somebody to come
		fmt.Println(err)
	}
	fmt.Println(<-items)
	// Output: <rss>one new item</rss>
}
