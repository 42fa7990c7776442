package store

import (
	"bytes"
	"cmp"
	"slices"
	"time"
)

// Limits bounds what a store keeps. A zero field means its default.
type Limits struct {
	Items         int   // items per feed, 20,000: the oldest by Seen go first
	ItemBytes     int64 // bytes of item documents per feed, 256 MiB, all versions counted
	Versions      int   // versions of one item, 16: the oldest that is not current goes first
	Envelopes     int   // events kept per group, 256
	EnvelopeBytes int64 // and their bytes, 8 MiB
	LeasedBytes   int64 // bytes held under leases over all groups, 64 MiB: the lease that ends first goes first
	Sources       int   // sources per group of whom a cursor and a heartbeat are kept, 256: the longest silent go first
	Peers         int   // 1,024: the longest unseen go first
	Addrs         int   // addresses per peer, 16
}

// WithDefaults returns the limits with zero fields filled in.
func (l Limits) WithDefaults() Limits {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	set(&l.Items, 20_000)
	set(&l.Versions, 16)
	set(&l.Envelopes, 256)
	set(&l.Sources, 256)
	set(&l.Peers, 1024)
	set(&l.Addrs, 16)
	if l.ItemBytes == 0 {
		l.ItemBytes = 256 << 20
	}
	if l.EnvelopeBytes == 0 {
		l.EnvelopeBytes = 8 << 20
	}
	if l.LeasedBytes == 0 {
		l.LeasedBytes = 64 << 20
	}
	return l
}

// Share is one source's part of a group's envelopes.
type Share struct {
	Source [32]byte
	Count  int
	Bytes  int64
}

// Fullest returns the source that has to give up an envelope, or false if the
// group is within its limits. It is the one with the largest share, so that a
// source that floods a group displaces itself and not the publisher. Its
// first envelope in its line goes.
func (l Limits) Fullest(shares []Share) (source [32]byte, over bool) {
	var count int
	var held int64
	for _, s := range shares {
		count += s.Count
		held += s.Bytes
	}
	if count <= l.Envelopes && held <= l.EnvelopeBytes {
		return source, false
	}
	most := slices.MaxFunc(shares, func(a, b Share) int {
		size := cmp.Compare(a.Count, b.Count)
		if held > l.EnvelopeBytes {
			size = cmp.Compare(a.Bytes, b.Bytes)
		}
		return cmp.Or(size, bytes.Compare(a.Source[:], b.Source[:]))
	})
	return most.Source, true
}

// Longer returns the later of two leases; the zero one, without end, is the
// latest.
func Longer(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if a.After(b) {
		return a
	}
	return b
}

// InLine orders events that are in order of arrival so that those of each
// source follow its line. The places a source has in the whole stay its own.
func InLine(events []Envelope) {
	places := make(map[[32]byte][]int)
	for i, e := range events {
		places[e.Source] = append(places[e.Source], i)
	}
	for _, at := range places {
		own := make([]Envelope, len(at))
		for i, p := range at {
			own[i] = events[p]
		}
		slices.SortFunc(own, Envelope.Compare)
		for i, p := range at {
			events[p] = own[i]
		}
	}
}

// Kept returns t as a store keeps it: in UTC, to the millisecond.
func Kept(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }
