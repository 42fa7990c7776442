package feedtree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// Pin is which root keys speak for a feed, and how that is known.
type Pin struct {
	URL string `json:"url"`
	PinStatus
}

// Pins returns the pins of all feeds followed or published here, by URL.
func (n *Node) Pins() []Pin {
	pins := []Pin{}
	_ = n.desk.ask(context.Background(), func(d *desk) { // after Close there are none
		for _, ch := range d.channels {
			p := ch.standing.policy.Load()
			if s := p.book.pinStatus(p.pin); s != nil {
				pins = append(pins, Pin{ch.url, *s})
			}
		}
	})
	slices.SortFunc(pins, func(a, b Pin) int { return cmp.Compare(a.URL, b.URL) })
	return pins
}

// SetPin has a feed's publisher believed under the root keys of a fingerprint, as
// [signing.ParseFingerprint] reads it, and under no others until SetPin is called
// again. An empty one takes that back: the next document of the feed decides, as
// when it was new. What is in the store stays what it is.
func (n *Node) SetPin(ctx context.Context, url, fingerprint string) error {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	canonical = n.followed(ctx, canonical)
	var pin store.Pin
	if fingerprint != "" {
		f, err := signing.ParseFingerprint(fingerprint)
		if err != nil {
			return fmt.Errorf("pin %s: %w", canonical, err)
		}
		pin = store.Pin{Fingerprint: f, How: pinManual, Since: time.Now()}
	}
	var ch *channel
	if err := n.desk.ask(ctx, func(d *desk) { ch = d.channels[canonical] }); err != nil {
		return fmt.Errorf("pin %s: %w", canonical, err)
	}
	if ch == nil {
		return fmt.Errorf("pin: %w %s", ErrUnknown, canonical)
	}
	if _, err := ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) {
		b := bookOf(rec).reset(rec.URL, pin)
		b.Moved, b.Asked = nil, time.Time{}
		rec.Pin, rec.Failure = pin, ""
		b.keep(rec)
	}); err != nil {
		return fmt.Errorf("pin %s: %w", canonical, err)
	}
	if err := n.rekey(ctx, canonical); err != nil {
		return err
	}
	n.desk.post(func(d *desk) { d.nudge(canonical) }) // the origin says what belongs to it
	return nil
}
