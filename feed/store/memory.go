package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store that lasts as long as the process. It suits tests and
// programs that need nothing after they end.
type Memory struct {
	mu       sync.RWMutex
	limits   Limits
	closed   bool
	seen     int64 // the last Item.Seen given
	feeds    map[string]*feedRecord
	groups   map[[32]byte]*groupRecord
	peers    map[string]Peer
	settings map[string][]byte
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store with the default limits.
func NewMemory() *Memory { return NewMemoryWith(Limits{}) }

// NewMemoryWith returns an empty store with the given limits.
func NewMemoryWith(limits Limits) *Memory {
	return &Memory{
		limits:   limits.WithDefaults(),
		feeds:    make(map[string]*feedRecord),
		groups:   make(map[[32]byte]*groupRecord),
		peers:    make(map[string]Peer),
		settings: make(map[string][]byte),
	}
}

// read holds the store for reading; done releases it.
func (m *Memory) read(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	if m.closed {
		m.mu.RUnlock()
		return nil, ErrClosed
	}
	return m.mu.RUnlock, nil
}

// write holds the store for writing; done releases it.
func (m *Memory) write(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	return m.mu.Unlock, nil
}

// Apply implements Store.
func (m *Memory) Apply(ctx context.Context, b Batch) ([]Item, error) {
	done, err := m.write(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := m.check(b); err != nil {
		return nil, err
	}
	if b.Feed != nil {
		m.putFeed(*b.Feed)
	}
	var added []Item
	for _, item := range b.Items {
		if kept, news := m.putItem(item); news {
			added = append(added, kept)
		}
	}
	for _, e := range b.Envelopes {
		m.group(e.Group).putEnvelope(e, m.limits)
	}
	if slices.ContainsFunc(b.Envelopes, func(e Envelope) bool { return !e.Until.IsZero() }) {
		m.endLeases()
	}
	for _, c := range b.Cursors {
		m.group(c.Group).putCursor(c, m.limits)
	}
	if b.Line != nil {
		m.group(b.Line.Group).lines[b.Line.Source] = *b.Line
	}
	return added, nil
}

// check refuses what Apply must not write, before anything is written.
func (m *Memory) check(b Batch) error {
	if b.Line != nil && m.groups[b.Line.Group] != nil {
		if own, ok := m.groups[b.Line.Group].lines[b.Line.Source]; ok && !own.Allows(*b.Line) {
			return fmt.Errorf("line %x at %d/%d, asked to keep %d/%d: %w",
				own.Source[:8], own.Epoch, own.Seq, b.Line.Epoch, b.Line.Seq, ErrLine)
		}
	}
	for _, item := range b.Items {
		if _, ok := m.feeds[item.Feed]; !ok && (b.Feed == nil || b.Feed.URL != item.Feed) {
			return fmt.Errorf("items of %s: %w", item.Feed, ErrFeed)
		}
	}
	return nil
}

// Peers implements Store.
func (m *Memory) Peers(ctx context.Context, limit int) ([]Peer, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	peers := slices.SortedFunc(maps.Values(m.peers), laterPeer)
	return firstN(peers, limit), nil
}

// PutPeers implements Store.
func (m *Memory) PutPeers(ctx context.Context, peers []Peer) error {
	done, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range peers {
		p.Seen = Kept(p.Seen)
		p.Addrs = slices.Clone(firstN(p.Addrs, m.limits.Addrs))
		if known, ok := m.peers[p.ID]; !ok || !p.Seen.Before(known.Seen) {
			m.peers[p.ID] = p
		}
	}
	for len(m.peers) > m.limits.Peers {
		delete(m.peers, slices.MaxFunc(slices.Collect(maps.Values(m.peers)), laterPeer).ID)
	}
	return nil
}

// laterPeer orders peers by when they were seen, the last one first.
func laterPeer(a, b Peer) int {
	return cmp.Or(b.Seen.Compare(a.Seen), strings.Compare(a.ID, b.ID))
}

// Setting implements Store.
func (m *Memory) Setting(ctx context.Context, name string) ([]byte, bool, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, false, err
	}
	defer done()
	value, ok := m.settings[name]
	return value, ok, nil
}

// PutSetting implements Store.
func (m *Memory) PutSetting(ctx context.Context, name string, value []byte) error {
	done, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer done()
	m.settings[name] = bytes.Clone(value)
	return nil
}

// Expire implements Store.
func (m *Memory) Expire(ctx context.Context, now time.Time) error {
	done, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer done()
	for id, g := range m.groups {
		g.drop(func(e Envelope) bool { return !e.Until.IsZero() && !e.Until.After(now) })
		m.tidy(id)
	}
	return nil
}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// firstN returns up to n leading elements, all of them if n is negative.
func firstN[T any](s []T, n int) []T {
	if n < 0 || n > len(s) {
		return s
	}
	return s[:n]
}
