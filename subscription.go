package feedtree

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

// Subscription is one interest in a feed.
type Subscription struct {
	node *Node
	ch   *channel
	url  string
	lead lead
	wake chan struct{} // the store holds something new
	seen int64         // how far Items came; its caller's

	once sync.Once
	done chan struct{} // closed when the subscription has ended
	why  error         // set before; nil if it was closed
}

// Update is an item that arrived, new or changed.
type Update struct {
	Feed       string // the feed's canonical URL
	Item       feed.Item
	Trust      store.Trust
	Doubt      witness.State // Disputed or Contradicted if volunteers say otherwise
	Source     [32]byte      // who said so; zero if it was fetched here
	Epoch, Seq uint64        // and where in its line
	Received   time.Time
	Ways       []Way // in which it came, oldest first; nil where that is not known any more
}

// URL returns the feed's canonical URL, which may differ from the one
// subscribed to.
func (s *Subscription) URL() string { return s.url }

// Announced returns, if the URL subscribed to was that of a web page, true and the
// feeds that the page announces, the one followed included; none if it was found
// at a well-known place.
func (s *Subscription) Announced() (feeds []feed.Link, page bool) { return s.lead.Feeds, s.lead.Page }

// Items yields what arrives from the call of Subscribe on, in order of arrival,
// until ctx ends, the subscription is closed or the feed unsubscribed; only the
// last is an error, which ends it. A slow consumer loses nothing: items wait in
// the store. Items continues where a former call of it stopped; it is not for
// several goroutines at once.
func (s *Subscription) Items(ctx context.Context) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.done:
				if s.why != nil {
					yield(Update{Feed: s.url}, s.why)
				}
				return
			default:
			}
			fresh, err := s.fresh(ctx)
			if err != nil && ctx.Err() == nil {
				yield(Update{Feed: s.url}, err)
				return
			}
			for _, r := range fresh {
				s.seen = r.Seen
				b := s.ch.standing.believed(r)
				if b.TakenBack {
					continue
				}
				if u, err := s.update(r, b); !yield(u, err) || err != nil {
					return
				}
			}
			select {
			case <-s.wake:
			case <-ctx.Done():
			case <-s.done:
			}
		}
	}
}

// fresh reads what the store took in since the last look, oldest first.
func (s *Subscription) fresh(ctx context.Context) ([]store.Item, error) {
	for limit := 16; ; limit *= 4 {
		items, err := s.node.config.Store.Items(ctx, s.url, limit)
		if err != nil {
			return nil, fmt.Errorf("items of %s: %w", s.url, err)
		}
		old := slices.IndexFunc(items, func(it store.Item) bool { return it.Seen <= s.seen })
		if old < 0 && len(items) == limit {
			continue // there may be more
		}
		if old >= 0 {
			items = items[:old]
		}
		slices.Reverse(items)
		return items, nil
	}
}

func (s *Subscription) update(r store.Item, b Belief) (Update, error) {
	it, err := itemOf(r)
	return Update{
		Feed: r.Feed, Item: it, Trust: b.Trust, Doubt: b.Doubt, Source: r.Source, Epoch: r.Epoch, Seq: r.Seq, Received: r.Received,
		Ways: s.node.ways.of(r.Feed, r.Key, r.Hash),
	}, err
}

// State returns the state of the document without building it, from memory.
func (s *Subscription) State() DocState {
	f := s.ch.facts.Load()
	state := f.state
	state.Stale = time.Now().After(f.freshUntil)
	return state
}

// Status describes the feed.
func (s *Subscription) Status() FeedStatus {
	status, _ := s.node.Feed(s.url)
	return status
}

// Close ends the subscription, not the feed: see Node.Unsubscribe.
func (s *Subscription) Close() error {
	s.end(nil)
	s.node.desk.post(func(*desk) { delete(s.ch.subs, s) })
	return nil
}

func (s *Subscription) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.done)
	})
}
