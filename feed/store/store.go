package store

import (
	"context"
	"errors"
	"time"
)

// What a caller can tell apart. Implementations wrap these with what and where.
var (
	ErrClosed = errors.New("the store is closed")
	ErrFeed   = errors.New("no such feed in the store")
	ErrLine   = errors.New("the line is already further than this: another process may be publishing with the same key")
)

// Store keeps records. It is safe for concurrent use.
type Store interface {
	// Feeds returns all feeds by URL, without their documents.
	Feeds(ctx context.Context) ([]Feed, error)
	// Feed returns one feed with its document, false if there is none.
	Feed(ctx context.Context, url string) (Feed, bool, error)
	// DropFeed forgets a feed, its items, and its group's cursors and
	// envelopes, except those under a lease. The node's own lines stay:
	// publishing again must continue them. An unknown feed is no error.
	DropFeed(ctx context.Context, url string) error

	// Apply writes a batch and returns the items that were new or changed, in
	// the order of the batch, as stored. Items of a feed that is not in the
	// store are refused with ErrFeed, a line that is behind with ErrLine: then
	// nothing of the batch is written.
	Apply(ctx context.Context, b Batch) (added []Item, err error)

	// Items returns up to limit current items of a feed, the newest by Seen
	// first; all of them if limit is negative.
	Items(ctx context.Context, feedURL string, limit int) ([]Item, error)
	// Known returns the hash of each item's current version by key.
	Known(ctx context.Context, feedURL string) (map[string][32]byte, error)
	// Count returns how many items a feed has.
	Count(ctx context.Context, feedURL string) (int, error)

	// Envelopes returns the limit events of a group that arrived last, then
	// the latest heartbeat of each source. Events are in order of arrival,
	// but those of one source always in the order of its line. A negative
	// limit means all.
	Envelopes(ctx context.Context, group [32]byte, limit int) ([]Envelope, error)
	// Cursors returns the group's cursors by source.
	Cursors(ctx context.Context, group [32]byte) ([]Cursor, error)
	// Lines returns the node's own lines in a group by source.
	Lines(ctx context.Context, group [32]byte) ([]Line, error)
	// Leased returns the groups that have envelopes under a lease.
	Leased(ctx context.Context) ([][32]byte, error)
	// Expire drops the envelopes whose lease ended at now or before.
	Expire(ctx context.Context, now time.Time) error

	// Peers returns up to limit peers, the last seen first; all of them if
	// limit is negative.
	Peers(ctx context.Context, limit int) ([]Peer, error)
	// PutPeers remembers peers, each under its ID. A peer seen earlier than
	// the one stored is ignored.
	PutPeers(ctx context.Context, peers []Peer) error

	// Setting returns a value that was put under name.
	Setting(ctx context.Context, name string) ([]byte, bool, error)
	// PutSetting keeps a value under name.
	PutSetting(ctx context.Context, name string, value []byte) error

	// Close ends the use of the store. Every later call returns ErrClosed,
	// except Close.
	Close() error
}
