package proxy

import (
	"context"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
)

// source is what the proxy asks of a node.
type source interface {
	Subscribe(ctx context.Context, url string) (subscription, error)
	Unsubscribe(ctx context.Context, url string) error
	Leave(ctx context.Context, url string) error
	Status() feedtree.Status
	Check(ctx context.Context) error
	Feed(url string) (feedtree.FeedStatus, bool)
	teller
	Watch(ctx context.Context) <-chan struct{}
	Volunteer(ctx context.Context, on bool) error
	LimitVolunteering(ctx context.Context, requests int, bytes int64) error
	LimitUpload(ctx context.Context, bytes int64) error
	Hint(ctx context.Context, url, from string) error
	Hubs(ctx context.Context) ([]feedtree.Hub, error)
	Pins() []feedtree.Pin
	SetPin(ctx context.Context, url, fingerprint string) error
}

// subscription is what the proxy asks of a *feedtree.Subscription.
type subscription interface {
	URL() string
	Announced() (feeds []feed.Link, page bool)
	Document(ctx context.Context) (*feed.Feed, feedtree.DocState, error)
	State() feedtree.DocState
	Status() feedtree.FeedStatus
	Close() error
}

// node is a source over a real node.
type node struct{ *feedtree.Node }

func (n node) Subscribe(ctx context.Context, url string) (subscription, error) {
	sub, err := n.Node.Subscribe(ctx, url)
	if err != nil {
		return nil, err
	}
	return sub, nil
}
