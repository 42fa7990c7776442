package feedtree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const (
	wantHolders = 3
	sendAgain   = 300 * time.Millisecond // while too few hold it; then ever more slowly
	slowest     = 5 * time.Second
	patience    = 30 * time.Second // for holders, if the context has no deadline
)

// Receipt says what was pushed and how far it came.
type Receipt struct {
	Group   multicast.Group // of the feed
	Stamp   multicast.Stamp // of the last event; zero if there was never any
	Items   int             // new items pushed by this call
	Holders int             // other nodes that hold the last event durably
	Wanted  int             // how many were wanted: 3, or all where fewer are known, but one
}

// Publish pushes what is new in doc, the feed at url as its conventional
// document, signed by id. It returns when 3 other nodes, or all where there are
// fewer, hold what was pushed, or with ErrNotHeld when ctx ends before that (30
// seconds if it does not end): then the receipt says how far it came, and
// nothing is lost by trying again. It promises no heartbeats; a Publisher does.
func (n *Node) Publish(ctx context.Context, id *signing.Identity, url string, doc []byte) (Receipt, error) {
	p, err := n.speaker(ctx, id, url, 0)
	if err != nil {
		return Receipt{}, err
	}
	defer p.Close()
	return p.Push(ctx, doc)
}

// Push pushes what is new in doc. It is Node.Publish with heartbeats after it.
func (p *Publisher) Push(ctx context.Context, doc []byte) (Receipt, error) {
	f, err := feed.Parse(doc, "")
	if err != nil {
		return Receipt{}, fmt.Errorf("publish %s: %w", p.url, err)
	}
	items, err := p.unpublished(ctx, f)
	if err != nil {
		return Receipt{}, fmt.Errorf("publish %s: %w", p.url, err)
	}
	r := Receipt{Group: p.ch.group, Items: len(items)}
	w := &wait{holders: map[overlay.ID]bool{}, wake: make(chan struct{}, 1)}
	defer p.forget(w)
	var left []feed.Item
	if r.Stamp, left, err = p.push(ctx, f, doc, items, w); err != nil {
		return r, fmt.Errorf("publish %s: %w", p.url, err)
	}
	r.Items -= len(left)
	r, err = p.settle(ctx, r, w)
	if len(left) > 0 {
		err = errors.Join(fmt.Errorf("publish %s: %d of its items are too large for an event (at most 1 MiB compressed) and stay behind: %s",
			p.url, len(left), left[0].Key()), err)
	}
	return r, err
}

// settle waits for holders of what was pushed, or of the line's last event if
// that was nothing.
func (p *Publisher) settle(ctx context.Context, r Receipt, w *wait) (Receipt, error) {
	if r.Items == 0 {
		var err error
		if r.Stamp, err = p.author.repeat(ctx, wantHolders, func(s multicast.Stamp) { p.await(s, w) }); err != nil {
			return r, fmt.Errorf("publish %s: %w", p.url, err)
		}
	}
	if r.Stamp.Seq == 0 {
		return r, nil
	}
	return p.held(ctx, r, w)
}

// unpublished returns the items of a document that this key has not published
// yet, oldest first.
func (p *Publisher) unpublished(ctx context.Context, f *feed.Feed) ([]feed.Item, error) {
	held, err := p.node.config.Store.Items(ctx, p.url, 2000+2*len(f.Items))
	if err != nil {
		return nil, err
	}
	published := map[string][32]byte{}
	keys := p.ch.standing.policy.Load()
	for _, it := range held {
		if it.Source == p.author.id.Public() || it.Trust == store.Signed && keys.names(it.Source) && !keys.disowns(&it) {
			published[it.Key] = it.Hash
		}
	}
	return feed.Diff(func(key string) ([32]byte, bool) { h, ok := published[key]; return h, ok }, f), nil
}

