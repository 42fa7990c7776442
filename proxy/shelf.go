package proxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
)

// shelf holds the feeds that readers asked for, by the canonical form of the
// URL they asked with. Feeds that could not be had are held too, for as long as
// their origin is left alone.
type shelf struct {
	source  source
	timeout time.Duration // of a first subscription
	now     func() time.Time

	mu    sync.Mutex
	books map[string]*book
}

// book is one feed on the shelf.
type book struct {
	ready chan struct{} // closed when sub or err is set
	sub   subscription
	err   error
	again time.Time     // not before this is a failed feed tried again
	wait  time.Duration // how long the last failure was left alone

	copies  copies
	volumes volumes
}

const (
	firstWait  = 5 * time.Second // after a first failure; it doubles up to
	longWait   = time.Hour
	mostFailed = 1000 // feeds that could not be had, remembered
)

// take returns the book of a feed, subscribing to it if need be. However many
// ask at once, the node is asked once, and goes on when they lose patience.
func (s *shelf) take(ctx context.Context, url string) (*book, error) {
	s.mu.Lock()
	b := s.books[url]
	if b == nil || b.worthAnotherTry(s.now()) {
		b = s.open(url, b)
	}
	s.mu.Unlock()
	select {
	case <-b.ready:
		return b, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// holds reports whether a feed was asked for here, and had.
func (s *shelf) holds(url string) bool {
	s.mu.Lock()
	b := s.books[url]
	s.mu.Unlock()
	if b == nil {
		return false
	}
	select {
	case <-b.ready:
		return b.err == nil
	default:
		return false
	}
}

func (b *book) worthAnotherTry(now time.Time) bool {
	select {
	case <-b.ready:
		return b.err != nil && !now.Before(b.again)
	default:
		return false
	}
}

// open starts a subscription; former is the failed try before it, or nil.
func (s *shelf) open(url string, former *book) *book {
	s.sweepFailed()
	b := &book{ready: make(chan struct{})}
	s.books[url] = b
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		b.sub, b.err = s.source.Subscribe(ctx, url)
		if b.err != nil {
			b.leaveAlone(former, s.now())
		}
		close(b.ready)
	}()
	return b
}

// leaveAlone spares an origin that just failed: readers come back whatever they
// are told, so it is the proxy that waits.
func (b *book) leaveAlone(former *book, now time.Time) {
	b.wait = firstWait
	if former != nil {
		b.wait = min(2*former.wait, longWait)
	}
	var failed *fetch.Error
	if errors.As(b.err, &failed) {
		b.wait = min(max(b.wait, failed.RetryAfter), longWait)
	}
	b.again = now.Add(b.wait)
}

// sweepFailed bounds what is remembered of feeds that could not be had.
func (s *shelf) sweepFailed() {
	if len(s.books) < mostFailed {
		return
	}
	for url, b := range s.books {
		if b.worthAnotherTry(s.now()) {
			delete(s.books, url)
		}
	}
}

// drop takes a book off the shelf, if it is still the one there.
func (s *shelf) drop(url string, b *book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.books[url] == b {
		delete(s.books, url)
		if b.sub != nil {
			_ = b.sub.Close() // it never fails
		}
	}
}

// leave leaves feeds that no reader asked for since a time, and returns them. What
// they brought is kept, and who asks again finds it. A feed that a program holds a
// subscription of is not left.
func (s *shelf) leave(ctx context.Context, since time.Time) (left []string, err error) {
	var errs []error
	for _, f := range s.source.Status().Feeds {
		if f.Role == feedtree.RolePublisher || f.Read.IsZero() || !f.Read.Before(since) {
			continue
		}
		s.dropFeed(f.URL)
		switch err := s.source.Leave(ctx, f.URL); {
		case err == nil:
			left = append(left, f.URL)
		case !errors.Is(err, feedtree.ErrInUse):
			errs = append(errs, err)
		}
	}
	return left, errors.Join(errs...)
}

// dropFeed takes every book of a feed off the shelf, whatever URL it was asked
// for with.
func (s *shelf) dropFeed(canonical string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, b := range s.books {
		select {
		case <-b.ready:
			if b.err == nil && b.sub.URL() == canonical {
				delete(s.books, url)
				_ = b.sub.Close() // it never fails
			}
		default:
		}
	}
}
