package feedtree

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// How a pin was seen.
const (
	pinHTTPS  = "https"
	pinHTTP   = "http"
	pinManual = "manual" // the node itself publishes with the key
)

// announced is the key that a document fetched from finalURL names for the feed,
// or a pin without How. Only the feed's own host may name it, and only HTTPS all
// the way makes it more than a rumour. A pushed document never does.
func announced(rec *store.Feed, f *feed.Feed, finalURL string, now time.Time) (pin store.Pin, warning string) {
	t := f.Tree
	if t == nil || t.Fingerprint == "" {
		return pin, ""
	}
	if t.Group != "" && !strings.EqualFold(t.Group, multicast.Group(rec.Group).String()) {
		return pin, "the feed announces the tree of another URL than its own: its ft:tree is ignored"
	}
	fingerprint, err := signing.ParseFingerprint(t.Fingerprint)
	if err != nil {
		return pin, fmt.Sprintf("the feed announces a key that cannot be read (%v): its ft:tree is ignored", err)
	}
	own, err1 := url.Parse(rec.URL)
	final, err2 := url.Parse(finalURL)
	if err1 != nil || err2 != nil || !strings.EqualFold(own.Hostname(), final.Hostname()) {
		return pin, "the feed's key was announced by another host than the feed's own: it is ignored"
	}
	pin = store.Pin{Fingerprint: fingerprint, How: pinHTTP, Since: now}
	if own.Scheme == "https" && final.Scheme == "https" {
		pin.How = pinHTTPS
	}
	return pin, ""
}

// repin decides what becomes of the pin held when the document names a key, or
// none. A pin is only ever made firmer here: whoever can change one document
// must not be able to take over a feed.
func repin(held, seen store.Pin) (pin store.Pin, warning string) {
	switch {
	case seen.How == "":
		return held, ""
	case held.How == "":
		return seen, ""
	case held.Fingerprint == seen.Fingerprint:
		if held.How == pinHTTP && seen.How == pinHTTPS {
			return seen, ""
		}
		return held, ""
	case held.How == pinHTTP:
		return seen, ""
	}
	return held, "the feed now announces another key than the one first seen, " +
		signing.Fingerprint(held.Fingerprint).String() + ", which stays in force; " +
		"if its publisher says so elsewhere, unsubscribe and subscribe again"
}
