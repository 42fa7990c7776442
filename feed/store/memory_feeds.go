package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
)

// feedRecord is a feed with its items.
type feedRecord struct {
	feed  Feed
	items map[string]*history
	order []arrival // of the current versions, the oldest first
	bytes int64     // of all documents of all versions
}

// arrival is an item's place in the order of arrival.
type arrival struct {
	seen int64
	key  string
}

// history is one item: its versions, oldest first, and which one is current.
type history struct {
	versions []Item
	current  int
}

// Feeds implements Store.
func (m *Memory) Feeds(ctx context.Context) ([]Feed, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	feeds := make([]Feed, 0, len(m.feeds))
	for _, r := range m.feeds {
		f := r.feed
		f.Doc = nil
		feeds = append(feeds, f)
	}
	slices.SortFunc(feeds, func(a, b Feed) int { return strings.Compare(a.URL, b.URL) })
	return feeds, nil
}

// Feed implements Store.
func (m *Memory) Feed(ctx context.Context, url string) (Feed, bool, error) {
	done, err := m.read(ctx)
	if err != nil {
		return Feed{}, false, err
	}
	defer done()
	r, ok := m.feeds[url]
	if !ok {
		return Feed{}, false, nil
	}
	return r.feed, true, nil
}

// DropFeed implements Store.
func (m *Memory) DropFeed(ctx context.Context, url string) error {
	done, err := m.write(ctx)
	if err != nil {
		return err
	}
	defer done()
	r, ok := m.feeds[url]
	if !ok {
		return nil
	}
	delete(m.feeds, url)
	if g := m.groups[r.feed.Group]; g != nil {
		g.drop(func(e Envelope) bool { return e.Until.IsZero() })
		g.cursors = nil
		m.tidy(r.feed.Group)
	}
	return nil
}

func (m *Memory) putFeed(f Feed) {
	f.Asked, f.Read = Kept(f.Asked), Kept(f.Read)
	f.Fetched, f.NotBefore, f.Pin.Since = Kept(f.Fetched), Kept(f.NotBefore), Kept(f.Pin.Since)
	f.Doc, f.Cert, f.Origin = bytes.Clone(f.Doc), bytes.Clone(f.Cert), bytes.Clone(f.Origin)
	r, ok := m.feeds[f.URL]
	if !ok {
		r = &feedRecord{items: make(map[string]*history)}
		m.feeds[f.URL] = r
	}
	if f.Doc == nil {
		f.Doc = r.feed.Doc
	}
	r.feed = f
}

// putItem keeps an item as Weigh says, and returns it as stored and whether it
// is news.
func (m *Memory) putItem(in Item) (Item, bool) {
	r := m.feeds[in.Feed]
	h := r.items[in.Key]
	var current, same *Item
	at := -1
	if h != nil {
		current = &h.versions[h.current]
		if at = slices.IndexFunc(h.versions, func(v Item) bool { return v.Hash == in.Hash }); at >= 0 {
			same = &h.versions[at]
		}
	} else {
		h = &history{}
	}
	verdict := Weigh(current, same, in)
	in.Doc = bytes.Clone(in.Doc)
	in.Published, in.Received = Kept(in.Published), Kept(in.Received)
	switch {
	case verdict.Insert:
		m.seen++
		in.Seen = m.seen
		r.items[in.Key] = h
		r.bytes += int64(len(in.Doc))
		at = len(h.versions)
		h.versions = append(h.versions, in)
	case verdict.Renew:
		in.Seen, in.Received = same.Seen, same.Received
		r.bytes += int64(len(in.Doc) - len(same.Doc))
		*same = in
	}
	if verdict.Current {
		if current != nil {
			r.unlist(h.versions[h.current].Seen)
		}
		h.current = at
		r.list(arrival{seen: h.versions[at].Seen, key: in.Key})
	}
	r.prune(in.Key, m.limits)
	return in, verdict.Added
}

// prune keeps a feed within its limits after the item under key changed.
func (r *feedRecord) prune(key string, l Limits) {
	if h := r.items[key]; h != nil && len(h.versions) > l.Versions {
		oldest := 0
		if h.current == 0 {
			oldest = 1
		}
		r.bytes -= int64(len(h.versions[oldest].Doc))
		h.versions = slices.Delete(h.versions, oldest, oldest+1)
		if h.current > oldest {
			h.current--
		}
	}
	for len(r.order) > 1 && (len(r.order) > l.Items || r.bytes > l.ItemBytes) {
		oldest := r.order[0].key
		for _, v := range r.items[oldest].versions {
			r.bytes -= int64(len(v.Doc))
		}
		delete(r.items, oldest)
		r.order = r.order[1:]
	}
}

// list enters a current version in the order of arrival, unlist takes it out.
func (r *feedRecord) list(a arrival) {
	at, _ := r.place(a.seen)
	r.order = slices.Insert(r.order, at, a)
}

func (r *feedRecord) unlist(seen int64) {
	if at, ok := r.place(seen); ok {
		r.order = slices.Delete(r.order, at, at+1)
	}
}

func (r *feedRecord) place(seen int64) (int, bool) {
	return slices.BinarySearchFunc(r.order, seen, func(a arrival, seen int64) int { return cmp.Compare(a.seen, seen) })
}

// Items implements Store.
func (m *Memory) Items(ctx context.Context, feedURL string, limit int) ([]Item, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r, ok := m.feeds[feedURL]
	if !ok {
		return nil, nil
	}
	n := len(r.order)
	if limit >= 0 {
		n = min(n, limit)
	}
	items := make([]Item, 0, n)
	for _, a := range slices.Backward(r.order[len(r.order)-n:]) {
		h := r.items[a.key]
		items = append(items, h.versions[h.current])
	}
	return items, nil
}

// Versions implements Historian.
func (m *Memory) Versions(ctx context.Context, feedURL string, after, upTo int64, limit int) ([]Item, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var found []Item
	if r, ok := m.feeds[feedURL]; ok {
		for _, h := range r.items {
			for _, v := range h.versions {
				if after < v.Seen && v.Seen <= upTo {
					found = append(found, v)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Item) int { return cmp.Compare(a.Seen, b.Seen) })
	if limit >= 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, nil
}

// Known implements Store.
func (m *Memory) Known(ctx context.Context, feedURL string) (map[string][32]byte, error) {
	done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	known := make(map[string][32]byte)
	if r, ok := m.feeds[feedURL]; ok {
		for key, h := range r.items {
			known[key] = h.versions[h.current].Hash
		}
	}
	return known, nil
}

// Count implements Store.
func (m *Memory) Count(ctx context.Context, feedURL string) (int, error) {
	done, err := m.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if r, ok := m.feeds[feedURL]; ok {
		return len(r.items), nil
	}
	return 0, nil
}
