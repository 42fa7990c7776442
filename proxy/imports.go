package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/opml"
)

const (
	atOnce        = 8      // feeds of a list that are asked for at a time; the node paces them host by host
	mostEntries   = 10_000 // of all lists together
	importSetting = "import"
	saveEvery     = 50 // entries that came to an end
)

// fate is what became of an entry of a list.
type fate string

const (
	waits   fate = "waiting"
	added   fate = "added"
	there   fate = "already there"
	refused fate = "refused"
)

// entry is a feed of a list that was imported.
type entry struct {
	Title  string   `json:"title"`
	URL    string   `json:"url"`            // as it stands in the list; canonical if it is an address
	Feed   string   `json:"feed,omitempty"` // what is followed for it
	Site   string   `json:"site,omitempty"`
	Folder []string `json:"folder,omitempty"`
	Fate   fate     `json:"state"`
	Reason string   `json:"reason,omitempty"` // in a word or two, of what is refused
	Why    string   `json:"why,omitempty"`    // as a sentence; of what waits, for what

	Former bool `json:"former,omitempty"` // of a list before the last one

	host  string
	again time.Time // not before
	busy  bool
}

// key is what tells entries apart: of those without a usable address, the title
// too.
func (e *entry) key() string {
	if e.Fate == refused {
		return e.Title + "\x00" + e.URL
	}
	return e.URL
}

// imports follows the feeds of lists. A few are asked for at a time, each by way
// of the shelf, so that a reader that asks meanwhile waits for the same request;
// hosts that want to be left alone are come back to. What waits is kept in the
// store, and taken up after a restart.
type imports struct {
	proxy   *Proxy
	mu      sync.Mutex
	entries []*entry
	byKey   map[string]*entry
	before  map[string]bool // feeds that were followed when the last list came
	working int
	ended   int  // since it was last saved
	closed  bool // the node is
}

func newImports(p *Proxy) *imports {
	return &imports{proxy: p, byKey: map[string]*entry{}, before: map[string]bool{}}
}

// take adds the feeds of a list. Those that are followed already cost nothing.
func (m *imports) take(l *opml.List) {
	feeds, no := opml.Unwrap(l, m.proxy.base).Feeds()
	followed := map[string]bool{}
	for _, f := range m.proxy.source.Status().Feeds {
		followed[f.URL] = true
	}
	m.mu.Lock()
	if !m.waiting() {
		m.forget()
	}
	m.before = followed
	tooMany := 0
	for _, f := range feeds {
		if len(m.entries) < mostEntries {
			m.enter(f)
		} else {
			tooMany++
		}
	}
	for _, r := range no {
		if len(m.entries) < mostEntries {
			m.add(&entry{Title: r.Title, URL: clip(r.URL), Fate: refused, Reason: r.Reason.String(), Why: r.Error()})
		} else {
			tooMany++
		}
	}
	if tooMany > 0 {
		m.add(&entry{
			Title: fmt.Sprintf("%d more", tooMany), Fate: refused, Reason: "too many",
			Why: fmt.Sprintf("at most %d feeds are taken from lists; add those you read by hand", mostEntries),
		})
	}
	m.kick()
	m.mu.Unlock()
	m.save()
}

// forget drops what was refused, since the list that comes now is another try. Of
// the rest it keeps the titles and folders.
func (m *imports) forget() {
	m.entries = slices.DeleteFunc(m.entries, func(e *entry) bool { return e.Fate == refused })
	m.byKey = map[string]*entry{}
	for _, e := range m.entries {
		e.Former = true
		m.byKey[e.key()] = e
	}
}

func (m *imports) enter(f opml.Feed) {
	addr, err := feed.Embedded(f.URL)
	if err == nil {
		addr, err = feed.Canonical(addr)
	}
	e := &entry{Title: f.Title, URL: addr, Site: f.Site, Folder: f.Folder, Fate: waits}
	switch {
	case err != nil:
		e.URL, e.Fate, e.Reason, e.Why = clip(f.URL), refused, opml.BadURL.String(), err.Error()
	case m.before[addr]:
		e.Fate, e.Feed = there, addr
	}
	m.add(e)
}

