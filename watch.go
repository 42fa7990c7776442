package feedtree

import (
	"context"
	"sync"
)

// Watch returns a channel that tells when what Status says of feeds and of
// volunteering has changed: one value stands for however many changes there were
// since the last one was taken. Connections and places in trees come and go
// untold. It ends with ctx.
func (n *Node) Watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	n.watchers.add(changed)
	context.AfterFunc(ctx, func() { n.watchers.drop(changed) })
	return changed
}

// watchers are those who wait for changes.
type watchers struct {
	mu  sync.Mutex
	all map[chan struct{}]struct{}
}

func (w *watchers) add(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[chan struct{}]struct{}{}
	}
	w.all[c] = struct{}{}
}

func (w *watchers) drop(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c)
}

// tell wakes them. It never blocks.
func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}
