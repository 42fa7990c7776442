package proxy

import (
	"cmp"
	"context"
	"maps"
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
	newsWithin = 10 * time.Millisecond  // a page waits so long for many feeds to be read,
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
	Doubt     string    `json:"doubt"` // "disputed" or "contradicted" by other volunteers
	Date      time.Time `json:"date"`  // when it was published, or came if that is not known
	Received  time.Time `json:"received"`

	Ways []feedtree.Way `json:"ways"` // in which it came, oldest first
	mark mark
}

// Mark is why the item is believed.
func (n news) Mark() mark { return n.mark }

// newest keeps the newest items of all feeds, so that a page reads only the feeds
// that have changed. It reads the store rather than documents: asking for a
// document counts as reading the feed.
type newest struct {
	store    store.Store // nil: there are no items
	knows    teller
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
	for patient := true; patient; { // what another look has begun to read may be older than this one's feeds
		done := n.begin(feeds)
		if done == nil {
			break
		}
		select {
		case <-done:
		case <-patience.C:
			patient = false
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, it := range n.items {
		if what, ok := n.shown[it.Seen]; ok {
			what.FeedTitle, what.Ways = n.known[it.Feed].title, waysOf(n.knows, it)
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

// read reads feeds from the store. Nobody else changes what is known meanwhile.
func (n *newest) read(feeds []feedtree.FeedStatus) {
	n.mu.Lock()
	found := gathering{knows: n.knows, known: maps.Clone(n.known), items: slices.Clone(n.items)}
	shown := n.shown
	n.mu.Unlock()
	most := newsKept
	if len(feeds) > fewFeeds {
		most = newsShown
	}
	for _, f := range feeds {
		items, err := n.store.Items(context.Background(), f.URL, most)
		if err != nil {
			n.complain(f.URL, err)
			items = nil // until it changes again
		}
		found.add(f, items)
	}
	says := found.says(shown)
	n.mu.Lock()
	n.known, n.items, n.shown = found.known, found.items, says
	close(n.busy)
	n.busy = nil
	n.mu.Unlock()
	if fresh := found.news(); len(fresh) > 0 {
		n.arrived(fresh)
	}
}

// gathering is what a reading has found so far.
type gathering struct {
	knows teller
	known map[string]looked
	items []store.Item // the newest of all; those just read with documents
	fresh []store.Item // what came since its feed was looked at last
}

// add puts a feed's items in place of those known of it.
func (g *gathering) add(f feedtree.FeedStatus, items []store.Item) {
	before, known := g.known[f.URL]
	now := looked{f.Version, nameOf(f), before.seen}
	g.items = slices.DeleteFunc(g.items, func(it store.Item) bool { return it.Feed == f.URL })
	for _, it := range items {
		if known && it.Seen > before.seen {
			g.fresh = append(g.fresh, it)
		}
		now.seen = max(now.seen, it.Seen)
	}
	items = slices.DeleteFunc(items, func(it store.Item) bool { return g.knows.Believed(it).TakenBack })
	g.items = append(g.items, items...)
	slices.SortStableFunc(g.items, newestFirst)
	clear(g.items[min(len(g.items), newsKept):]) // they hold documents
	g.items = g.items[:min(len(g.items), newsKept)]
	if g.known == nil {
		g.known = map[string]looked{}
	}
	g.known[f.URL] = now
}

// says reads the items that are to be shown, unless they were read before.
func (g *gathering) says(before map[int64]news) map[int64]news {
	shown := make(map[int64]news, len(g.items))
	for i, it := range g.items {
		what, ok := before[it.Seen]
		if len(it.Doc) > 0 {
			what, ok = newsOf(g.knows, it)
			g.items[i].Doc = nil
		}
		if ok {
			shown[it.Seen] = what
		}
	}
	return shown
}

func (g *gathering) news() []news {
	var fresh []news
	for _, it := range g.fresh {
		if what, ok := newsOf(g.knows, it); ok {
			what.FeedTitle = g.known[it.Feed].title
			fresh = append(fresh, what)
		}
	}
	return fresh
}

// newsOf reads a stored item, unless its publisher took it back.
func newsOf(k teller, it store.Item) (news, bool) {
	if k.Believed(it).TakenBack {
		return news{}, false
	}
	doc, err := feed.Parse(it.Doc, it.ContentType)
	if err != nil || len(doc.Items) == 0 {
		return news{}, false
	}
	return newsFrom(k, it, doc.Items[0]), true
}

func newsFrom(k teller, it store.Item, says feed.Item) news {
	m, trust, doubt := belief(k.Believed(it))
	return news{
		Feed: it.Feed, Key: it.Key, Title: cmp.Or(strings.TrimSpace(says.Title), "(no title)"), Link: webLink(says.Link),
		Trust: trust, Doubt: doubt, Date: dateOf(it), Received: it.Received, Ways: waysOf(k, it), mark: m,
	}
}

// waysOf is how an item came; for programs a list, if an empty one.
func waysOf(k teller, it store.Item) []feedtree.Way { return append([]feedtree.Way{}, k.Came(it)...) }

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
