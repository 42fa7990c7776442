package live_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// cable is an overlay of two nodes.
type cable struct {
	self, peer overlay.ID
	out        chan []byte
}

func (c cable) Self() overlay.ID                      { return c.self }
func (c cable) Closest(overlay.Key, int) []overlay.ID { return []overlay.ID{c.peer} }
func (c cable) RTT(overlay.ID) (time.Duration, bool)  { return 0, false }
func (c cable) Send(_ overlay.ID, parts ...[]byte) error {
	c.out <- slices.Concat(parts...)
	return nil
}
func (c cable) AddrsOf(overlay.ID) [][]byte { return nil }
func (c cable) Learn(overlay.ID, [][]byte)  {}
func (c cable) Keep(overlay.ID, bool)       {}
func (c cable) Suspect(overlay.ID)          {}
func (c cable) Reachable() bool             { return true }
func (c cable) NextHop(k overlay.Key) (overlay.ID, bool) {
	return c.peer, k.Closer(c.peer.Key(), c.self.Key())
}
func (c cable) Lookup(context.Context, []byte) ([]overlay.ID, error) {
	return []overlay.ID{c.peer}, nil
}

// A publisher and a reader at the two ends of a cable.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	group := multicast.GroupOf("https://news.example/feed.xml")
	feed, _ := signing.FromSeed(make([]byte, 32)) // a key of 32 zeros is for examples

	attached, items := make(chan bool, 8), make(chan string)
	there, back := make(chan []byte, 100), make(chan []byte, 100)
	publisher := live.New(cable{"publisher", "reader", there}, live.Config{})
	reader := live.New(cable{"reader", "publisher", back}, live.Config{
		Judge: func(e *signing.Envelope) (live.Verdict, string) {
			if e.Key != feed.Public() {
				return live.Refuse, "not the feed's key"
			}
			return live.Accept, ""
		},
		Deliver: func(_ multicast.Delivery, e *signing.Envelope) { items <- string(e.Payload) },
		Notice:  func(n tree.Notice) { attached <- n.Kind == tree.Attached },
	})
	carry := func(from overlay.ID, frames chan []byte, to *live.Loop) {
		for frame := range frames {
			to.Frame(from, frame)
		}
	}
	go carry("publisher", there, reader)
	go carry("reader", back, publisher)
	go publisher.Run(ctx)
	go reader.Run(ctx)

	if err := reader.Join(ctx, group, nil, nil); err != nil {
		fmt.Println(err)
	}
	<-attached
	wire, err := feed.Seal(signing.Header{
		Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS, Group: group,
		Epoch: 1, Seq: 1, Time: time.Now(), TTL: time.Hour,
	}, []byte("<rss>one new item</rss>"))
	if err != nil {
		fmt.Println(err)
	}
	if err := publisher.Publish(ctx, wire, 1); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-items)
	// Output: <rss>one new item</rss>
}
