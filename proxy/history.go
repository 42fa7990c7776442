package proxy

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// A feed's history is served as archived documents (RFC 5005 §4), from which a
// reader that was away for long gets what the current document no longer shows.
//
// A page holds the versions of items that arrived between two numbers of arrival,
// and is named by the second. Where pages end is decided once, when there are
// enough for one, and kept: what a page holds never changes, but that what the
// store lets go is no longer in it. A version that comes later is on a later page.

const (
	// pageItems is how many versions a page holds. What came since the last page is
	// fewer, and the current document holds at least so many items beyond the
	// origin's: together with all pages it leaves nothing out.
	pageItems = 100

	// pageMark is the parameter that asks for a page. A feed's address may well have
	// a parameter "page" of its own; one that were really called this can be asked
	// for with its colon encoded.
	pageMark = "ft:page="

	pageAge = "private, max-age=86400"
)

// cutPage takes the page off what names a feed: the last parameter, if it is ours.
func cutPage(rest string) (addr string, page int64, paged bool) {
	at := strings.LastIndexAny(rest, "?&")
	if at < 0 || !strings.HasPrefix(rest[at+1:], pageMark) {
		return rest, 0, false
	}
	page, err := strconv.ParseInt(rest[at+1+len(pageMark):], 10, 64)
	return rest[:at], page, err == nil && page > 0
}

// pageURL is where a page of a document is, "" for no page.
func pageURL(self string, page int64) string {
	if page == 0 {
		return ""
	}
	mark := "?"
	if strings.Contains(self, "?") {
		mark = "&"
	}
	return self + mark + pageMark + strconv.FormatInt(page, 10)
}

// volumes are where the pages of one feed's history end.
type volumes struct {
	mu     sync.Mutex
	loaded bool
	ends   []int64 // in order of arrival
}

func volumesSetting(url string) string { return "history/" + url }

// known returns where the feed's pages end, up to date.
func (g *volumes) known(ctx context.Context, s store.Store, url string) ([]int64, error) {
	h, ok := s.(store.Historian)
	if !ok {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.loaded {
		if err := g.load(ctx, s, h, url); err != nil {
			return nil, err
		}
	}
	had := len(g.ends)
	for {
		after := int64(0)
		if len(g.ends) > 0 {
			after = g.ends[len(g.ends)-1]
		}
		next, err := h.Versions(ctx, url, after, math.MaxInt64, pageItems)
		if err != nil {
			return nil, err
		}
		if len(next) < pageItems {
			break
		}
		g.ends = append(g.ends, next[len(next)-1].Seen)
	}
	if len(g.ends) > had {
		doc, err := json.Marshal(g.ends)
		if err == nil {
			err = s.PutSetting(ctx, volumesSetting(url), doc)
		}
		if err != nil {
			g.ends = g.ends[:had] // or another process would draw the line elsewhere
			return nil, err
		}
	}
	return slices.Clone(g.ends), nil
}

// load reads what was decided before. First pages of which nothing is left are
// forgotten.
func (g *volumes) load(ctx context.Context, s store.Store, h store.Historian, url string) error {
	doc, ok, err := s.Setting(ctx, volumesSetting(url))
	if err != nil {
		return err
	}
	if ok && json.Unmarshal(doc, &g.ends) != nil || !slices.IsSorted(g.ends) {
		g.ends = nil
	}
	for len(g.ends) > 0 {
		left, err := h.Versions(ctx, url, 0, g.ends[0], 1)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			break
		}
		g.ends = g.ends[1:]
	}
	g.loaded = true
	return nil
}

// before returns the page before what the current document shows, or 0.
func (p *Proxy) before(ctx context.Context, b *book) int64 {
	ends, err := b.volumes.known(ctx, p.config.Store, b.sub.URL())
	if err != nil {
		p.config.Log.Warn("the history of a feed cannot be told", "feed", feed.Redacted(b.sub.URL()), "error", err)
	}
	if len(ends) == 0 {
		return 0
	}
	return ends[len(ends)-1]
}

// history answers with a page of a feed that is followed here.
func (p *Proxy) history(w http.ResponseWriter, r *http.Request, addr string, format feed.Format, page int64) {
	if !p.follows(addr) {
		refuse(w, http.StatusNotFound, "The feed "+clip(addr)+" is not followed here, so there is no history of it.")
		return
	}
	b, err := p.shelf.take(r.Context(), addr)
	if err != nil {
		p.noFeed(w, addr, err)
		return
	}
	doc, err := p.volume(r.Context(), b, format, page)
	switch {
	case err != nil:
		p.noFeed(w, addr, err)
	case doc == nil:
		refuse(w, http.StatusNotFound, "There is no such page of the history of "+clip(addr)+", or nothing of it is left.\nIts pages begin at "+
			p.place(format, b.sub.URL()).self)
	default:
		w.Header().Set("Cache-Control", pageAge)
		send(w, r, doc)
	}
}

// volume makes a page of the history, nil if there is none such.
func (p *Proxy) volume(ctx context.Context, b *book, format feed.Format, page int64) (*copied, error) {
	ends, err := b.volumes.known(ctx, p.config.Store, b.sub.URL())
	at, found := slices.BinarySearch(ends, page)
	if err != nil || !found {
		return nil, err
	}
	paging := &feed.Paging{Archive: true}
	here := p.place(format, b.sub.URL())
	paging.Current = here.self
	after := int64(0)
	if at > 0 {
		after, paging.Prev = ends[at-1], pageURL(here.self, ends[at-1])
	}
	if at+1 < len(ends) {
		paging.Next = pageURL(here.self, ends[at+1])
	}
	versions, err := p.config.Store.(store.Historian).Versions(ctx, b.sub.URL(), after, page, -1)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	channel, state, err := b.sub.Document(ctx)
	if err != nil {
		return nil, err
	}
	items, newest := volumeItems(versions, p.source)
	here.self, here.paging = pageURL(here.self, page), paging
	state.Trust, state.Doubt = nil, nil
	doc, err := newCopy(channel.Only(items), state, format, here, false, newest)
	if err == nil && doc != nil {
		doc.changed = newest.Truncate(time.Second)
	}
	return doc, err
}

// volumeItems reads the items of a page, the last arrived first. Of an item that changed
// within a page the last version is shown. Why an item is believed is not said here: that
// changes, and a page that readers keep must not (RFC 5005 §4).
func volumeItems(versions []store.Item, knows teller) (items []feed.Item, newest time.Time) {
	shown := map[string]bool{}
	for _, v := range slices.Backward(versions) {
		if shown[v.Key] || knows.Believed(v).TakenBack {
			continue
		}
		doc, err := feed.Parse(v.Doc, v.ContentType)
		if err != nil || len(doc.Items) == 0 {
			continue
		}
		items = append(items, doc.Items[0])
		shown[v.Key] = true
		if v.Received.After(newest) {
			newest = v.Received
		}
	}
	return items, newest
}

// paging is the current document's place in the history, nil if there is none yet.
func (p *Proxy) paging(ctx context.Context, b *book, self string) *feed.Paging {
	last := p.before(ctx, b)
	if last == 0 {
		return nil
	}
	return &feed.Paging{Prev: pageURL(self, last)}
}
