package feedtree

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// Health is what keeps a node from its work on this machine, in sentences that
// say what to do. Empty ones say that nothing does.
type Health struct {
	Store   string        `json:"store"`   // nothing can be kept now; what is held is served on
	Clock   string        `json:"clock"`   // the machine's clock is wrong
	Ahead   time.Duration `json:"ahead"`   // of the machine's clock before those of sites, in nanoseconds; 0: not known, or right
	Waiting int           `json:"waiting"` // what the node has not come to yet
}

// Check has the node do a little of what it always does, and returns why it
// cannot: nil once its goroutine has answered and its store has kept something.
// An error that wraps ErrStore means that only the latter failed.
func (n *Node) Check(ctx context.Context) error {
	if err := n.desk.ask(ctx, func(*desk) {}); err != nil {
		return fmt.Errorf("the node does not answer: %w", err)
	}
	if err := n.config.Store.PutSetting(ctx, checkSetting, []byte(time.Now().UTC().Format(time.RFC3339))); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// ErrStore says that a node's store takes nothing at the moment.
var ErrStore = errors.New("nothing can be kept")

const checkSetting = "checked"

// health is the desk's view of the machine.
func (d *desk) health() Health {
	future := uint64(0)
	for _, ch := range d.channels {
		future += ch.standing.refused.All()[whyFuture]
	}
	ahead, _ := d.clock.off()
	return Health{
		Store: d.node.kept.fault(), Clock: d.clock.fault(future), Ahead: ahead, Waiting: d.box.waiting(),
	}
}

func (b *box) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.posts)
}

// kept is the node's store. It remembers whether writing works, and what was
// kept.
type kept struct {
	store.Store
	trouble atomic.Pointer[error]
	items   [store.Signed + 1]atomic.Uint64 // new or changed, by trust
}

// fault says why nothing can be kept, if so.
func (k *kept) fault() string {
	if err := k.trouble.Load(); err != nil {
		return fmt.Sprintf("Nothing can be kept at the moment: %v. What is held is served on; news is asked for again.", *err)
	}
	return ""
}

// wrote takes note of how a write ended. What the caller did wrong, or gave up,
// says nothing about the store.
func (k *kept) wrote(err error) error {
	switch {
	case err == nil:
		k.trouble.Store(nil)
	case errors.Is(err, store.ErrFeed), errors.Is(err, store.ErrLine), errors.Is(err, store.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		k.trouble.Store(&err) // who wrote logs it
	}
	return err
}

// Durable reports whether what is kept outlives the process, which is what the
// receipts that sources ask for mean.
func (k *kept) Durable() bool {
	if s, ok := k.Store.(interface{ Durable() bool }); ok {
		return s.Durable()
	}
	_, memory := k.Store.(*store.Memory)
	return !memory
}

// Apply implements store.Store.
func (k *kept) Apply(ctx context.Context, b store.Batch) ([]store.Item, error) {
	added, err := k.Store.Apply(ctx, b)
	for _, it := range added {
		k.items[min(it.Trust, store.Signed)].Add(1)
	}
	return added, k.wrote(err)
}

// PutPeers implements store.Store.
func (k *kept) PutPeers(ctx context.Context, peers []store.Peer) error {
	return k.wrote(k.Store.PutPeers(ctx, peers))
}

// PutSetting implements store.Store.
func (k *kept) PutSetting(ctx context.Context, name string, value []byte) error {
	return k.wrote(k.Store.PutSetting(ctx, name, value))
}

// Expire implements store.Store.
func (k *kept) Expire(ctx context.Context, now time.Time) error {
	return k.wrote(k.Store.Expire(ctx, now))
}

// retryStore finds out whether a store that took nothing does again. What it missed
// was not acknowledged, and is asked for by whoever missed it.
func (n *Node) retryStore(ctx context.Context) {
	if n.kept.fault() == "" {
		return
	}
	if err := n.Check(ctx); err == nil {
		n.config.Log.Info("the store takes what it is given again")
	}
}

// report adds to a node's counters what was kept.
func (k *kept) report(counts map[string]uint64) {
	for trust := range k.items {
		counts["items_"+store.Trust(trust).String()] = k.items[trust].Load()
	}
}
