package feedtree

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

const (
	// maxKeysTold is how long a certificate in an event may be. Reading one costs a
	// signature or two for each state, and everybody may send it.
	maxKeysTold = 8 << 10

	// toldEvery is after how many events of a line the certificate is said again:
	// who joins gets the latest events, and finds it among them.
	toldEvery = recent / 2
)

// learn takes over a certificate that came with an event. It proves itself, so it
// does not matter who sends it; and whoever sends one that proves nothing has said
// nothing.
func (s *standing) learn(env *signing.Envelope, now time.Time) {
	p := s.policy.Load()
	if !p.keyed() || p.book.PEM == string(env.Payload) || len(env.Payload) > maxKeysTold || env.Coding != signing.Plain {
		return
	}
	c, err := signing.ParseCertificate(env.Payload)
	if err != nil {
		s.refused.Count("certificate: " + string(signing.ReasonOf(err)))
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	next := *s.policy.Load()
	disputed := next.book.Disputed
	next.book, next.pin, err = next.book.follow(s.url, next.pin, c, now)
	if err != nil && signing.ReasonOf(err) != signing.ReasonStale {
		s.refused.Count("certificate: " + string(signing.ReasonOf(err)))
	}
	if err != nil && next.book.Disputed == disputed {
		return
	}
	s.policy.Store(&next)
	s.learned.Store(true)
}

// learned stores what the tree taught of a feed's keys. What came before it is judged
// again.
func (d *desk) learned(ch *channel) {
	if ch == nil || !ch.standing.learned.Swap(false) {
		return
	}
	p := ch.standing.policy.Load()
	d.node.background(func(ctx context.Context) {
		_ = d.node.carrier.Recheck(ch.group) // fails only once closed
		_, err := ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) { adopt(rec, p, time.Now()) })
		if err != nil {
			d.node.complain(ctx, "cannot store the keys of a feed", ch.url, err)
		}
		d.post(func(*desk) { ch.refresh(true) }) // a key that is revoked takes items back
	})
}

// adopt takes a certificate from memory over into a feed's record, which may have
// changed meanwhile.
func adopt(rec *store.Feed, p *policy, now time.Time) {
	b := bookOf(rec)
	_, before := b.judgement(rec.Pin, now, 0)
	if p.book.cert != nil {
		b, rec.Pin, _ = b.follow(rec.URL, rec.Pin, p.book.cert, now) // the record knows better
	}
	b.Disputed = b.Disputed || p.book.Disputed
	b.keep(rec)
	if _, after := b.judgement(rec.Pin, now, 0); rec.Failure == before {
		rec.Failure = after
	}
}

// keysSeenBy notes what a volunteer's document of the feed announces, if this node
// wonders about it. Each key is one perspective; what that is worth, THREATMODEL.md
// says.
func (n *Node) keysSeenBy(url string, env *signing.Envelope, f *feed.Feed) {
	s := n.judges.of(env.Group)
	if s == nil || env.Role != signing.Volunteer || f.Tree == nil || env.Key == n.id.Public() {
		return
	}
	r := s.policy.Load().book.Rival
	if r == nil || r.Fingerprint != strings.ToLower(f.Tree.Fingerprint) {
		return
	}
	n.desk.post(func(d *desk) { d.seenBy(url, env.Key.String(), r.Fingerprint) })
}

// seenBy stores that somebody else sees what a feed announces as well.
func (d *desk) seenBy(url, perspective, fingerprint string) {
	ch := d.channels[url]
	if ch == nil {
		return
	}
	d.node.background(func(ctx context.Context) {
		_, err := ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) {
			bookOf(rec).seen(perspective, fingerprint, time.Now()).keep(rec)
		})
		if err != nil {
			d.node.complain(ctx, "cannot store who saw the keys of a feed", url, err)
		}
	})
}

// LearnKeys tells the node the certificate of a feed: of one that it publishes, or
// one that somebody trusted handed over. The certificate must follow from the root
// keys that are pinned; if none are, its own are, as by hand.
func (n *Node) LearnKeys(ctx context.Context, url string, certificate []byte) error {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	c, err := signing.ParseCertificate(certificate)
	if err != nil {
		return fmt.Errorf("keys of %s: %w", canonical, err)
	}
	ch, err := n.stage(ctx, canonical)
	if err != nil {
		return fmt.Errorf("keys of %s: %w", canonical, err)
	}
	var why error
	if _, err := ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) { why = learnByHand(rec, c, time.Now()) }); err != nil {
		return fmt.Errorf("keys of %s: %w", canonical, err)
	}
	if why != nil {
		return fmt.Errorf("keys of %s: %w", canonical, why)
	}
	return n.rekey(ctx, canonical)
}

func learnByHand(rec *store.Feed, c signing.Certificate, now time.Time) error {
	b, pin := bookOf(rec), rec.Pin
	if pin.How == "" || pin.How == pinHTTP {
		pin = store.Pin{Fingerprint: c.Latest().Fingerprint(), How: pinManual, Since: now}
		b = b.reset(rec.URL, pin)
	}
	b, pin, err := b.follow(rec.URL, pin, c, now)
	if err != nil && signing.ReasonOf(err) != signing.ReasonStale {
		return err
	}
	rec.Pin = pin
	b.keep(rec)
	return err
}

// rekey has a feed's record of its keys obeyed, after it was changed.
func (n *Node) rekey(ctx context.Context, url string) error {
	return n.desk.ask(ctx, func(d *desk) {
		ch := d.channels[url]
		if ch == nil {
			return
		}
		rec := ch.ledger.record()
		ch.standing.replace(&rec)
		ch.refresh(true)
		n.background(func(context.Context) { _ = n.carrier.Recheck(ch.group) }) // fails only once closed
	})
}

// tellKeys says the feed's certificate on the line, unless it was said not long ago.
func (p *Publisher) tellKeys(ctx context.Context) error {
	rec := p.ch.ledger.record()
	b := bookOf(&rec)
	if b.cert == nil {
		return nil
	}
	told := b.cert
	for len(told) > 1 && len(told.MarshalPEM()) > maxKeysTold {
		told = told[1:] // who knows only older roots has the origin
	}
	payload := told.MarshalPEM()
	said, err := p.author.saidLately(ctx, payload)
	if err != nil || said {
		return err
	}
	s := &statement{role: signing.Publisher, payload: payload, media: signing.Keys, want: wantHolders, ledger: p.ch.ledger}
	if _, err := p.author.say(ctx, s); err != nil {
		return err
	}
	p.spoke("", s)
	return nil
}

// saidLately reports whether an event with a payload is among the last of the line.
func (a *author) saidLately(ctx context.Context, payload []byte) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.load(ctx); err != nil {
		return false, err
	}
	own, err := a.held(ctx)
	if err != nil {
		return false, err
	}
	for _, e := range own {
		if e.Beat == 0 && e.Epoch == a.line.Epoch && e.Seq+toldEvery > a.line.Seq && bytes.HasSuffix(e.Wire, payload) {
			return true, nil
		}
	}
	return false, nil
}
