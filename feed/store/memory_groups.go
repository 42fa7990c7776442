package store

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
)

// groupRecord is what is kept of one group.
type groupRecord struct {
	events  []Envelope // in order of arrival
	beats   []Envelope // the latest of each source, the last arrived last
	cursors []Cursor   // the last moved last
	lines   map[[32]byte]Line
}

func (m *Memory) group(g [32]byte) *groupRecord {
	r, ok := m.groups[g]
	if !ok {
		r = &groupRecord{lines: make(map[[32]byte]Line)}
		m.groups[g] = r
	}
	return r
}

// tidy forgets a group of which nothing is left.
func (m *Memory) tidy(id [32]byte) {
	if g := m.groups[id]; len(g.events)+len(g.beats)+len(g.cursors)+len(g.lines) == 0 {
		delete(m.groups, id)
	}
}

// endLeases drops leased envelopes until they are within their limit.
func (m *Memory) endLeases() {
	var held int64
	var leased []Envelope
	for _, g := range m.groups {
		for _, e := range slices.Concat(g.events, g.beats) {
			if !e.Until.IsZero() {
				held += int64(len(e.Wire))
				leased = append(leased, e)
			}
		}
	}
	if held <= m.limits.LeasedBytes {
		return
	}
	slices.SortFunc(leased, soonerLease)
	for _, e := range leased {
		if held <= m.limits.LeasedBytes {
			return
		}
		held -= int64(len(e.Wire))
		m.groups[e.Group].drop(func(o Envelope) bool {
			return o.Source == e.Source && o.Compare(e) == 0
		})
		m.tidy(e.Group)
	}
}

// soonerLease orders envelopes by when their lease ends, the first one first,
// and otherwise so that all stores agree.
func soonerLease(a, b Envelope) int {
	return cmp.Or(a.Until.Compare(b.Until), bytes.Compare(a.Group[:], b.Group[:]),
		bytes.Compare(a.Source[:], b.Source[:]), a.Compare(b))
}

func (g *groupRecord) putEnvelope(e Envelope, l Limits) {
	e.Wire = bytes.Clone(e.Wire)
	e.Until = Kept(e.Until)
	if e.Beat != 0 {
		g.putBeat(e, l)
		return
	}
	at := slices.IndexFunc(g.events, func(o Envelope) bool { return o.Source == e.Source && o.Compare(e) == 0 })
	if at >= 0 {
		g.events[at].Until = Longer(g.events[at].Until, e.Until)
		return
	}
	g.events = append(g.events, e)
	for {
		source, over := l.Fullest(g.shares())
		if !over {
			return
		}
		first := -1
		for i, o := range g.events {
			if o.Source == source && (first < 0 || o.Compare(g.events[first]) < 0) {
				first = i
			}
		}
		g.events = slices.Delete(g.events, first, first+1)
	}
}

// putBeat keeps a heartbeat if it is its source's latest.
func (g *groupRecord) putBeat(e Envelope, l Limits) {
	at := slices.IndexFunc(g.beats, func(o Envelope) bool { return o.Source == e.Source })
	if at >= 0 {
		switch c := g.beats[at].Compare(e); {
		case c == 0:
			g.beats[at].Until = Longer(g.beats[at].Until, e.Until)
			return
		case c > 0:
			return
		}
		e.Until = Longer(g.beats[at].Until, e.Until)
		g.beats = slices.Delete(g.beats, at, at+1)
	}
	g.beats = append(g.beats, e)
	if len(g.beats) > l.Sources {
		g.beats = slices.Delete(g.beats, 0, 1)
	}
}

func (g *groupRecord) shares() []Share {
	var shares []Share
	for _, e := range g.events {
		at := slices.IndexFunc(shares, func(s Share) bool { return s.Source == e.Source })
		if at < 0 {
			at = len(shares)
			shares = append(shares, Share{Source: e.Source})
		}
		shares[at].Count++
		shares[at].Bytes += int64(len(e.Wire))
	}
	return shares
}

func (g *groupRecord) putCursor(c Cursor, l Limits) {
	at := slices.IndexFunc(g.cursors, func(o Cursor) bool { return o.Source == c.Source })
	if at >= 0 {
		if !g.cursors[at].Before(c) {
			return
		}
		g.cursors = slices.Delete(g.cursors, at, at+1)
	}
	g.cursors = append(g.cursors, c)
	if len(g.cursors) > l.Sources {
		g.cursors = slices.Delete(g.cursors, 0, 1)
	}
}

func (g *groupRecord) drop(gone func(Envelope) bool) {
	g.events = slices.DeleteFunc(g.events, gone)
	g.beats = slices.DeleteFunc(g.beats, gone)
}

// Envelopes implements Store.
func (m *Memory) Envelopes(ctx context.Context, group [32]byte, limit int) ([]Envelope, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g := m.groups[group]
	if g == nil {
		return nil, nil
	}
	events := g.events
	if limit >= 0 && len(events) > limit {
		events = events[len(events)-limit:]
	}
	events = slices.Clone(events)
	InLine(events)
	return append(events, g.beats...), nil
}

// Cursors implements Store.
func (m *Memory) Cursors(ctx context.Context, group [32]byte) ([]Cursor, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g := m.groups[group]
	if g == nil {
		return nil, nil
	}
	return slices.SortedFunc(slices.Values(g.cursors), func(a, b Cursor) int {
		return bytes.Compare(a.Source[:], b.Source[:])
	}), nil
}

// Lines implements Store.
func (m *Memory) Lines(ctx context.Context, group [32]byte) ([]Line, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g := m.groups[group]
	if g == nil {
		return nil, nil
	}
	return slices.SortedFunc(maps.Values(g.lines), func(a, b Line) int {
		return bytes.Compare(a.Source[:], b.Source[:])
	}), nil
}

// Leased implements Store.
func (m *Memory) Leased(ctx context.Context) ([][32]byte, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var groups [][32]byte
	leased := func(e Envelope) bool { return !e.Until.IsZero() }
	for id, g := range m.groups {
		if slices.ContainsFunc(g.events, leased) || slices.ContainsFunc(g.beats, leased) {
			groups = append(groups, id)
		}
	}
	slices.SortFunc(groups, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	return groups, nil
}
