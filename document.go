package feedtree

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

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

	// Doubt says for the keys of items that volunteers dispute or contradict which
	// of the two. Only Document fills it in.
	Doubt map[string]witness.State
}

const (
	shownItems = 100       // a document holds so many more than the origin's last one did
	readMarks  = time.Hour // how exactly it is known when a feed was last read
)

// Document returns the newest document: the origin's channel with the items
// that the origin, the publisher and volunteers brought, the newest first. News
// pushes nothing out that the origin still shows, however rarely it is fetched.
// Asking for it marks the feed as read.
func (s *Subscription) Document(ctx context.Context) (*feed.Feed, DocState, error) {
	state := s.State() // first: what comes meanwhile shows as a higher version
	rec, ok, err := s.node.config.Store.Feed(ctx, s.url)
	switch {
	case err != nil:
		return nil, state, fmt.Errorf("document of %s: %w", s.url, err)
	case !ok:
		return nil, state, fmt.Errorf("document of %s: %w", s.url, ErrUnknown)
	}
	s.mark(ctx)
	channel := &feed.Feed{Format: feed.RSS, Link: s.url}
	if len(rec.Doc) > 0 {
		if channel, err = feed.Parse(rec.Doc, rec.ContentType); err != nil {
			return nil, state, fmt.Errorf("document of %s as stored: %w", s.url, err)
		}
	}
	held, err := s.node.config.Store.Items(ctx, s.url, len(channel.Items)+shownItems)
	if err != nil {
		return nil, state, fmt.Errorf("items of %s: %w", s.url, err)
	}
	slices.SortStableFunc(held, newestFirst)
	state.Trust = make(map[string]store.Trust, len(held))
	state.Doubt = map[string]witness.State{}
	items := make([]feed.Item, 0, len(held))
	for _, r := range held {
		b := s.ch.standing.believed(r)
		if b.TakenBack {
			continue
		}
		it, err := itemOf(r)
		if err != nil {
			s.node.complain(ctx, "cannot read a stored item", s.url, err)
			continue
		}
		items = append(items, it)
		if state.Trust[r.Key] = b.Trust; b.Doubt != witness.Unconfirmed {
			state.Doubt[r.Key] = b.Doubt
		}
	}
	return feed.Assemble(channel, items), state, nil
}

// newestFirst orders by date, then by arrival. An item without a date is as old
// as its arrival, and so is one from the future: a wrong date must not keep it
// on top for ever.
func newestFirst(a, b store.Item) int {
	if c := dateOf(b).Compare(dateOf(a)); c != 0 {
		return c
	}
	return int(b.Seen - a.Seen)
}

func dateOf(r store.Item) time.Time {
	if r.Published.IsZero() || r.Published.After(r.Received) {
		return r.Received
	}
	return r.Published
}

// mark notes that the feed is read.
func (s *Subscription) mark(ctx context.Context) {
	now := time.Now()
	if now.Sub(s.ch.ledger.record().Read) < readMarks {
		return
	}
	if _, err := s.ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) { rec.Read = now }); err != nil {
		s.node.complain(ctx, "cannot note that a feed is read", s.url, err)
	}
}
