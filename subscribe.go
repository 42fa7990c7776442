package feedtree

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// Subscribe follows the feed of a URL. A feed the store knows is followed from
// where it was left, without asking its origin; another one is fetched once,
// which is when errors are told. If the URL is that of a web page, the first
// feed it announces is followed, or one at a well-known place beside it
// (Subscription.Announced); the site is asked three times at most. Several
// subscriptions of one feed share it.
func (n *Node) Subscribe(ctx context.Context, url string) (*Subscription, error) {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	l := n.follow(ctx, canonical)
	if s, err := n.attach(ctx, l); s != nil || err != nil {
		return s, err
	}
	if s, err := n.comeBack(ctx, l); s != nil || err != nil {
		return s, err
	}
	found, l, err := n.search(ctx, canonical)
	if err != nil {
		return nil, err
	}
	if l.Feed != canonical {
		if err := n.keepLead(ctx, canonical, l); err != nil {
			return nil, fmt.Errorf("subscribe to %s: %w", canonical, err)
		}
		if s, err := n.attach(ctx, l); s != nil || err != nil {
			return s, err
		}
		if s, err := n.comeBack(ctx, l); s != nil || err != nil {
			return s, err
		}
	}
	if err := n.open(ctx, found); err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", found.rec.URL, err)
	}
	s, err := n.attach(ctx, l)
	if s == nil && err == nil {
		err = fmt.Errorf("subscribe to %s: %w", found.rec.URL, ErrUnknown) // unsubscribed at once
	}
	return s, err
}

// comeBack makes a subscription of a feed that was left; nil if it was not.
func (n *Node) comeBack(ctx context.Context, l lead) (*Subscription, error) {
	if again, err := n.takeUp(ctx, l.Feed); !again || err != nil {
		return nil, err
	}
	s, err := n.attach(ctx, l)
	if s != nil {
		n.freshen(ctx, l.Feed)
	}
	return s, err
}

// Unsubscribe leaves a feed and forgets it, as it does with one that was left
// before. Its subscriptions end.
func (n *Node) Unsubscribe(ctx context.Context, url string) error {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	canonical = n.followed(ctx, canonical)
	ctx = context.WithoutCancel(ctx) // half of it would be undone by a restart
	var ch *channel
	err = n.desk.ask(ctx, func(d *desk) {
		if ch = d.channels[canonical]; ch == nil {
			return
		}
		d.due.set(ch, schedule.Never)
		d.leave(ch)
		delete(d.channels, canonical)
		for s := range ch.subs {
			s.end(fmt.Errorf("%s: %w any more", canonical, ErrUnknown))
		}
	})
	switch {
	case err != nil:
		return err
	case ch == nil:
		return n.forget(ctx, canonical)
	}
	err = ch.ledger.drop(ctx)
	n.watchers.tell()
	return err
}

// attach makes a subscription of a feed that is followed already; nil if it is
// not.
func (n *Node) attach(ctx context.Context, l lead) (*Subscription, error) {
	url := l.Feed
	newest, err := n.config.Store.Items(ctx, url, 1)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", url, err)
	}
	s := &Subscription{node: n, url: url, lead: l, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if len(newest) > 0 {
		s.seen = newest[0].Seen
	}
	var ch *channel
	if err := n.desk.ask(ctx, func(d *desk) {
		if ch = d.channels[url]; ch != nil && !ch.ledger.record().Asked.IsZero() {
			ch.subs[s] = struct{}{}
		} else {
			ch = nil
		}
	}); err != nil { // it may be done yet
		n.desk.post(func(d *desk) {
			if ch := d.channels[url]; ch != nil {
				delete(ch.subs, s)
			}
		})
		return nil, err
	}
	if ch == nil {
		return nil, nil
	}
	s.ch = ch
	return s, nil
}

// found is a feed that was fetched for the first time.
type found struct {
	rec      store.Feed
	doc      *feed.Feed
	items    []store.Item
	requests uint64
	bytes    int64 // of the document, as transferred
	hub      *Hub
}

// first asks for a document that is not known here.
func (n *Node) first(ctx context.Context, f fetch.Feed) (*poll, error) {
	if err := n.await(ctx, f); err != nil {
		return nil, err
	}
	p := &poll{}
	out, err := n.http.Poll(ctx, f, p.accept)
	n.desk.post(func(d *desk) { d.answered(f.Hosts(), out) })
	p.now, p.state = time.Now(), out.State
	return p, err
}

