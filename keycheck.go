package feedtree

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// KeyCheck is what a new subscriber makes of a feed's keys.
type KeyCheck struct {
	URL     string // canonical
	Pin     *PinStatus
	Keys    KeyStatus
	Warning string // what is wrong, as a sentence; ""
}

// CheckKeys asks for a feed and its certificate as a new subscriber does, and says
// what that would make of its keys. Nothing is remembered.
func CheckKeys(ctx context.Context, client *fetch.Client, url string) (KeyCheck, error) {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return KeyCheck{}, fmt.Errorf("check the keys: %w", err)
	}
	got, err := client.Get(ctx, fetch.Request{URL: canonical, Local: true})
	if err != nil {
		return KeyCheck{}, fmt.Errorf("check the keys: %w", err)
	}
	doc, err := feed.Parse(got.Body, got.ContentType)
	if err != nil {
		return KeyCheck{}, fmt.Errorf("check the keys of %s: %w", canonical, err)
	}
	now := time.Now()
	rec := store.Feed{URL: canonical, Group: multicast.GroupOf(canonical)}
	seen := announced(&rec, doc, got.URL, now)
	var answer *certificateAnswer
	if seen.place != "" {
		answer = askCertificate(ctx, client, canonical, seen.place)
	}
	check := KeyCheck{URL: canonical, Warning: takeKeys(&rec, seen, answer, now)}
	b := bookOf(&rec)
	check.Pin, check.Keys = b.pinStatus(rec.Pin), b.status(rec.Pin, now, 0)
	return check, nil
}
