package feedtree

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// policy is what is known of the feed's keys. It is replaced, never changed.
type policy struct {
	pin  store.Pin
	book keyBook
	// Until then the origin is not asked again whose key an unknown one is: where
	// it names none, a publisher's role is believed no more than a volunteer's.
	open time.Time
}

func (p *policy) keyed() bool { return p.pin.How != "" }

func newStanding(rec *store.Feed, witnesses int) *standing {
	s := &standing{url: rec.URL, bench: newBench(witnesses)}
	s.policy.Store(&policy{pin: rec.Pin, book: bookOf(rec)})
	return s
}

// differs reports whether a feed's record says something else of its keys.
func (s *standing) differs(rec *store.Feed) bool {
	p := s.policy.Load()
	return p.pin != rec.Pin || p.book.PEM != bookOf(rec).PEM
}

// take goes by a feed's record from now on. What came from the tree and is not in
// the record yet stays.
func (s *standing) take(rec *store.Feed) {
	s.writing.Lock()
	defer s.writing.Unlock()
	p := s.policy.Load()
	next := policy{pin: rec.Pin, book: bookOf(rec), open: p.open}
	if held := p.book.version(); held > next.book.version() && next.book.believes(next.pin, p.book.cert[0].Fingerprint()) {
		next.pin, next.book = p.pin, p.book
	}
	s.policy.Store(&next)
}

// replace goes by a feed's record and nothing else.
func (s *standing) replace(rec *store.Feed) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.policy.Store(&policy{pin: rec.Pin, book: bookOf(rec)})
}

// openUntil has the origin left alone about unknown keys for a while.
func (s *standing) openUntil(t time.Time) {
	s.writing.Lock()
	defer s.writing.Unlock()
	next := *s.policy.Load()
	next.open = t
	s.policy.Store(&next)
}

// keyState is the version of the key state in force, 0 for a feed that is not known
// here.
func (s *standing) keyState() uint32 {
	if s == nil {
		return 0
	}
	return s.policy.Load().book.version()
}

// judgeKeyed decides about what claims to be the publisher's.
func (s *standing) judgeKeyed(p *policy, env *signing.Envelope, now time.Time) (multicast.Verdict, string) {
	why := p.refuses(env, now)
	switch {
	case why == "":
		s.ahead.Store(0)
		return multicast.Accept, ""
	case why != whyRevoked && p.mayLearn(env) && !now.Before(p.open):
		return multicast.Unknown, ""
	}
	return multicast.Refuse, why
}

// refuses returns why the feed's keys do not let an envelope be said, or "".
func (p *policy) refuses(env *signing.Envelope, now time.Time) string {
	state := p.book.latest()
	if state == nil {
		if env.Key.Fingerprint() == signing.Fingerprint(p.pin.Fingerprint) {
			return ""
		}
		return whyOtherKey
	}
	err := state.Covers(&env.Header, now)
	switch signing.ReasonOf(err) {
	case "":
		return ""
	case signing.ReasonRevoked:
		return whyRevoked
	case signing.ReasonExpired:
		return whyEnded
	}
	return whyOtherKey
}

// mayLearn reports whether the origin may know of a key state that explains an
// envelope: there is a certificate, and it was not read, or the source goes by a
// later one, or the one that is held has run out.
func (p *policy) mayLearn(env *signing.Envelope) bool {
	if p.book.Place == "" {
		return false
	}
	state := p.book.latest()
	return state == nil || env.KeyState > state.Version || env.Time.After(state.Until())
}

// speaks reports whether the envelope is the publisher's own. It was judged when it
// came.
func (p *policy) speaks(env *signing.Envelope) bool {
	return env.Role == signing.Publisher && p.names(env.Key)
}

// names reports whether a key is the feed's.
func (p *policy) names(key signing.PublicKey) bool { return p.keyed() && p.book.names(p.pin, key) }

// trust is how far an accepted envelope is believed. A key that was seen over plain
// HTTP could be anybody's; and what comes now under a revoked key, even if it says
// that it is from before, may be of those who made its owner revoke it.
func (p *policy) trust(env *signing.Envelope) store.Trust {
	if !p.speaks(env) || p.pin.How == pinHTTP {
		return store.Unconfirmed
	}
	if state := p.book.latest(); state != nil && !state.Lists(env.Key) {
		return store.Unconfirmed
	}
	return store.Signed
}

// disowns reports whether the feed's keys take back an item that is stored as the
// publisher's: its key was revoked before it said that.
func (p *policy) disowns(it *store.Item) bool { return p.book.disowns(it) }

func (b *keyBook) disowns(it *store.Item) bool {
	state := b.latest()
	return it.Trust == store.Signed && state != nil && state.Revokes(it.Source, it.Epoch, it.Seq)
}

// Revoked reports whether the keys in a feed's record take back an item of it that is
// stored as signed, for those who read a store without a node: [Node.Believed] knows
// beside that what its origin was seen to say.
func Revoked(rec store.Feed, it store.Item) bool {
	book := bookOf(&rec)
	return book.disowns(&it)
}

// hurry notes that the publisher's clock is ahead, for people to see.
func (s *standing) hurry(env *signing.Envelope, now time.Time) {
	if s != nil && s.policy.Load().speaks(env) {
		s.ahead.Store(int64(env.Time.Sub(now)))
	}
}

// known takes over what the origin says of the feed's keys. What was held until then
// is judged again: if the origin names no key, as the word of a volunteer.
func (d *desk) known(ch *channel, rec *store.Feed, ok bool) {
	ch.standing.take(rec)
	if ok {
		again := max(ch.sched.Interval(), time.Minute)
		if ch.standing.policy.Load().book.Trouble.State != "" {
			again = time.Minute // what it lacks may be there soon
		}
		ch.standing.openUntil(time.Now().Add(again))
		d.node.background(func(context.Context) { _ = d.node.carrier.Recheck(ch.group) }) // fails only once closed
	}
	ch.standing.nudged.Store(false)
}
