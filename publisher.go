package feedtree

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// PublisherConfig sets up a Publisher.
type PublisherConfig struct {
	// TTL is what the publisher promises: an event or a heartbeat at least so
	// often, in whole seconds. 0: 15 minutes.
	TTL time.Duration
}

const (
	defaultTTL = 15 * time.Minute
	farewell   = time.Second // to say the last word
)

// Publisher publishes one feed and keeps its promise of heartbeats.
type Publisher struct {
	node   *Node
	url    string
	ch     *channel
	author *author
	ttl    time.Duration // 0: nothing is promised
	once   sync.Once
	done   chan struct{}
}

// Publisher begins to publish the feed at url in the name of id, with a
// heartbeat that says so, and keeps sending heartbeats until it is closed
// (FeedTree §4.3: the publisher must generate a heartbeat if the maximum
// interval passes without an event).
func (n *Node) Publisher(ctx context.Context, id *signing.Identity, url string, c PublisherConfig) (*Publisher, error) {
	if c.TTL == 0 {
		c.TTL = defaultTTL
	}
	if c.TTL < time.Second || c.TTL > signing.MaxTTL {
		return nil, fmt.Errorf("publish %s: a TTL of %v, want 1s to %v", url, c.TTL, signing.MaxTTL)
	}
	p, err := n.speaker(ctx, id, url, wholeSeconds(c.TTL))
	if err != nil {
		return nil, err
	}
	p.author.promise(p, p.ttl)
	if err := errors.Join(p.tellKeys(ctx), p.beat(ctx)); err != nil {
		p.Close()
		return nil, fmt.Errorf("publish %s: %w", p.url, err)
	}
	n.desk.post(func(*desk) { n.background(p.keepBeating) })
	return p, nil
}

// URL returns the canonical URL that is published.
func (p *Publisher) URL() string { return p.url }

// Close ends the heartbeats. The last one takes the promise of more back, so that
// volunteers look after the feed at once; who does not hear it misses the next
// after twice the TTL.
func (p *Publisher) Close() error {
	p.once.Do(func() {
		close(p.done)
		if p.ttl > 0 {
			p.takeBack()
		}
		p.node.desk.post(func(d *desk) {
			p.ch.publishing--
			d.arm(p.ch)
		})
	})
	return nil
}

// takeBack says the last word, unless the node is closed already.
func (p *Publisher) takeBack() {
	p.author.promise(p, 0)
	ctx, cancel := context.WithTimeout(p.node.life.ctx, farewell)
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	if err := p.beat(ctx); err != nil && !errors.Is(err, ErrLocal) {
		p.node.complain(ctx, "cannot take back the promise of heartbeats", p.url, err)
	}
}

// keepBeating says that there is no news whenever the tree finds that there was
// none for almost as long as was promised.
func (p *Publisher) keepBeating(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.done:
			return
		case <-p.author.due:
		}
		if err := p.beat(ctx); err != nil {
			p.node.complain(ctx, "cannot send a heartbeat", p.url, err)
		}
	}
}

func (p *Publisher) beat(ctx context.Context) error {
	s := &statement{role: signing.Publisher, ledger: p.ch.ledger}
	_, err := p.author.say(ctx, s)
	if err == nil {
		p.spoke("", s)
	}
	return err
}

// spoke tells the desk what the publisher said.
func (p *Publisher) spoke(title string, s *statement) {
	ttl, changed := s.ttl, len(s.added) > 0
	p.node.desk.post(func(d *desk) {
		ch := p.ch
		ch.sched.Published(d.now(), 0, ttl)
		ch.standing.promise(time.Now().Add(2 * ttl))
		if title != "" {
			ch.count.title = title
		}
		if changed {
			ch.count.items = -1
			ch.wakeSubs()
		}
		ch.refresh(changed)
		d.arm(ch)
	})
}

// speaker makes this node speak for a feed.
func (n *Node) speaker(ctx context.Context, id *signing.Identity, url string, ttl time.Duration) (*Publisher, error) {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if ok, why := n.config.Public(canonical); !ok {
		return nil, fmt.Errorf("publish %s: %w: %s", canonical, ErrLocal, why)
	}
	n.authors.opening.Lock()
	defer n.authors.opening.Unlock()
	p := &Publisher{node: n, url: canonical, ttl: ttl, done: make(chan struct{})}
	if p.ch, err = n.stage(ctx, canonical); err != nil {
		return nil, fmt.Errorf("publish %s: %w", canonical, err)
	}
	if why := p.ch.ledger.record().Local; why != "" {
		return nil, fmt.Errorf("publish %s: %w: %s", canonical, ErrLocal, why)
	}
	if err := p.claim(ctx, id); err != nil {
		return nil, fmt.Errorf("publish %s: %w", canonical, err)
	}
	p.author = n.author(id, p.ch.group)
	err = n.desk.ask(ctx, func(d *desk) {
		if d.channels[canonical] != p.ch {
			d.add(p.ch)
		}
		p.ch.publishing++
		rec := p.ch.ledger.record()
		p.ch.standing.take(&rec)
		d.settle(p.ch, rec)
		p.ch.refresh(false)
		d.arm(p.ch)
	})
	if err != nil {
		p.Close() // it may be done yet
		return nil, err
	}
	return p, nil
}

// stage returns the channel of a feed, made from what the store knows if nobody
// follows it here.
func (n *Node) stage(ctx context.Context, url string) (*channel, error) {
	var ch *channel
	err := n.desk.ask(ctx, func(d *desk) { ch = d.channels[url] })
	switch {
	case err != nil:
		return nil, err
	case ch != nil:
		return ch, nil
	}
	rec, ok, err := n.config.Store.Feed(ctx, url)
	if err != nil {
		return nil, err
	}
	if !ok {
		rec = store.Feed{URL: url, Group: multicast.GroupOf(url), Interval: n.config.Polling.Min}
	}
	return n.newChannel(rec, 0), nil
}

// claim sees to it that the key which speaks for the feed here is one that readers
// believe, as far as that is known; else it is pinned.
func (p *Publisher) claim(ctx context.Context, id *signing.Identity) error {
	rec, key := p.ch.ledger.record(), id.Public()
	b := bookOf(&rec)
	if state := b.latest(); state != nil {
		return claimedBy(state, key, time.Now())
	}
	pin := store.Pin{Fingerprint: key.Fingerprint(), How: pinManual, Since: time.Now()}
	switch held := rec.Pin; {
	case held.How != "" && held.How != pinHTTP && held.Fingerprint == pin.Fingerprint:
		return nil
	case held.How == pinHTTPS, held.How == pinRecovered:
		return fmt.Errorf("its document announces the key %v and this is %v: use that key, or announce this one; "+
			"a signing key that is not announced itself needs the feed's certificate (Node.LearnKeys)",
			signing.Fingerprint(held.Fingerprint), signing.Fingerprint(pin.Fingerprint))
	}
	_, err := p.ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) { rec.Pin = pin })
	return err
}

// claimedBy returns why readers would not believe a key, nil if they do.
func claimedBy(state *signing.KeyState, key signing.PublicKey, now time.Time) error {
	for _, k := range state.Signing {
		switch {
		case k.Key != key:
		case now.After(k.Until):
			return fmt.Errorf("the signing key %v ended on %s: make the next one with feedtree key rotate", key.Fingerprint(), k.Until.Format("2006-01-02"))
		default:
			return nil
		}
	}
	return fmt.Errorf("the feed's certificate, version %d, does not list the key %v: use one that it lists, or make the next with feedtree key rotate",
		state.Version, key.Fingerprint())
}
