package feedtree

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// readLeased takes in what came of a feed followed here while this node was not in
// its tree yet: after a start, an event may come for others first. Its envelope is
// held and the tree will not bring it again, but its items were not read.
func (n *Node) readLeased(ctx context.Context, ch *channel) error {
	held, err := n.config.Store.Envelopes(ctx, ch.group, recent)
	if err != nil || !slices.ContainsFunc(held, func(e store.Envelope) bool { return !e.Until.IsZero() }) {
		return err
	}
	var b store.Batch
	if err := n.leased(ctx, ch.ledger.record(), &b); err != nil || len(b.Items) == 0 {
		return err
	}
	added, err := ch.ledger.write(ctx, b, nil)
	if err != nil || len(added) == 0 {
		return err
	}
	n.desk.post(func(*desk) {
		ch.count.items = -1
		ch.wakeSubs()
		ch.refresh(true)
	})
	return nil
}

// leased adds to a batch what this node held for others of a feed that is
// subscribed to now, for the first time or again. To the tree that is old: nobody
// sends it again to a node that has it. A key that is unknown stays unknown: the
// origin's document was fetched just before, or its key was remembered.
func (n *Node) leased(ctx context.Context, rec store.Feed, b *store.Batch) error {
	if rec.Local != "" {
		return nil
	}
	held, err := n.config.Store.Envelopes(ctx, rec.Group, -1)
	switch {
	case err != nil:
		return fmt.Errorf("read what is held for others: %w", err)
	case len(held) == 0:
		return nil
	}
	cursors, err := n.config.Store.Cursors(ctx, rec.Group)
	if err != nil {
		return fmt.Errorf("read where the feed was left: %w", err)
	}
	read := map[[32]byte]store.Cursor{} // how far sources were listened to before
	for _, c := range cursors {
		read[c.Source] = c
	}
	now, s := time.Now(), newStanding(&rec, n.config.Witnesses)
	unbroken := map[[32]byte]store.Cursor{}
	for _, e := range held {
		before, heard := read[e.Source]
		if e.Beat != 0 || heard && (e.Epoch < before.Epoch || e.Epoch == before.Epoch && e.Seq <= before.Seq) {
			continue
		}
		env, err := signing.Open(e.Wire)
		if err != nil {
			continue // it was verified when it came: the tree counts what it cannot use
		}
		if verdict, _ := s.judge(env, now); verdict == multicast.Refuse {
			continue
		}
		if env.Media == signing.Keys {
			continue // the certificate was just asked for at its origin
		}
		items, err := n.intake.items(rec.URL, env, s.policy.Load().trust(env), now)
		if err != nil {
			continue
		}
		b.Items = append(b.Items, items...)
		c, ok := unbroken[e.Source]
		if !ok && heard {
			c, ok = before, true
		}
		if !ok || e.Epoch > c.Epoch && (!heard || e.Seq == 1) || e.Epoch == c.Epoch && e.Seq == c.Seq+1 {
			unbroken[e.Source] = store.Cursor{Group: e.Group, Source: e.Source, Epoch: e.Epoch, Seq: e.Seq}
		}
	}
	for _, c := range unbroken {
		b.Cursors = append(b.Cursors, c)
	}
	return nil
}
