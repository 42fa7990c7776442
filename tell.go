package feedtree

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// tell publishes a poll's outcome as a volunteer: what is new, or that there is
// nothing (FeedTree §5). What is published is stored with it.
//
// Whoever begins to poll, takes over or fetched something without telling tells
// all of the document that the tree does not know: an item that only the last
// volunteer saw, or only a newcomer's first fetch, must not be lost.
func (n *Node) tell(ctx context.Context, ch *channel, p *poll) error {
	f, items := p.doc, p.fresh
	if p.job.thorough {
		var err error
		if f, items, err = n.untold(ctx, ch, p); err != nil {
			return err
		}
	}
	parts, tooLarge, err := n.codec.encode(f, items)
	if err != nil {
		return err
	}
	if len(tooLarge) > 0 {
		n.config.Log.Warn("items too large to be pushed stay with those who poll", "feed", ch.url, "items", len(tooLarge))
	}
	if len(parts) == 0 {
		parts = []part{{}} // no news
	}
	beat, said, err := ch.standing.bench.testify(parts, p.testimony)
	if err != nil {
		return err
	}
	parts[0].items = append(parts[0].items, tooLarge...)
	a := n.author(n.id, ch.group)
	for i, part := range parts {
		s := &statement{
			role: signing.Volunteer, payload: part.payload, media: part.media, seen: beat, change: p.change, ledger: ch.ledger,
		}
		if s.told, err = records(ch.url, f, part.items, store.Fetched, p.now); err != nil {
			return err
		}
		if i == len(parts)-1 { // last, so that what is told is stored as told
			if s.batch.Items, err = p.seen(ch.url); err != nil {
				return err
			}
		}
		_, err := a.say(ctx, s)
		p.added += len(s.added)
		if err != nil {
			return err
		}
	}
	if said != nil {
		ch.standing.bench.heeds(said, statementOf(said).Items)
	}
	return nil
}

// ask tells that this node asks the origin next, or has asked it in vain: a
// heartbeat that promises another word. An outcome promises nothing: the next one is
// somebody else's.
func (n *Node) ask(ctx context.Context, ch *channel) error {
	s := &statement{role: signing.Volunteer, ttl: max(ch.ledger.record().Interval, time.Second), ledger: ch.ledger}
	_, err := n.author(n.id, ch.group).say(ctx, s)
	return err
}

// asks reports whether a volunteer's word is that of ask.
func asks(env *signing.Envelope) bool {
	return env.Role == signing.Volunteer && env.Kind == signing.Heartbeat && env.TTL > 0
}

// untold returns the items of the origin's document that no event known here
// carried.
func (n *Node) untold(ctx context.Context, ch *channel, p *poll) (*feed.Feed, []feed.Item, error) {
	f := p.doc
	if f == nil {
		rec, ok, err := n.config.Store.Feed(ctx, ch.url)
		if err != nil || !ok || len(rec.Doc) == 0 {
			return nil, nil, err
		}
		if f, err = feed.Parse(rec.Doc, rec.ContentType); err != nil {
			return nil, nil, fmt.Errorf("the stored document: %w", err)
		}
	}
	held, err := n.config.Store.Envelopes(ctx, ch.group, -1)
	if err != nil {
		return nil, nil, err
	}
	told := map[string][32]byte{}
	for _, e := range held {
		env, err := signing.Open(e.Wire)
		if err != nil || env.Kind != signing.Event {
			continue
		}
		if doc, err := n.codec.decode(env); err == nil {
			for _, it := range doc.Items {
				told[it.Key()] = it.Hash()
			}
		}
	}
	return f, feed.Diff(func(key string) ([32]byte, bool) { h, ok := told[key]; return h, ok }, f), nil
}
