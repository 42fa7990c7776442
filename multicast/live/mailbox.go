package live

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// How much may wait for the loop, in bytes. An item without a body counts as
// one of smallItem bytes, which bounds how many there are.
const (
	roomForFrames = 16 << 20
	roomForCalls  = 16 << 20
	smallItem     = 4 << 10
)

// room bounds what waits for the loop. Who asks for room gets it in the order
// of asking, so the one who floods waits behind the others.
type room struct{ *semaphore.Weighted }

func newRoom(bytes int64) room { return room{semaphore.NewWeighted(bytes)} }

// take waits for room for that many bytes and returns what gives it back.
func (r room) take(ctx context.Context, bytes int) (done func(), err error) {
	n := max(int64(bytes), smallItem)
	if err := r.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { r.Release(n) }, nil
}

// mailbox is the queue into the loop. It takes whatever is put: those who put
// have room for it, or put what is bounded otherwise. It is safe for
// concurrent use.
type mailbox struct {
	mu     sync.Mutex
	items  []item
	closed bool
	wake   chan struct{} // holds a token while items may be waiting
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put adds an item, or returns false if nobody will take it any more.
func (b *mailbox) put(it item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.items = append(b.items, it)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

// take removes all items and leaves the memory of spare for the next ones.
func (b *mailbox) take(spare []item) []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items = spare[:0]
	return items
}

// close refuses further items and returns those that were never taken.
func (b *mailbox) close() []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.items
}
