package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/witness"
)

type followCmd struct {
	URL  string `arg:"" help:"The feed's address."`
	JSON bool   `name:"json" help:"Print one JSON object a line." env:"-"`

	networkFlags
	originFlags
	pollFlags
}

// Help teaches the command.
func (followCmd) Help() string {
	return `Prints what arrives from now on, until it is interrupted, and keeps nothing. trust says why an item is believed: signed (by the publisher), fetched (here, from the site), corroborated (by several volunteers) or unconfirmed (one volunteer's word); disputed or contradicted stands instead of unconfirmed where other volunteers say otherwise, and in doubt with --json. With --json, ways says how it came: pushed along the tree, pulled after a gap from the parent, a lazy link or a root replica, from the site, and why.

A source that is proved to have said two different things at one place of its line is printed once, too: as JSON, an object with "fork" in it, which holds the proof.

Examples:

    feedtree follow https://example.org/feed.xml
    feedtree follow --json https://example.org/feed.xml | jq -r 'select(.trust == "signed") | .link'`
}

// followed is an item as a line of JSON. What is not known is null, or "".
type followed struct {
	Feed      string     `json:"feed"`
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Link      string     `json:"link"`
	Published *time.Time `json:"published"`
	Received  time.Time  `json:"received"`
	Trust     string     `json:"trust"`
	Doubt     string     `json:"doubt"` // "disputed" or "contradicted" by other volunteers, or ""
	Seq       uint64     `json:"seq"`   // in the line of who said so; 0 if fetched

	Ways []feedtree.Way `json:"ways"` // in which it came, oldest first
}

// Run prints until ctx ends.
func (c followCmd) Run(ctx context.Context, t terminal, log *slog.Logger) (err error) {
	node, err := feedtree.New(ctx, feedtree.Config{
		Overlay: c.overlay(), Multicast: c.Multicast, Fetch: c.fetch(),
		Polling: c.polling(), Log: log,
	})
	if err != nil {
		return err
	}
	defer closing(&err, node.Close)
	changed := node.Watch(ctx)
	sub, err := node.Subscribe(ctx, c.URL)
	if err != nil {
		return err
	}
	log.Info("following", "feed", feed.Redacted(sub.URL()), "peer", node.ID())
	out := &lines{w: t.Out}
	go c.accuse(ctx, changed, sub, out) // ends with ctx, and writes nothing after the node is closed
	for u, err := range sub.Items(ctx) {
		if err != nil {
			return err
		}
		if err := c.print(out, u); err != nil {
			return err
		}
	}
	return nil
}

// lines is a writer that several may write whole lines to.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// accused is a line about a source that is proved to have said two things.
type accused struct {
	Feed string        `json:"feed"`
	Fork feedtree.Fork `json:"fork"`
}

// accuse prints each source of the feed that is proved to lie, once.
func (c followCmd) accuse(ctx context.Context, changed <-chan struct{}, sub *feedtree.Subscription, w io.Writer) {
	told := map[string]uint64{}
	for {
		for _, f := range sub.Status().Forks {
			if told[f.Source] >= f.Epoch {
				continue
			}
			told[f.Source] = f.Epoch
			_ = c.printFork(w, sub.URL(), f) // whoever prints items ends when nobody reads
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func (c followCmd) printFork(w io.Writer, url string, f feedtree.Fork) error {
	if c.JSON {
		line := json.NewEncoder(w)
		line.SetEscapeHTML(false)
		return line.Encode(accused{url, f})
	}
	who := "a volunteer"
	if f.Publisher {
		who = "the publisher"
	}
	_, err := fmt.Fprintf(w, "%s  %-12s %s (%s) said two different things at place %d of epoch %d; it is not believed until it opens a new one\n",
		f.Seen.Local().Format("15:04:05"), "FORK", who, f.Source, f.Place, f.Epoch)
	return err
}

// doubtOf is what volunteers say against an item, or "".
func doubtOf(u feedtree.Update) string {
	if u.Doubt == witness.Unconfirmed {
		return ""
	}
	return u.Doubt.String()
}

func (c followCmd) print(w io.Writer, u feedtree.Update) error {
	if !c.JSON {
		_, err := fmt.Fprintf(w, "%s  %-12s %s  %s\n", u.Received.Local().Format("15:04:05"), cmp.Or(doubtOf(u), u.Trust.String()),
			oneLine(u.Item.Title), oneLine(u.Item.Link))
		return err
	}
	line := json.NewEncoder(w) // writes each line at once
	line.SetEscapeHTML(false)
	return line.Encode(followed{
		Feed: u.Feed, ID: u.Item.GUID, Title: u.Item.Title, Link: u.Item.Link,
		Published: dateOrNull(u.Item.Date()), Received: u.Received.UTC(), Trust: u.Trust.String(), Doubt: doubtOf(u), Seq: u.Seq,
		Ways: append([]feedtree.Way{}, u.Ways...),
	})
}
