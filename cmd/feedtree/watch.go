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
	if err := c.push(ctx, p, doc, log); err != nil {
		return err
	}
	var settle <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-changes:
			if !open {
				return fmt.Errorf("watching %s ended unexpectedly", c.File)
			}
			settle = time.After(quiet)
		case <-settle:
			settle = nil
			if err := c.pushFile(ctx, p, log); err != nil {
				return err
			}
		}
	}
}

// pushFile pushes what the file is now. A file that is missing or no feed for a
// while is told and waited out.
func (c publishCmd) pushFile(ctx context.Context, p *feedtree.Publisher, log *slog.Logger) error {
	doc, err := c.read(nil)
	if err != nil {
		log.Warn("not pushed", "error", err)
		return nil
	}
	return c.push(ctx, p, doc, log)
}

// push returns only errors that make going on pointless.
func (c publishCmd) push(ctx context.Context, p *feedtree.Publisher, doc []byte, log *slog.Logger) error {
	in, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	got, err := p.Push(in, doc)
	switch {
	case errors.Is(err, feedtree.ErrNotHeld):
		log.Warn("pushed, but too few nodes hold it yet", "items", got.Items, "holders", got.Holders, "wanted", got.Wanted)
		return nil
	case err != nil:
		return err
	case got.Items > 0:
		log.Info("pushed", "items", got.Items, "holders", got.Holders, "seq", got.Stamp.Seq)
	}
	return nil
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