// push signs, stores and sends items, in as many events as it takes. It returns
// those that no event can carry.
func (p *Publisher) push(ctx context.Context, f *feed.Feed, doc []byte, items []feed.Item, w *wait) (last multicast.Stamp, tooLarge []feed.Item, err error) {
	parts, tooLarge, err := p.node.codec.encode(f, items)
	if err != nil {
		return last, nil, err
	}
	if err := p.tellKeys(ctx); err != nil {
		return last, nil, err
	}
	for i, part := range parts {
		s := &statement{
			role: signing.Publisher, payload: part.payload, media: part.media,
			want: wantHolders, ledger: p.ch.ledger,
		}
		if s.told, err = records(p.url, f, part.items, store.Signed, time.Now()); err != nil {
			return last, nil, err
		}
		if i == len(parts)-1 {
			s.change = func(rec *store.Feed) { rec.Doc, rec.ContentType = doc, feed.MediaType(f.Format) }
			s.before = func(stamp multicast.Stamp) { p.await(stamp, w) }
		}
		if last, err = p.author.say(ctx, s); err != nil {
			return last, nil, err
		}
		p.spoke(f.Title, s)
	}
	return last, tooLarge, nil
}

// waitKey names what a publisher waits for, and wait is who holds it.
type waitKey struct {
	group multicast.Group
	stamp multicast.Stamp
}

type wait struct {
	holders map[overlay.ID]bool // the desk's
	wake    chan struct{}
}

// moved has receipts noted for another stamp only.
func (w *wait) moved(p *Publisher, to multicast.Stamp) {
	p.forget(w)
	p.node.desk.post(func(*desk) { clear(w.holders) })
	p.await(to, w)
}

// await has receipts noted.
func (p *Publisher) await(s multicast.Stamp, w *wait) {
	p.node.desk.post(func(d *desk) { d.waits[waitKey{p.ch.group, s}] = w })
}

func (p *Publisher) forget(w *wait) {
	p.node.desk.post(func(d *desk) {
		maps.DeleteFunc(d.waits, func(_ waitKey, other *wait) bool { return other == w })
	})
}

func (d *desk) receipt(what multicast.Notice) {
	w := d.waits[waitKey{what.Group, what.Stamp}]
	if w == nil {
		return
	}
	for _, id := range what.Peers {
		w.holders[id] = true
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wanted is how many holders there can be: all that are known, up to a few.
func (p *Publisher) wanted() int {
	most := len(p.node.net.Connected())
	if s, ok := p.node.carrier.Group(p.ch.group); ok && s.Audience >= 0 {
		most = min(most, s.Audience) // where only members hold events
	}
	return max(1, min(wantHolders, most))
}

// held waits until enough nodes hold what was pushed. Now and then it is sent
// again: somebody may have come since.
func (p *Publisher) held(ctx context.Context, r Receipt, w *wait) (Receipt, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	pause := sendAgain
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		var holders int
		if err := p.node.desk.ask(ctx, func(*desk) { holders = len(w.holders) }); err == nil {
			r.Holders = holders
		}
		r.Wanted = p.wanted()
		if r.Holders >= r.Wanted {
			return r, nil
		}
		select {
		case <-w.wake:
		case <-again.C:
			stamp, err := p.author.repeat(ctx, wantHolders, func(s multicast.Stamp) {
				if s != r.Stamp { // its line was lost: it is said again at another place
					w.moved(p, s)
				}
			})
			if err != nil && ctx.Err() == nil {
				return r, fmt.Errorf("publish %s: %w", p.url, err)
			}
			if err == nil && stamp.Seq > 0 {
				r.Stamp = stamp
			}
			pause = min(2*pause, slowest)
			again.Reset(pause)
		case <-ctx.Done():
			return r, fmt.Errorf("publish %s: %w: %d of %d", p.url, ErrNotHeld, r.Holders, r.Wanted)
		case <-p.node.life.ctx.Done():
			return r, fmt.Errorf("publish %s: %w", p.url, ErrClosed)
		}
	}
}
