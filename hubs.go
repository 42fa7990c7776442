package feedtree

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
)

// mostHubs bounds how many hubs of a feed are looked at.
const mostHubs = 4

// Hub is where a feed's origin says that its news can be had by WebSub. It is the
// word of the origin, or of whoever wrote the document.
type Hub struct {
	Feed  string   // canonical URL of the feed as it is followed here
	Topic string   // the URL by which its hubs know it
	URLs  []string // of the hubs, public ones, in the origin's order
}

// Hubs returns the feeds followed here that name hubs, by URL. It leaves out
// local feeds, which nobody is told of, and those that a publisher pushes. Hubs
// in Link headers are known from the first request after the start on, those in
// documents at once.
func (n *Node) Hubs(ctx context.Context) ([]Hub, error) {
	var known []Hub
	var unread []*channel
	if err := n.desk.ask(ctx, func(d *desk) {
		for _, ch := range d.channels {
			switch hub := ch.work.hint.hub; {
			case ch.local() || ch.publishing > 0 || ch.sched.Live(d.now()):
			case hub == nil:
				unread = append(unread, ch)
			case len(hub.URLs) > 0:
				known = append(known, *hub)
			}
		}
	}); err != nil {
		return nil, err
	}
	for _, ch := range unread {
		hub, err := n.storedHub(ctx, ch.url)
		if err != nil {
			return nil, err
		}
		n.desk.post(func(*desk) {
			if ch.work.hint.hub == nil {
				ch.work.hint.hub = hub
			}
		})
		if len(hub.URLs) > 0 {
			known = append(known, *hub)
		}
	}
	slices.SortFunc(known, func(a, b Hub) int { return cmp.Compare(a.Feed, b.Feed) })
	return known, nil
}

// storedHub reads what the document held says of hubs.
func (n *Node) storedHub(ctx context.Context, url string) (*Hub, error) {
	rec, ok, err := n.config.Store.Feed(ctx, url)
	if err != nil {
		return nil, err
	}
	if ok {
		if doc, err := feed.Parse(rec.Doc, rec.ContentType); err == nil {
			return hubOf(url, nil, doc), nil
		}
	}
	return &Hub{Feed: url}, nil
}

// learnHub takes over what an answer of the origin says of hubs.
func (ch *channel) learnHub(r result) {
	if r.outcome == nil || r.outcome.Result == nil {
		return
	}
	if hub := hubOf(ch.url, r.outcome.Result, r.doc); hub != nil {
		ch.work.hint.hub = hub
	}
}

// hubOf reads a feed's hubs out of an answer and its document, either of which
// may be nil. As WebSub §4 has it, the Link headers outrank the document. It
// returns nil if nothing new can be known: an answer without a document and
// without a word of hubs.
func hubOf(feedURL string, answer *fetch.Result, doc *feed.Feed) *Hub {
	hub := &Hub{Feed: feedURL}
	var self []string
	if answer != nil {
		hub.URLs, self = answer.Links("hub"), answer.Links("self")
	}
	if doc != nil {
		if len(hub.URLs) == 0 {
			hub.URLs, self = doc.Hubs, []string{doc.Self}
		}
		self = append(self, doc.Self)
	}
	if doc == nil && len(hub.URLs) == 0 {
		return nil
	}
	hub.URLs = slices.DeleteFunc(slices.Clone(hub.URLs), func(s string) bool { return !speakable(s) })
	hub.URLs = hub.URLs[:min(len(hub.URLs), mostHubs)]
	hub.Topic = feedURL
	if i := slices.IndexFunc(self, speakable); i >= 0 {
		hub.Topic = self[i]
	}
	return hub
}

// speakable reports a URL that strangers may be asked at, or told.
func speakable(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Fragment != "" {
		return false
	}
	canonical, err := feed.Canonical(raw)
	if err != nil {
		return false
	}
	ok, _ := feed.Public(canonical)
	return ok
}
