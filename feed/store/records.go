package store

import "time"

// Feed is what a node knows of one feed it follows.
type Feed struct {
	URL         string    // canonical; the feed's identity
	Group       [32]byte  // its multicast group
	Asked       time.Time // when it was subscribed to
	Read        time.Time // when a reader last asked for it
	Doc         []byte    // the origin's last document as fetched; nil in a batch leaves the stored one
	ContentType string
	Validators  Validators
	Fetched     time.Time     // when the origin last answered, 304 included
	NotBefore   time.Time     // no poll before this
	Origin      []byte        // what else is remembered of the origin, as feed/fetch/polite writes it; nil: nothing
	Interval    time.Duration // between polls, as the schedule has it
	Moved       string        // where a chain of permanent redirects ended
	Local       string        // why the feed stays out of the overlay, or ""
	Pin         Pin
	Cert        []byte // what else is known of the publisher's keys, its certificate with it, as package feedtree writes it
	Failure     string // what is wrong now, as a sentence, or ""
}

// Validators are the origin's ETag and Last-Modified, byte for byte.
type Validators struct {
	ETag         string
	LastModified string
}

// Pin is the publisher's root keys as first seen, and how they were seen.
type Pin struct {
	Fingerprint [32]byte
	How         string // "https", "http", "recovered", "manual"; "" for no pin
	Since       time.Time
}

// Trust says why an item is believed. Later ones outrank earlier ones.
type Trust uint8

// The four things a reader can tell apart.
const (
	Unconfirmed  Trust = iota // one volunteer says so
	Corroborated              // several independent volunteers say so
	Fetched                   // read here, from the feed's own origin
	Signed                    // by the publisher
)

// String returns "unconfirmed", "corroborated", "fetched" or "signed".
func (t Trust) String() string {
	if t > Signed {
		return "unknown trust"
	}
	return [...]string{"unconfirmed", "corroborated", "fetched", "signed"}[t]
}

// Item is one version of one item of a feed.
type Item struct {
	Feed        string   // the feed's URL
	Key         string   // which item
	Hash        [32]byte // which version
	Doc         []byte   // a document of this one item, which feed.Parse reads
	ContentType string
	Trust       Trust
	Source      [32]byte // who said so, zero if fetched here
	Epoch, Seq  uint64   // and where in its line
	Published   time.Time
	Received    time.Time
	Seen        int64 // the order of arrival, given by the store, never reused
}

// Envelope is a signed event or heartbeat as it came off the wire.
type Envelope struct {
	Group, Source [32]byte
	Epoch, Seq    uint64
	Beat          uint64 // 0 for an event; else the heartbeat's time
	Wire          []byte
	Until         time.Time // the lease it is held under; zero: as long as the feed
}

// Line is the state of a line this node itself writes.
type Line struct {
	Group, Source [32]byte
	Epoch, Seq    uint64
	Head          [32]byte // hash of the last numbered event
	Beat          uint64   // time of the last heartbeat
}

// Cursor says up to where a source's line is held without a hole.
type Cursor struct {
	Group, Source [32]byte
	Epoch, Seq    uint64
}

// Peer is another node and where it was reached.
type Peer struct {
	ID    string
	Addrs []string
	Seen  time.Time
}

// Batch is what Apply writes in one transaction. Feed is written first, so the
// first items of a feed can come with it.
type Batch struct {
	Items     []Item
	Envelopes []Envelope
	Cursors   []Cursor
	Feed      *Feed
	Line      *Line
}