// add adds an entry, or brings the one of the same URL up to date.
func (m *imports) add(e *entry) {
	e.host = hostOf(e.URL)
	old := m.byKey[e.key()]
	switch {
	case old == nil:
		m.byKey[e.key()] = e
		m.entries = append(m.entries, e)
	case old.busy:
	case old.Former || e.Fate == refused:
		host, feed := old.host, old.Feed
		*old = *e
		old.host, old.Feed = host, cmp.Or(e.Feed, feed)
	}
}

func (m *imports) waiting() bool {
	return slices.ContainsFunc(m.entries, func(e *entry) bool { return e.Fate == waits })
}

// kick puts somebody to work on what waits. Each host in turn: one that is slow
// must not keep the others waiting.
func (m *imports) kick() {
	if m.closed {
		return
	}
	now, next := m.proxy.now(), time.Time{}
	under := map[string]int{}
	for _, e := range m.entries {
		if e.busy {
			under[e.host]++
		}
	}
	for m.working < atOnce {
		var best *entry
		for _, e := range m.entries {
			switch {
			case e.Fate != waits || e.busy:
			case e.again.After(now):
				if next.IsZero() || e.again.Before(next) {
					next = e.again
				}
			case best == nil || under[e.host] < under[best.host]:
				best = e
			}
		}
		if best == nil {
			break
		}
		best.busy = true
		under[best.host]++
		m.working++
		go m.follow(best)
	}
	if m.working == 0 && !next.IsZero() {
		time.AfterFunc(next.Sub(now), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.kick()
		})
	}
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// follow follows one feed.
func (m *imports) follow(e *entry) {
	b, err := m.proxy.shelf.take(context.Background(), e.URL) // it bounds the wait itself
	m.mu.Lock()
	m.working--
	e.busy = false
	m.end(e, b, err)
	m.kick()
	save := m.ended >= saveEvery || m.ended > 0 && !m.waiting()
	if save {
		m.ended = 0
	}
	m.mu.Unlock()
	if save {
		m.save()
	}
}

// end notes what became of an entry.
func (m *imports) end(e *entry, b *book, err error) {
	var failed *fetch.Error
	switch {
	case errors.Is(err, feedtree.ErrClosed):
		m.closed = true
		return
	case errors.As(err, &failed) && failed.Reason == fetch.Paused:
		e.again, e.Why = b.again, printable(failed.Error())
		return
	case err != nil:
		e.Fate, e.Reason, e.Why = refused, reasonOf(err), cause(e.URL, err)
	case m.before[b.sub.URL()]:
		e.Fate, e.Feed, e.Why = there, b.sub.URL(), ""
	default:
		e.Fate, e.Feed, e.Why = added, b.sub.URL(), ""
	}
	m.ended++
}

// reasonOf is why a feed could not be had, in a word or two.
func reasonOf(err error) string {
	var failed *fetch.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fetch.Timeout.String()
	case errors.Is(err, feed.ErrNotFeed), errors.Is(err, feed.ErrEmpty), errors.Is(err, feed.ErrMalformed):
		return "no feed"
	case errors.As(err, &failed):
		return failed.Word()
	}
	return "not followed"
}

// list returns what became of everything.
func (m *imports) list() []entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]entry, len(m.entries))
	for i, e := range m.entries {
		list[i] = *e
	}
	return list
}

// settle waits until nothing is left to do, or ctx ends.
func (m *imports) settle(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		m.mu.Lock()
		done := !m.waiting()
		m.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// save keeps the entries in the store, if there is one.
func (m *imports) save() {
	store := m.proxy.config.Store
	if store == nil {
		return
	}
	doc, err := json.Marshal(m.list())
	if err == nil {
		err = store.PutSetting(context.Background(), importSetting, doc)
	}
	if err != nil {
		m.proxy.config.Log.Warn("cannot remember what was imported", "error", err)
	}
}

// resume takes up what was left to do when the program ended.
func (m *imports) resume(ctx context.Context) {
	store := m.proxy.config.Store
	if store == nil {
		return
	}
	doc, ok, err := store.Setting(ctx, importSetting)
	var entries []*entry
	if err == nil && ok {
		err = json.Unmarshal(doc, &entries)
	}
	if err != nil {
		m.proxy.config.Log.Warn("cannot read what was imported", "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		if e != nil {
			m.add(e)
		}
	}
	m.kick()
}
