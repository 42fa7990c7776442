package proxy

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

const (
	newsKept   = 40                     // the newest of all feeds
	newsWithin = 25 * time.Millisecond  // a page waits so long for many feeds to be read,
	fewWithin  = 500 * time.Millisecond // and so long
	fewFeeds   = 100                    // for at most so many
)

// news is an item on a page, and in the API.
type news struct {
	Feed      string    `json:"feed"`
	FeedTitle string    `json:"feed_title"`
	Key       string    `json:"key"` // tells the feed's items apart
	Title     string    `json:"title"`
	Link      string    `json:"link"`
	Trust     string    `json:"trust"`
	Date      time.Time `json:"date"` // when it was published, or came if that is not known
	Received  time.Time `json:"received"`

	seen int64
	mark mark
}

// Mark is why the item is believed.
func (n news) Mark() mark { return n.mark }

// newest keeps the newest items of all feeds, so that a page reads only the feeds
// that have changed. It reads the store rather than documents: asking for a
// document counts as reading the feed.
type newest struct {
	store    store.Store // nil: there are no items
	complain func(feed string, err error)
	arrived  func([]news) // hears of items that came since their feed was looked at first

	mu    sync.Mutex
	known map[string]looked // by feed
	items []store.Item      // the newest first, without documents
	shown map[int64]news    // what they say, by Seen
	busy  chan struct{}     // closed when the store was read; nil: nobody reads it
}

// looked is how far a feed was read.
type looked struct {
	version uint64
	title   string
	seen    int64
}

// look returns the newest items of the feeds that are followed. If there are many
// to be read first it does not wait for all, and says so.
func (n *newest) look(feeds []feedtree.FeedStatus) (list []news, reading bool) {
	if n.store == nil {
		return nil, false
	}
	within := fewWithin
	if len(feeds) > fewFeeds {
		within = newsWithin
	}
	patience := time.NewTimer(within)
	defer patience.Stop()
	for range 2 { // what another look has begun to read may be older than this one's feeds
		if done := n.begin(feeds); done != nil {
			select {
			case <-done:
			case <-patience.C:
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, it := range n.items {
		if what, ok := n.shown[it.Seen]; ok {
			what.FeedTitle = n.known[it.Feed].title
			list = append(list, what)
		}
	}
	return list, n.busy != nil
}

// begin has what changed read, if anything did. The channel returned is closed when
// that is done.
func (n *newest) begin(feeds []feedtree.FeedStatus) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy != nil {
		return n.busy
	}
	left := len(n.known)
	var changed []feedtree.FeedStatus
	for _, f := range feeds {
		k, ok := n.known[f.URL]
		if ok {
			left--
		}
		if !ok || k.version != f.Version || k.title != nameOf(f) {
			changed = append(changed, f)
		}
	}
	if left > 0 { // a feed was left: older items of the others take the place of its own
		n.known, n.items, n.shown = nil, nil, nil
		changed = feeds
	}
	if len(changed) == 0 {
		return nil
	}
	n.busy = make(chan struct{})
	go n.read(changed)
	return n.busy
}

func (n *newest) read(feeds []feedtree.FeedStatus) {
	var fresh []news
	for _, f := range feeds {
		items, err := n.store.Items(context.Background(), f.URL, newsKept)
		if err != nil {
			n.complain(f.URL, err)
			continue
		}
		fresh = append(fresh, n.merge(f, items)...)
	}
	n.mu.Lock()
	close(n.busy)
	n.busy = nil
	n.mu.Unlock()
	if len(fresh) > 0 && n.arrived != nil {
		n.arrived(fresh)
	}
}

// merge puts a feed's items in place of those known of it, and returns those that
// arrived since.
func (n *newest) merge(f feedtree.FeedStatus, items []store.Item) (fresh []news) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, known := n.known[f.URL]
	now := looked{f.Version, nameOf(f), before.seen}
	all := slices.DeleteFunc(slices.Clone(n.items), func(it store.Item) bool { return it.Feed == f.URL })
	for _, it := range items {
		now.seen = max(now.seen, it.Seen)
	}
	all = append(all, items...)
	slices.SortStableFunc(all, newestFirst)
	all = all[:min(len(all), newsKept)]
	shown := make(map[int64]news, len(all))
	for i, it := range all {
		if have, ok := n.shown[it.Seen]; ok && it.Feed != f.URL {
			shown[it.Seen] = have
		} else if what, ok := newsOf(it); ok {
			shown[it.Seen] = what
			if known && it.Seen > before.seen {
				what.FeedTitle = now.title
				fresh = append(fresh, what)
			}
		}
		all[i].Doc = nil
	}
	if n.known == nil {
		n.known = map[string]looked{}
	}
	n.known[f.URL], n.items, n.shown = now, all, shown
	return fresh
}

// newsOf reads a stored item.
func newsOf(it store.Item) (news, bool) {
	doc, err := feed.Parse(it.Doc, it.ContentType)
	if err != nil || len(doc.Items) == 0 {
		return news{}, false
	}
	return newsFrom(it, doc.Items[0]), true
}

func newsFrom(it store.Item, says feed.Item) news {
	return news{
		Feed: it.Feed, Key: it.Key, Title: cmp.Or(strings.TrimSpace(says.Title), "(no title)"), Link: webLink(says.Link),
		Trust: it.Trust.String(), Date: dateOf(it), Received: it.Received, seen: it.Seen, mark: markOf(it.Trust),
	}
}

// webLink lets a link pass that leads to the web.
func webLink(link string) string {
	if low := strings.ToLower(link); strings.HasPrefix(low, "https://") || strings.HasPrefix(low, "http://") {
		return link
	}
	return ""
}

func newestFirst(a, b store.Item) int {
	return cmp.Or(dateOf(b).Compare(dateOf(a)), cmp.Compare(b.Seen, a.Seen))
}

// dateOf is when an item was published. One without a date is as old as its
// arrival, and so is one from the future: it must not stay on top for ever.
func dateOf(it store.Item) time.Time {
	if it.Published.IsZero() || it.Published.After(it.Received) {
		return it.Received
	}
	return it.Published
}
