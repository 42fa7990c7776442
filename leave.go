package feedtree

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
)

// ErrInUse is why a feed is not left: a subscription of it is open, or it is
// published from here.
var ErrInUse = errors.New("somebody is subscribed to")

const (
	keepLeft = 180 * 24 * time.Hour // what a feed brought that was left is kept, from when it was last read
	catchUp  = 5 * time.Second      // who comes back to a feed waits for its origin
)

// Leave stops following a feed that nobody is subscribed to, and keeps what is
// known of it for half a year from when it was last read: its items, its key, how
// far each source was heard, and what its origin wants to be asked with. The next
// Subscribe goes on from there, so that nothing is lost but what neither the tree
// nor the origin has any more. Unsubscribe forgets all of it.
//
// It is for those who follow feeds on behalf of others, who do not say when they
// stop. A feed that a program holds a Subscription of is not left: ErrInUse.
func (n *Node) Leave(ctx context.Context, url string) error {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	canonical = n.followed(ctx, canonical)
	ctx = context.WithoutCancel(ctx)
	n.parting.Lock()
	defer n.parting.Unlock()
	var ch *channel
	inUse := false
	err = n.desk.ask(ctx, func(d *desk) {
		ch = d.channels[canonical]
		if ch == nil {
			return
		}
		if inUse = len(ch.subs) > 0 || ch.publishing > 0; inUse {
			return
		}
		d.due.set(ch, schedule.Never)
		d.leave(ch)
		delete(d.channels, canonical)
	})
	switch {
	case err != nil:
		return err
	case ch == nil:
		return fmt.Errorf("%w %s", ErrUnknown, canonical)
	case inUse:
		return fmt.Errorf("leave: %w %s", ErrInUse, canonical)
	}
	err = ch.ledger.leave(ctx)
	n.watchers.tell()
	return err
}

// left reports the record of a feed that was left, and not only published from
// here.
func left(rec store.Feed) bool { return rec.Asked.IsZero() && !rec.Read.IsZero() }

// takeUp follows a feed again that was left, with what the store has of it. It is
// no error that it was not left.
func (n *Node) takeUp(ctx context.Context, url string) (again bool, err error) {
	n.parting.Lock()
	defer n.parting.Unlock()
	rec, ok, err := n.config.Store.Feed(ctx, url)
	if err != nil || !ok || !left(rec) {
		return false, err
	}
	doc, _ := feed.Parse(rec.Doc, rec.ContentType) // Document says what is wrong with it
	if public, why := n.config.Public(url); !public {
		rec.Local = why // the rule may have become stricter
	}
	now := time.Now()
	asked := func(r *store.Feed) { r.Asked, r.Read, r.Local = now, now, rec.Local }
	ch := n.newChannel(rec, 0)
	if err := n.desk.ask(ctx, func(d *desk) {
		if have := d.channels[url]; have != nil { // published from here
			ch = have
		}
	}); err != nil {
		return false, err
	}
	var batch store.Batch // what passed by here meanwhile, on its way to others
	if err := n.leased(ctx, rec, &batch); err != nil {
		return false, err
	}
	if _, err := ch.ledger.write(ctx, batch, asked); err != nil {
		return false, err
	}
	return true, n.desk.ask(ctx, func(d *desk) {
		rec := ch.ledger.record()
		if d.channels[url] == nil {
			d.add(ch)
			d.recall(ch, rec)
		} else {
			d.paced(ch, rec)
		}
		if doc != nil {
			ch.count.title = doc.Title
			d.obey(ch, doc)
		}
		d.settle(ch, rec)
		ch.refresh(true)
		d.arm(ch)
	})
}

// freshen asks the origin of a feed that was taken up again, and waits a while for
// what it says. Where the origin cannot be asked now, or does not answer, what is
// held must do.
func (n *Node) freshen(ctx context.Context, url string) {
	done := make(chan struct{})
	_ = n.desk.ask(ctx, func(d *desk) { // after Close there is nothing to ask for
		ch := d.channels[url]
		if ch == nil || ch.work.busy || ch.publishing > 0 {
			close(done)
			return
		}
		if ch.work.barred <= d.now() && ch.sched.Earliest() <= d.now() && d.fetching < maxFetches && d.turn(ch) {
			d.fetch(ch, job{done: done})
		} else {
			ch.work.askAt = max(d.now(), ch.sched.Earliest())
			close(done)
		}
		d.arm(ch)
	})
	wait := time.NewTimer(catchUp)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
	case <-n.life.ctx.Done():
	}
}

// forgetLeft drops what was kept of feeds that nobody came back to.
func (n *Node) forgetLeft(ctx context.Context, now time.Time) {
	feeds, err := n.config.Store.Feeds(ctx)
	if err != nil {
		n.complain(ctx, "cannot look for feeds that were left long ago", "", err)
		return
	}
	for _, rec := range feeds {
		if left(rec) && now.Sub(rec.Read) > keepLeft {
			if err := n.forget(ctx, rec.URL); err != nil && !errors.Is(err, ErrUnknown) {
				n.complain(ctx, "cannot forget a feed that was left long ago", rec.URL, err)
			}
		}
	}
}

// forget drops what is kept of a feed that was left.
func (n *Node) forget(ctx context.Context, url string) error {
	n.parting.Lock()
	defer n.parting.Unlock()
	rec, ok, err := n.config.Store.Feed(ctx, url)
	if err != nil {
		return err
	}
	if !ok || !left(rec) {
		return fmt.Errorf("%w %s", ErrUnknown, url)
	}
	return n.config.Store.DropFeed(ctx, url)
}
