package feedtree

import (
	"context"
	"errors"

	"github.com/feedtree/feedtree/signing"
)

// What a caller can tell apart; the errors returned wrap these with what and
// where.
var (
	ErrClosed  = errors.New("the node is closed")
	ErrUnknown = errors.New("not subscribed to")                    // Unsubscribe, Feed
	ErrLocal   = errors.New("a private feed cannot be published")   // Publish
	ErrNotHeld = errors.New("too few nodes hold the event in time") // Publish, Push
)

// Node is one participant: a subscriber and forwarder of feeds, a volunteer for
// those nobody publishes, and a publisher of its own. Its methods are safe for
// concurrent use.
type Node struct {
	config Config
}

// New starts a node and resumes the feeds its store holds. It returns when the
// node listens; it does not wait for other nodes. Close it when done.
func New(ctx context.Context, c Config) (*Node, error) { return nil, ErrClosed }

// Subscribe follows the feed of a URL. A feed the store knows is followed from
// where it was left, without asking its origin; another one is fetched once,
// which is when errors are told. If the URL is that of a web page, the first
// feed it announces is followed. Several subscriptions of one feed share it.
func (n *Node) Subscribe(ctx context.Context, url string) (*Subscription, error) {
	return nil, ErrClosed
}

// Unsubscribe leaves a feed and forgets it. Its subscriptions end.
func (n *Node) Unsubscribe(ctx context.Context, url string) error { return ErrClosed }

// Publish pushes what is new in doc, the feed at url as its conventional
// document, signed by id. It returns when 3 other nodes, or all where there are
// fewer, hold what was pushed, or with ErrNotHeld when ctx ends before that:
// then the receipt says how far it came, and nothing is lost by trying again.
// It promises no heartbeats; a Publisher does.
func (n *Node) Publish(ctx context.Context, id *signing.Identity, url string, doc []byte) (Receipt, error) {
	return Receipt{}, ErrClosed
}

// Publisher begins to publish the feed at url in the name of id, and keeps
// sending heartbeats until it is closed.
func (n *Node) Publisher(ctx context.Context, id *signing.Identity, url string, c PublisherConfig) (*Publisher, error) {
	return nil, ErrClosed
}

// ID returns the node's peer ID as text.
func (n *Node) ID() string { return "" }

// Addrs returns full multiaddrs by which others can join through this node.
func (n *Node) Addrs() []string { return nil }

// Connect joins through the node at a full multiaddr.
func (n *Node) Connect(ctx context.Context, multiaddr string) error { return ErrClosed }

// Close leaves the network and ends subscriptions and publishers. What was
// received is in the store when it returns, within about two seconds.
func (n *Node) Close() error { return nil }
