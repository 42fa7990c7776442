package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/signing"
)

// quiet is how long a file must not change before it is read: generators write
// in pieces.
const quiet = 200 * time.Millisecond

// watch pushes the document and then whatever the file becomes, until ctx ends.
// News is never kept waiting for others to hold older news.
func (c publishCmd) watch(ctx context.Context, node *feedtree.Node, id *signing.Identity, doc []byte, log *slog.Logger) (err error) {
	changes, end, err := changesOf(c.File)
	if err != nil {
		return err
	}
	defer closing(&err, end)
	p, err := node.Publisher(ctx, id, c.URL, feedtree.PublisherConfig{TTL: c.TTL})
	if err != nil {
		return err
	}
	defer closing(&err, p.Close)
	log.Info("watching", "file", c.File, "feed", p.URL(), "addrs", node.Addrs())
	w := watched{Publisher: p, timeout: c.Timeout, log: log, failed: make(chan error, 1)}
	w.push(ctx, doc)
	defer w.finish()
	var settle <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.failed:
			return err
		case _, open := <-changes:
			if !open {
				return fmt.Errorf("watching %s ended unexpectedly", c.File)
			}
			settle = time.After(quiet)
		case <-settle:
			settle = nil
			if doc, err := c.read(nil); err != nil {
				log.Warn("not pushed", "error", err)
			} else {
				w.push(ctx, doc)
			}
		}
	}
}

// watched is a publisher with at most one push under way.
type watched struct {
	*feedtree.Publisher
	timeout time.Duration
	log     *slog.Logger
	failed  chan error         // what makes going on pointless
	cancel  context.CancelFunc // ends the wait of the push under way; nil before the first
	ended   chan struct{}      // closed when it ended
}

// finish ends the push under way.
func (w *watched) finish() {
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
}

// push begins to push a document; the one before has been sent, and if others do
// not hold it yet, nobody waits for it any more.
func (w *watched) push(ctx context.Context, doc []byte) {
	w.finish()
	in, cancel := context.WithTimeout(ctx, w.timeout)
	ended := make(chan struct{})
	w.cancel, w.ended = cancel, ended
	go func() {
		defer close(ended)
		defer cancel()
		got, err := w.Push(in, doc)
		switch {
		case err != nil && errors.Is(in.Err(), context.Canceled): // newer news, or the end
		case errors.Is(err, feedtree.ErrNotHeld):
			w.log.Warn("pushed, but too few nodes hold it yet", "items", got.Items, "holders", got.Holders, "wanted", got.Wanted)
		case err != nil:
			select {
			case w.failed <- err:
			default: // an earlier error ends it already
			}
		case got.Items > 0:
			w.log.Info("pushed", "items", got.Items, "holders", got.Holders, "seq", got.Stamp.Seq)
		}
	}()
}

// changesOf tells when a file may have changed. It watches the directory, since
// most programs replace a file rather than write into it.
func changesOf(file string) (<-chan struct{}, func() error, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, fmt.Errorf("watching %s: %w", file, err)
	}
	if err := w.Add(filepath.Dir(path)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("watching %s: %w", file, err), w.Close())
	}
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		for events, errs := w.Events, w.Errors; ; {
			select {
			case e, open := <-events:
				if !open {
					return
				}
				if filepath.Clean(e.Name) != path {
					continue
				}
			case _, open := <-errs: // an overflow: look at the file
				if !open {
					return
				}
			}
			select {
			case changes <- struct{}{}:
			default: // a change is announced already
			}
		}
	}()
	return changes, w.Close, nil
}
