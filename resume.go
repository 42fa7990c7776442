package feedtree

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// resume takes up the feeds and the leases that the store holds. No origin is
// asked: the tree is heard first, and the schedule knows when the last poll was.
// The desk does not run yet.
func (n *Node) resume(ctx context.Context) error {
	feeds, err := n.config.Store.Feeds(ctx)
	if err != nil {
		return fmt.Errorf("read the feeds followed: %w", err)
	}
	d := n.desk
	d.loadHosts(ctx)
	if err := n.liars.load(ctx, n.config.Store, time.Now()); err != nil {
		n.complain(ctx, "cannot read which volunteers lied", "", err)
	}
	if err := n.places.load(ctx, n.config.Store); err != nil {
		n.complain(ctx, "cannot read where volunteers were met", "", err)
	}
	var resumed []*channel
	for _, rec := range feeds {
		if rec.Asked.IsZero() {
			continue // only published from here; its publisher takes it up again
		}
		if ok, why := n.config.Public(rec.URL); !ok {
			rec.Local = why // the rule may have become stricter
		}
		ch := n.newChannel(rec, 0)
		d.add(ch)
		d.recall(ch, rec)
		if rec.Local == "" {
			d.enter(ch)
		}
		ch.refresh(true)
		d.arm(ch)
		resumed = append(resumed, ch)
	}
	d.loadWeek(ctx)
	d.post(func(*desk) {
		n.background(func(ctx context.Context) { n.rejoin(ctx, resumed) })
	})
	return nil
}

// recall tells the schedule what was before the program started.
func (d *desk) recall(ch *channel, rec store.Feed) {
	now, wall := d.now(), time.Now()
	if !rec.Fetched.IsZero() {
		ch.sched.Last(now, wall.Sub(rec.Fetched))
	}
	d.spare(ch, stateOf(rec).Settled(wall), wall)
	if ch.local() {
		ch.sched.SetAlone(now, true)
	}
}

// rejoin joins the trees of resumed feeds and serves leased groups again.
func (n *Node) rejoin(ctx context.Context, channels []*channel) {
	member := map[multicast.Group]bool{}
	for _, ch := range channels {
		if !ch.local() {
			n.join(ctx, ch)
			member[ch.group] = true
		}
	}
	leased, err := n.config.Store.Leased(ctx)
	if err != nil {
		n.complain(ctx, "cannot read what is held for others", "", err)
	}
	for _, g := range leased {
		if member[g] {
			continue
		}
		held, err := n.config.Store.Envelopes(ctx, g, recent)
		if err == nil {
			err = n.carrier.Lease(ctx, g, wiresOf(held))
		}
		if err != nil {
			n.complain(ctx, "cannot serve a group again that is held for others", "", err)
		}
	}
	for _, ch := range channels {
		n.reread(ctx, ch)
	}
}

// reread finds in the stored document what is kept nowhere else.
func (n *Node) reread(ctx context.Context, ch *channel) {
	rec, ok, err := n.config.Store.Feed(ctx, ch.url)
	if err != nil || !ok || len(rec.Doc) == 0 {
		return
	}
	doc, err := feed.Parse(rec.Doc, rec.ContentType)
	if err != nil {
		return // Document will say so
	}
	n.introduce(doc)
	n.desk.post(func(d *desk) {
		ch.count.title = doc.Title
		d.obey(ch, doc)
		d.arm(ch)
	})
}
