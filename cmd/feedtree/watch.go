package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/signing"
)

// quiet is how long a file must not change before it is read: generators write
// in pieces.
const quiet = 200 * time.Millisecond

// watch pushes the document and then whatever the file becomes, until ctx ends.
// News is never kept waiting for others to hold older news.
func (c publishCmd) watch(ctx context.Context, node *feedtree.Node, id *signing.Identity, doc []byte, log *slog.Logger) (err error) {
	changes, end, err := changesOf(c.File, lookAgain, log)
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
	if now, again, err := c.reread(); err == nil && !again {
		doc = now // it may have changed before the watch began
	}
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
			doc, again, err := c.reread()
			switch {
			case again:
				settle = time.After(quiet)
			case errors.Is(err, fs.ErrNotExist):
				log.Info("the file is gone; it is pushed when it is back", "file", c.File)
			case err != nil:
				log.Warn("not pushed; the file is read again when it changes", "error", err)
			default:
				w.push(ctx, doc)
			}
		}
	}
}

// reread reads the file after it changed. again says that somebody is writing it
// now.
func (c publishCmd) reread() (doc []byte, again bool, err error) {
	before, err := os.Stat(c.File)
	if err != nil {
		return nil, false, fmt.Errorf("--file: %w", err)
	}
	if doc, err = c.read(nil); errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil // taken away since: it is looked at again
	}
	after, gone := os.Stat(c.File)
	return doc, gone != nil || !sameVersion(before, after), err
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
