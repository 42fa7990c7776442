package feedtree

import (
	"context"
	"iter"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// Subscription is one interest in a feed.
type Subscription struct{ url string }

// Update is an item that arrived, new or changed.
type Update struct {
	Feed       string // the feed's canonical URL
	Item       feed.Item
	Trust      store.Trust
	Source     [32]byte // who said so; zero if it was fetched here
	Epoch, Seq uint64   // and where in its line
	Received   time.Time
}

// DocState says how much a document can be relied on.
type DocState struct {
	// Version grows whenever Document may return something else than before.
	// It means nothing beyond this process.
	Version uint64

	Fetched   time.Time // when the origin last answered this node; zero: never
	LastEvent time.Time // when the tree last brought an event or heartbeat; zero: never
	Stale     bool      // neither the tree nor the origin vouched for it lately
	Local     string    // why the feed stays out of the overlay, or ""
	Failure   string    // what is wrong now, as a sentence, or ""

	// Trust says for each item's key why it is believed. Only Document fills
	// it in.
	Trust map[string]store.Trust
}

// URL returns the feed's canonical URL, which may differ from the one
// subscribed to.
func (s *Subscription) URL() string { return s.url }

// Items yields what arrives from the call of Subscribe on, in order of arrival,
// until ctx ends, the subscription is closed or the feed unsubscribed; only the
// last is an error, which ends it. A slow consumer loses nothing: items wait in
// the store. Items continues where a former call of it stopped.
func (s *Subscription) Items(ctx context.Context) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) { yield(Update{}, ErrClosed) }
}

// Document returns the newest document: the origin's channel with the items
// that the origin, the publisher and volunteers brought, the newest first.
// Asking for it marks the feed as read.
func (s *Subscription) Document(ctx context.Context) (*feed.Feed, DocState, error) {
	return nil, DocState{}, ErrClosed
}

// State returns the state of the document without building it, from memory.
func (s *Subscription) State() DocState { return DocState{} }

// Status describes the feed.
func (s *Subscription) Status() FeedStatus { return FeedStatus{} }

// Close ends the subscription, not the feed: see Node.Unsubscribe.
func (s *Subscription) Close() error { return nil }