// enrol makes the record of a feed from the first answer of its origin.
func (n *Node) enrol(ctx context.Context, url string, p *poll, requests uint64) (*found, error) {
	if moved := p.answer.Moved; moved != "" {
		canonical, err := feed.Canonical(moved)
		if err != nil {
			return nil, fmt.Errorf("subscribe to %s: it moved to %q: %w", url, moved, err)
		}
		url = canonical
	}
	p.state.Move = polite.Move{}
	f := &found{doc: p.doc, requests: requests, bytes: p.answer.BytesWire, hub: hubOf(url, p.answer, p.doc)}
	f.rec = store.Feed{URL: url, Group: multicast.GroupOf(url), Asked: p.now, Read: p.now}
	p.habit.Observe(firstVisit(p.doc, p.now))
	f.requests += n.seeKeys(ctx, &f.rec, p)
	n.changes(p)(&f.rec)
	var err error
	f.items, err = p.seen(url)
	return f, err
}

// open stores a new feed and begins to follow it. One that was only published
// here is followed from now on.
func (n *Node) open(ctx context.Context, f *found) error {
	ch := n.newChannel(f.rec, f.requests)
	if err := n.desk.ask(ctx, func(d *desk) {
		if have := d.channels[f.rec.URL]; have != nil {
			ch = have
		}
	}); err != nil {
		return err
	}
	var batch store.Batch
	if err := n.leased(ctx, f.rec, &batch); err != nil {
		return err
	}
	batch.Items = append(batch.Items, f.items...)
	if _, err := ch.ledger.write(ctx, batch, func(rec *store.Feed) {
		if rec.Pin.How != "" && rec.Pin.How != pinHTTP { // it is published from here
			f.rec.Pin, f.rec.Cert = rec.Pin, rec.Cert
		}
		*rec = f.rec
	}); err != nil {
		return err
	}
	n.cameFrom(f.rec.URL, oldestFirst(f.doc), whyFirst)
	n.introduce(f.doc)
	return n.desk.ask(ctx, func(d *desk) {
		switch have := d.channels[f.rec.URL]; {
		case have == nil:
			d.add(ch)
		case have == ch: // published from here
			ch.count.requests += f.requests
			ch.count.items = -1
			d.paced(ch, f.rec)
			ch.standing.take(&f.rec)
		default: // subscribed to twice at once
			have.count.requests += f.requests
			return
		}
		first := d.moment(ch)
		first.shared = false // nobody can ask it for another
		ch.account.asked(first, f.requests, f.bytes)
		ch.count.title, ch.work.hint.hub = f.doc.Title, f.hub
		d.obey(ch, f.doc)
		if ch.local() {
			ch.sched.Polled(d.now(), true)
		} else {
			ch.sched.Fetched(d.now())
		}
		s := stateOf(f.rec)
		d.spare(ch, s, s.Asked)
		d.settle(ch, f.rec)
		ch.refresh(true)
		d.arm(ch)
	})
}

// add makes a channel known to the desk.
func (d *desk) add(ch *channel) {
	n := d.node
	ch.sched = schedule.New(d.now(), schedule.Config{
		Interval: n.config.Polling.Min,
		Overload: n.config.Polling.Overload,
		Self:     schedule.Source(n.id.Public()),
	}, d.rng)
	d.paced(ch, ch.ledger.record())
	d.quieten(ch)
	ch.account.until = d.now()
	d.channels[ch.url] = ch
}

// paced takes the pace of a feed from its record.
func (d *desk) paced(ch *channel, rec store.Feed) {
	ch.work.habit, ch.work.least = habitOf(rec), d.node.least(stateOf(rec))
	ch.sched.SetInterval(d.now(), d.node.pace(ch.work.habit, ch.work.least), ch.work.least)
}

// introduce meets the nodes that a feed names (FeedTree §4.3: the document is
// how a client bootstraps). They are hints from a stranger: a few, once.
func (n *Node) introduce(f *feed.Feed) {
	if f.Tree == nil {
		return
	}
	addrs := f.Tree.Bootstrap[:min(len(f.Tree.Bootstrap), 4)]
	for _, addr := range addrs {
		n.desk.post(func(d *desk) {
			n.background(func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
				defer cancel()
				if err := n.net.Connect(ctx, addr); err != nil {
					n.config.Log.Debug("a node named by a feed does not answer", "addr", addr, "error", err)
				}
			})
		})
	}
}
