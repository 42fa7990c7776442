package feedtree

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// ledger is a feed's record in the store and its copy in memory. Polls, pushes
// and readers all change the record: each change is made to the latest one, and
// none comes after the feed was dropped.
type ledger struct {
	store store.Store
	mu    sync.Mutex                 // of those who write
	kept  atomic.Pointer[store.Feed] // without the document
	gone  bool
}

func newLedger(s store.Store, rec store.Feed) *ledger {
	rec.Doc = nil
	l := &ledger{store: s}
	l.kept.Store(&rec)
	return l
}

// record returns the record as it is now, without the document.
func (l *ledger) record() store.Feed { return *l.kept.Load() }

// write changes the record in one transaction with the rest of a batch. A nil
// change leaves the record alone.
func (l *ledger) write(ctx context.Context, b store.Batch, change func(*store.Feed)) ([]store.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return nil, ErrUnknown
	}
	rec := *l.kept.Load()
	if change != nil {
		change(&rec)
		b.Feed = &rec
	}
	added, err := l.store.Apply(ctx, b)
	if err != nil {
		return nil, err
	}
	rec.Doc = nil
	l.kept.Store(&rec)
	return added, nil
}

// leave notes that the feed is not followed any more. Nobody writes after it.
func (l *ledger) leave(ctx context.Context) error {
	_, err := l.write(ctx, store.Batch{}, func(rec *store.Feed) { rec.Asked, rec.Failure = time.Time{}, "" })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	return err
}

// drop forgets the feed for good.
func (l *ledger) drop(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	return l.store.DropFeed(ctx, l.record().URL)
}
