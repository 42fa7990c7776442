package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/gossip"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// backend is a network of nodes that carry the events of one group. Node 0
// publishes.
type backend interface {
	// start brings up the nodes, connected but in no group.
	start(ctx context.Context, n int, on func(done int)) error
	join(ctx context.Context, node int) error
	// settled reports whether the nodes up to count are in the group together.
	settled(count int) bool
	publish(ctx context.Context, wire []byte) error
	cut(node int, on bool)
	// sent is how many bytes all nodes have written to streams.
	sent() int64
	close()
}

// heard is what a backend calls: a node was delivered an event, or told that some
// are missing.
type heard struct {
	delivered func(node int, s multicast.Stamp, hops int)
	missing   func(node int, n multicast.Notice)
}

func (c *Config) backend(name string, h heard) backend {
	base := network{config: c, heard: h}
	switch name {
	case "tree", "gossip":
		return &carried{network: base, gossip: name == "gossip"}
	}
	return &pushed{network: base}
}

// network is what the backends have in common.
type network struct {
	config *Config
	heard  heard
	wires  []*wire
}

func (n *network) wire() *wire {
	w := &wire{delay: n.config.Delay, wrap: n.config.Delay > 0 || n.config.Cut > 0}
	n.wires = append(n.wires, w)
	return w
}

func (n *network) cut(node int, on bool) { n.wires[node].cut.Store(on) }

// carried is the tree and gossip, as they are shipped.
type carried struct {
	network
	gossip   bool
	nodes    []*kad.Node
	carriers []multicast.Carrier
	end      context.CancelFunc
	running  sync.WaitGroup
}

var listenOn = []string{"/ip4/127.0.0.1/udp/0/quic-v1"}

func (c *carried) start(ctx context.Context, count int, on func(int)) error {
	var life context.Context
	life, c.end = context.WithCancel(context.Background())
	for i := range count {
		node, err := kad.New(kad.Config{
			Network: "bench", Listen: listenOn, Bootstrap: c.seed(), NoMDNS: true, NoNAT: true, NoRendezvous: true,
			HostOptions: c.wire().options(),
		})
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, node)
		carrier, in, err := c.carrier(i, node)
		if err != nil {
			return err
		}
		c.carriers = append(c.carriers, carrier)
		c.running.Go(func() { _ = carrier.Run(life) }) // its only error is to be called twice
		if err := node.Start(ctx, in); err != nil {
			return err
		}
		if i%10 == 9 || i == count-1 { // all at once would dial each other to death
			if err := c.meet(ctx); err != nil {
				return err
			}
		}
		on(i + 1)
	}
	return nil
}

// meet waits until every node has a neighbour, and a little while for more: on a busy
// machine a node may know few until its routing table is refreshed, after a minute.
func (c *carried) meet(ctx context.Context) error {
	have := func(least int) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.nodes, func(n *kad.Node) bool { return len(n.Connected()) < min(len(c.nodes)-1, least) })
		}
	}
	if err := until(ctx, have(1)); err != nil {
		return fmt.Errorf("the nodes do not meet: %w", err)
	}
	soon, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_ = until(soon, have(8))
	return ctx.Err()
}

func (c *carried) seed() []string {
	if len(c.nodes) == 0 {
		return nil
	}
	return c.nodes[0].Addrs()
}

func (c *carried) carrier(i int, node *kad.Node) (multicast.Carrier, kad.Inbound, error) {
	out := multicast.Callbacks[*signing.Envelope]{
		Deliver: func(d multicast.Delivery, _ *signing.Envelope) { c.heard.delivered(i, d.Event.Stamp, d.Hops) },
		Notice: func(n multicast.Notice) {
			if n.Kind == multicast.Missing {
				c.heard.missing(i, n)
			}
		},
	}
	if c.gossip {
		g, err := gossip.New(node, gossip.Config{Network: "bench"}, out)
		return g, g, err
	}
	l := live.NewCarrier(node, live.Config{}, out)
	return l, l, nil
}

func (c *carried) join(ctx context.Context, node int) error {
	return c.carriers[node].Join(ctx, group, nil, nil)
}

func (c *carried) settled(count int) bool {
	roots := 0
	for _, each := range c.carriers[:count] {
		s, _ := each.Group(group)
		if !s.Attached || s.Audience >= 0 && s.Audience < min(count-1, 6) {
			return false
		}
		if s.Root {
			roots++
		}
	}
	return c.gossip || roots <= 1 // a node that is no member may be the root
}

func (c *carried) publish(ctx context.Context, wire []byte) error {
	return c.carriers[0].Publish(ctx, wire, 0)
}

func (c *carried) sent() (bytes int64) {
	for _, n := range c.nodes {
		for _, t := range n.Spending().Protocols {
			bytes += int64(t.Sent)
		}
	}
	return bytes
}

func (c *carried) close() {
	if c.end != nil {
		c.end()
	}
	c.running.Wait()
	var each sync.WaitGroup
	for _, n := range c.nodes {
		each.Go(func() { _ = n.Close() }) // nothing is left to be lost
	}
	each.Wait()
}

// until waits for a condition.
func until(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(100 * time.Millisecond) // to look at a hundred nodes takes them time
	defer tick.Stop()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			return errors.New("not within two minutes")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
