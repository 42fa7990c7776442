package feedtree

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// PublisherConfig sets up a Publisher.
type PublisherConfig struct {
	// TTL is what the publisher promises: an event or a heartbeat at least so
	// often, in whole seconds. 0: 15 minutes.
	TTL time.Duration
}

// Publisher publishes one feed and keeps its promise of heartbeats.
type Publisher struct{ url string }

// Receipt says what was pushed and how far it came.
type Receipt struct {
	Group   multicast.Group // of the feed
	Stamp   multicast.Stamp // of the last event; zero if there was never any
	Items   int             // new items pushed by this call
	Holders int             // other nodes that hold the last event durably
	Wanted  int             // how many were wanted: 3, or all where fewer are known
}

// URL returns the canonical URL that is published.
func (p *Publisher) URL() string { return p.url }

// Push pushes what is new in doc. It is Node.Publish with heartbeats after it.
func (p *Publisher) Push(ctx context.Context, doc []byte) (Receipt, error) {
	return Receipt{}, ErrClosed
}

// Close ends the heartbeats. Subscribers miss them after twice the TTL.
func (p *Publisher) Close() error { return nil }
