package feedtree

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/gossip"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// What a caller can tell apart; the errors returned wrap these with what and
// where.
var (
	ErrClosed  = errors.New("the node is closed")
	ErrUnknown = errors.New("not subscribed to")                    // Unsubscribe, Document, Items
	ErrLocal   = errors.New("a private feed cannot be published")   // Publish
	ErrNotHeld = errors.New("too few nodes hold the event in time") // Publish, Push
)

// Node is one participant: a subscriber and forwarder of feeds, a volunteer for
// those nobody publishes, and a publisher of its own. Its methods are safe for
// concurrent use.
type Node struct {
	config  Config
	id      *signing.Identity // of the node; signs as volunteer
	net     *kad.Node
	carrier carrier // of events
	http    *fetch.Client
	desk    *desk
	intake  *intake
	judges  judges
	authors authors
	codec   *codec
	hints   hints
	ways    ways
	liars   liars
	places  sightings // where volunteers were met
	kept    *kept     // config.Store, watched

	watchers watchers
	parting  sync.Mutex // one feed at a time is left, or taken up again
	life     life
}

// life is how long a node lives, and what has to end with it.
type life struct {
	ctx    context.Context // ends when Close begins
	cancel context.CancelFunc
	start  time.Time
	tasks  sync.WaitGroup // goroutines that end when ctx does
	closed sync.Once
	err    error
}

func (l *life) now() time.Duration { return time.Since(l.start) }

// wall turns a time of the node's clock into one of the calendar.
func (l *life) wall(at time.Duration) time.Time { return l.start.Add(at) }

// New starts a node and resumes the feeds its store holds. It returns when the
// node listens; it does not wait for other nodes. Close it when done.
func New(ctx context.Context, c Config) (*Node, error) {
	c = c.withDefaults()
	if c.Multicast != MulticastTree && c.Multicast != MulticastGossip {
		return nil, fmt.Errorf("multicast %q: it is %q or %q", c.Multicast, MulticastTree, MulticastGossip)
	}
	n := &Node{config: c, kept: &kept{Store: c.Store}}
	n.config.Store = n.kept
	if err := n.assemble(ctx); err != nil {
		return nil, err
	}
	n.life.start = time.Now()
	n.life.ctx, n.life.cancel = context.WithCancel(context.Background())
	looping := make(chan struct{})
	n.intake.loop = looping
	go func() {
		defer close(looping)
		_ = n.carrier.Run(n.life.ctx) // its only error is to be called twice
	}()
	go n.intake.run()
	if err := n.net.Start(ctx, n.carrier); err != nil {
		n.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	n.saveAddrs(ctx)
	if err := n.resume(ctx); err != nil {
		n.Close()
		return nil, err
	}
	n.life.tasks.Go(n.desk.run)
	n.life.tasks.Go(n.keepHouse)
	return n, nil
}

// assemble makes the parts. None of them runs yet.
func (n *Node) assemble(ctx context.Context) (err error) {
	if n.id, err = nodeKey(n.config.Dir); err != nil {
		return err
	}
	n.config.Fetch.Rules.Conditional = n.config.Polling.Min
	if n.http, err = fetch.New(n.config.Fetch); err != nil {
		return err
	}
	if n.codec, err = newCodec(); err != nil {
		return err
	}
	known, err := n.config.Store.Peers(ctx, 256)
	if err != nil {
		return fmt.Errorf("read the peers met before: %w", err)
	}
	overlay := n.config.Overlay
	overlay.Key, overlay.Log = n.id.PrivateKey(), n.config.Log
	if overlay.Before, err = n.listenedOn(ctx); err != nil {
		return err
	}
	for _, p := range known {
		overlay.Remembered = append(overlay.Remembered, kad.Peer{ID: p.ID, Addrs: p.Addrs})
	}
	if n.net, err = kad.New(overlay); err != nil {
		return err
	}
	n.places.visit = n.net.Visit
	n.desk, n.intake = newDesk(n), newIntake(n)
	if n.carrier, err = n.newCarrier(); err != nil {
		return errors.Join(err, n.net.Close())
	}
	return nil
}

// carrier carries events, and is what the overlay calls.
type carrier interface {
	multicast.Carrier
	kad.Inbound
}

func (n *Node) newCarrier() (carrier, error) {
	out := multicast.Callbacks[*signing.Envelope]{
		Judge: n.judge, Deliver: n.intake.deliver, Keep: n.intake.keep, Notice: n.notice,
	}
	c := &n.config
	if c.Multicast == MulticastGossip {
		return gossip.New(n.net, gossip.Config{Network: c.Overlay.Network, Log: c.Log}, out)
	}
	return live.NewCarrier(n.net, live.Config{Tree: tree.Config{Leaf: c.Overlay.Client}, Log: c.Log}, out), nil
}

// ID returns the node's peer ID as text.
func (n *Node) ID() string { return idText(n.net.Self()) }

// Addrs returns full multiaddrs by which others can join through this node.
func (n *Node) Addrs() []string { return n.net.Addrs() }

// Connect joins through the node at a full multiaddr.
func (n *Node) Connect(ctx context.Context, multiaddr string) error {
	return n.net.Connect(ctx, multiaddr)
}

// Close leaves the network and ends subscriptions and publishers. What was
// received is in the store when it returns, within about two seconds, or is asked
// for again after the next start.
func (n *Node) Close() error {
	n.life.closed.Do(func() { n.life.err = n.close() })
	return n.life.err
}

func (n *Node) close() error {
	n.savePeers()
	n.life.cancel()
	n.life.tasks.Wait()
	<-n.intake.loop
	n.intake.close()
	n.desk.end()
	n.saveWeek(n.desk.accounts())
	n.saveWays(context.Background())
	n.saveSightings(context.Background())
	err := n.net.Close()
	n.http.Close()
	n.codec.close()
	return err
}

// idText is how people write a node's identity; nobody's is empty.
func idText(id overlay.ID) string {
	if id == "" {
		return ""
	}
	return peer.ID(id).String()
}

func idTexts(ids []overlay.ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = idText(id)
	}
	return texts
}
