// Package storetest is the suite that every implementation of store.Store
// passes. [Run] runs all of it; an implementation's test calls it with a
// function that opens an empty store with given limits.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// Open returns an empty store with the given limits. The suite closes it.
type Open func(t *testing.T, limits store.Limits) store.Store

// Run checks an implementation of store.Store.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name   string
		limits store.Limits
		check  func(*suite)
	}{
		{"feed comes back as it was", store.Limits{}, (*suite).feedRoundTrip},
		{"feed without a document keeps the stored one", store.Limits{}, (*suite).feedKeepsDocument},
		{"feeds in order, without documents", store.Limits{}, (*suite).feedList},
		{"dropped feed is gone, own lines and leases stay", store.Limits{}, (*suite).dropFeed},
		{"item comes back as it was", store.Limits{}, (*suite).itemRoundTrip},
		{"items newest first, one per key", store.Limits{}, (*suite).itemOrder},
		{"versions in the order of arrival", store.Limits{}, (*suite).versions},
		{"the same batch again is nothing", store.Limits{}, (*suite).idempotent},
		{"trust rises and never sinks", store.Limits{}, (*suite).trust},
		{"what another key signs as well is that key's", store.Limits{}, (*suite).signedAgain},
		{"an older version is not news", store.Limits{}, (*suite).olderVersion},
		{"which version is current", store.Limits{}, (*suite).weighing},
		{"items of an unknown feed are refused", store.Limits{}, (*suite).unknownFeed},
		{"feeds do not mix", store.Limits{}, (*suite).feedsApart},
		{"cursors move forward only", store.Limits{}, (*suite).cursors},
		{"lines move forward only", store.Limits{}, (*suite).lines},
		{"first envelope at a place stands", store.Limits{}, (*suite).envelopeUnique},
		{"latest heartbeat of each source", store.Limits{}, (*suite).heartbeats},
		{"envelopes in the order of their line", store.Limits{}, (*suite).envelopeOrder},
		{"leases", store.Limits{}, (*suite).leases},
		{"peers", store.Limits{Peers: 3, Addrs: 2}, (*suite).peers},
		{"settings", store.Limits{}, (*suite).settings},
		{"slices given are copied", store.Limits{}, (*suite).copies},
		{"items are bounded", store.Limits{Items: 3}, (*suite).itemLimit},
		{"bytes of items are bounded", store.Limits{ItemBytes: 100}, (*suite).itemByteLimit},
		{"versions are bounded", store.Limits{Versions: 3}, (*suite).versionLimit},
		{"a flood displaces itself", store.Limits{Envelopes: 4}, (*suite).envelopeLimit},
		{"bytes of envelopes are bounded", store.Limits{EnvelopeBytes: 100}, (*suite).envelopeByteLimit},
		{"leased bytes are bounded", store.Limits{LeasedBytes: 100}, (*suite).leaseLimit},
		{"sources are bounded", store.Limits{Sources: 2}, (*suite).sourceLimit},
		{"a cancelled context writes nothing", store.Limits{}, (*suite).cancelled},
		{"a closed store says so", store.Limits{}, (*suite).closed},
		{"readers beside a writer", store.Limits{}, (*suite).concurrent},
		{"does what Memory does", small, (*suite).sameAsMemory},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := open(t, c.limits)
			t.Cleanup(func() { s.Close() })
			c.check(&suite{T: t, Store: s, ctx: t.Context()})
		})
	}
}

// suite is one check in progress: the test and the store under it.
type suite struct {
	*testing.T
	store.Store
	ctx context.Context
}

const feedURL = "https://news.example/feed.xml"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// id returns 32 bytes that begin with b: a hash, a group or a source.
func id(b byte) (a [32]byte) {
	a[0] = b
	return a
}

func feedRecord() *store.Feed { return &store.Feed{URL: feedURL, Group: id('g')} }

func item(key string, version byte) store.Item {
	return store.Item{
		Feed: feedURL, Key: key, Hash: id(version), ContentType: "application/rss+xml",
		Doc: fmt.Appendf(nil, "%s in version %d", key, version), Trust: store.Fetched, Received: start,
	}
}

// says returns an item as a source says it at a place in its line.
func says(trust store.Trust, source byte, seq uint64, i store.Item) store.Item {
	i.Trust, i.Source, i.Epoch, i.Seq = trust, id(source), 1, seq
	i.Doc = fmt.Appendf(nil, "%s, %s by %c at %d", i.Doc, trust, source, seq)
	return i
}

func event(source byte, epoch, seq uint64) store.Envelope {
	return store.Envelope{Group: id('g'), Source: id(source), Epoch: epoch, Seq: seq,
		Wire: fmt.Appendf(nil, "%c/%d/%d", source, epoch, seq)}
}

func heartbeat(source byte, epoch, seq, beat uint64) store.Envelope {
	e := event(source, epoch, seq)
	e.Beat = beat
	e.Wire = fmt.Appendf(e.Wire, "+%d", beat)
	return e
}

func until(e store.Envelope, end time.Time) store.Envelope {
	e.Until = end
	return e
}

// apply writes a batch and returns what was news, as key:version.
func (s *suite) apply(b store.Batch) string {
	s.Helper()
	added, err := s.Apply(s.ctx, b)
	if err != nil {
		s.Fatalf("Apply: %v", err)
	}
	return names(added)
}

// items writes items and returns what was news.
func (s *suite) items(items ...store.Item) string {
	s.Helper()
	return s.apply(store.Batch{Items: items})
}

// current returns the feed's items, newest first, as key:version.
func (s *suite) current() string {
	s.Helper()
	items, err := s.Items(s.ctx, feedURL, -1)
	if err != nil {
		s.Fatalf("Items: %v", err)
	}
	return names(items)
}

// kept returns the group's envelopes as their wire bytes.
func (s *suite) kept(group [32]byte, limit int) string {
	s.Helper()
	envelopes, err := s.Envelopes(s.ctx, group, limit)
	if err != nil {
		s.Fatalf("Envelopes: %v", err)
	}
	wires := make([]string, len(envelopes))
	for i, e := range envelopes {
		wires[i] = string(e.Wire)
	}
	return strings.Join(wires, " ")
}

func names(items []store.Item) string {
	all := make([]string, len(items))
	for i, it := range items {
		all[i] = fmt.Sprintf("%s:%d", it.Key, it.Hash[0])
	}
	return strings.Join(all, " ")
}

func (s *suite) want(what string, got, want any) {
	s.Helper()
	if got != want {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (s *suite) refused(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("got error %v, want one that is %q", err, want)
	}
}
