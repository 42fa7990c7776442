package feedtree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// job is what a worker is to do for a channel.
type job struct {
	claim    bool // do not ask: tell that this node asks next, or has asked in vain
	poll     bool // ask the origin because the schedule says so
	announce bool // do not ask: tell what is known from the origin anyway
	nudge    bool // ask the origin who may speak for the feed
	tell     bool // publish the outcome
	thorough bool // compare with all that the tree knows, not only with the last poll
	vain     bool // of a claim: it is about a request that had no outcome
	habit    schedule.Habit
	why      string        // the origin is asked
	done     chan struct{} // closed when it is, if not nil
}

// result is what became of it.
type result struct {
	ok       bool // the origin answered with the feed
	requests uint64
	changed  bool           // the store holds something new
	doc      *feed.Feed     // the origin's document, if it was read
	outcome  *fetch.Outcome // what the origin said, nil if it was not asked
	told     bool           // the tree knows all that the origin's document holds
	habit    schedule.Habit
}

// fetch has a worker do a job. At most one is under way for a channel.
func (d *desk) fetch(ch *channel, j job) {
	d.fetching++
	ch.work.busy = true
	j.habit = ch.work.habit
	d.node.background(func(ctx context.Context) {
		r := d.node.do(ctx, ch, j)
		d.post(func(d *desk) { d.finish(ch, j, r) })
	})
}

// finish takes over what a worker found.
func (d *desk) finish(ch *channel, j job, r result) {
	d.fetching--
	ch.work.busy = false
	if j.done != nil {
		defer close(j.done)
	}
	if r.outcome != nil {
		d.answered(ch.work.hosts, *r.outcome)
	}
	if d.channels[ch.url] != ch {
		return // unsubscribed meanwhile
	}
	now, rec := d.now(), ch.ledger.record()
	ch.count.requests += r.requests
	d.debit(ch, r)
	ch.work.told = r.told && (j.tell || ch.work.told)
	if r.doc != nil {
		ch.count.title = r.doc.Title
		d.obey(ch, r.doc)
	}
	ch.learnHub(r)
	if r.outcome != nil {
		if res := r.outcome.Result; res != nil && res.Status == http.StatusOK {
			ch.work.size = res.BytesWire
		}
		ch.work.habit, ch.work.least = r.habit, d.node.least(stateOf(rec))
		ch.sched.SetInterval(now, d.node.pace(r.habit, ch.work.least), ch.work.least)
		d.charge(ch, r)
	}
	switch {
	case j.claim && r.ok && j.vain:
		ch.sched.Asked(now)
	case j.claim && r.ok:
		ch.sched.Claimed(now)
	case j.claim: // somebody else will
		ch.sched.NotBefore(now, now+ch.sched.Spacing())
	case j.announce && r.ok:
		ch.sched.Announced(now)
	case j.announce: // somebody else will, or a later poll
		ch.sched.Polled(now, false)
	case j.poll:
		ch.sched.Polled(now, r.ok)
	}
	if r.outcome != nil {
		d.spare(ch, r.outcome.State, r.outcome.State.Asked)
	}
	rekeyed := ch.standing.differs(&rec)
	if j.nudge || rekeyed {
		d.known(ch, &rec, r.ok)
	}
	d.settle(ch, rec)
	if r.changed {
		ch.count.items = -1
		ch.wakeSubs()
	}
	ch.refresh(r.changed || r.doc != nil || rekeyed)
	if j.poll && j.tell && r.refused() && !ch.local() {
		d.fetch(ch, job{claim: true, vain: true})
	}
	d.arm(ch)
}

// refused reports a request that an origin bore and that has no outcome.
func (r *result) refused() bool {
	if r.ok || r.outcome == nil {
		return false
	}
	k := r.outcome.Answer.Kind
	return k == polite.Refused || k == polite.Broken
}

// obey does what the document asks of those who poll.
func (d *desk) obey(ch *channel, f *feed.Feed) {
	ch.work.unwanted = !f.Poll.Cooperative()
	d.quieten(ch)
}

// do is the job. It runs beside the desk.
func (n *Node) do(ctx context.Context, ch *channel, j job) result {
	if j.claim {
		err := n.ask(ctx, ch)
		if err != nil {
			n.complain(ctx, "cannot tell others who asks a feed's origin", ch.url, err)
		}
		return result{ok: err == nil}
	}
	if j.announce {
		r := result{ok: true}
		p := &poll{job: j, now: time.Now()}
		p.testimony = n.witnessed(ctx, ch, p)
		err := n.tell(ctx, ch, p)
		if err != nil {
			n.complain(ctx, "cannot tell others about a feed", ch.url, err)
			r.ok = false
		}
		r.told = r.ok
		return r
	}
	return n.poll(ctx, ch, j)
}

// poll is one question to the origin and its answer.
type poll struct {
	job    job
	now    time.Time
	answer *fetch.Result
	state  polite.State
	doc    *feed.Feed // nil: what the last poll brought is current
	same   bool       // the document is the one held
	fresh  []feed.Item
	keys   sighting           // of the feed's keys, in the document
	cert   *certificateAnswer // nil: it was not asked for
	change func(*store.Feed)
	habit  schedule.Habit
	seenAt schedule.Visit
	added  int // how much of it was new to the store

	testimony *signing.Testimony // to what it saw; nil: it cannot be said
}

func (n *Node) poll(ctx context.Context, ch *channel, j job) result {
	p := &poll{job: j, habit: j.habit}
	out, err := n.http.Poll(ctx, origin(ch.ledger.record()), p.accept)
	p.now, p.answer, p.state = time.Now(), out.Result, out.State
	r := result{requests: 1, outcome: &out, habit: j.habit}
	if ctx.Err() != nil {
		return r
	}
	if err == nil {
		err = n.compare(ctx, ch, p)
	}
	if err != nil {
		n.failed(ctx, ch, out.State, err)
		return r
	}
	p.habit.Observe(p.seenAt)
	r.habit = p.habit
	rec := ch.ledger.record()
	r.requests += n.seeKeys(ctx, &rec, p)
	p.change = n.changes(p)
	p.testimony = n.witnessed(ctx, ch, p)
	if j.tell && n.stillPublic(ch, p) {
		err = n.tell(ctx, ch, p)
		r.told = err == nil
	} else {
		err = n.keep(ctx, ch, p)
	}
	n.cameFrom(ch.url, p.fresh, j.why)
	r.changed = p.added > 0
	if err != nil {
		n.complain(ctx, "cannot keep what a poll brought", ch.url, err)
	}
	r.ok, r.doc = err == nil, p.doc
	return r
}

// accept reads the document, and says how far apart the document wants its polls.
func (p *poll) accept(a *fetch.Result) (apart time.Duration, err error) {
	p.answer = a
	if p.doc, err = feed.Parse(a.Body, a.ContentType); err != nil {
		return 0, err
	}
	if p.doc.Poll != nil {
		apart = p.doc.Poll.Min
	}
	return max(apart, p.doc.TTL), nil
}

// compare finds what is new in the document.
func (n *Node) compare(ctx context.Context, ch *channel, p *poll) error {
	p.visit(nil)
	if p.doc == nil {
		return nil
	}
	stored, _, err := n.config.Store.Feed(ctx, ch.url)
	if err != nil {
		return err
	}
	if p.answer.Delta {
		if err := p.complete(stored); err != nil {
			return err
		}
	}
	if p.same = bytes.Equal(stored.Doc, p.answer.Body); p.same {
		return nil
	}
	known, err := n.config.Store.Known(ctx, ch.url)
	if err != nil {
		return err
	}
	p.fresh = feed.Diff(func(key string) ([32]byte, bool) { h, ok := known[key]; return h, ok }, p.doc)
	p.visit(known)
	return nil
}

// complete makes a whole document of a delta and the one held.
func (p *poll) complete(stored store.Feed) error {
	held, err := feed.Parse(stored.Doc, stored.ContentType)
	if err != nil {
		return nil // nothing to add to it; what the store has of items stays
	}
	if p.answer.Body, err = fetch.Merge(held, p.doc); err != nil {
		return fmt.Errorf("merge what is new with what is held: %w", err)
	}
	p.answer.ContentType = feed.MediaType(p.doc.Format)
	p.doc, err = feed.Parse(p.answer.Body, p.answer.ContentType)
	return err
}

// changes is what the answer changes in the feed's record.
func (n *Node) changes(p *poll) func(*store.Feed) {
	a := p.answer
	return func(rec *store.Feed) {
		rec.Fetched, rec.Failure = p.now, ""
		remember(rec, p.state, p.habit)
		rec.Interval = n.pace(p.habit, n.least(p.state))
		if p.doc == nil {
			rec.Local = whyLocalNow(*rec, a)
			rec.Failure = takeKeys(rec, p.keys, p.cert, p.now)
			return
		}
		rec.Doc, rec.ContentType = a.Body, a.ContentType
		rec.Local = n.whyLocal(rec.URL, p.doc, a)
		rec.Failure = takeKeys(rec, p.keys, p.cert, p.now)
	}
}

// keep stores what a poll brought without telling anybody.
func (n *Node) keep(ctx context.Context, ch *channel, p *poll) error {
	items, err := p.seen(ch.url)
	if err != nil {
		return err
	}
	added, err := ch.ledger.write(ctx, store.Batch{Items: items}, p.change)
	p.added = len(added)
	return err
}

// seen is the records of all items of a changed document, oldest first: what
// others said before is now seen at the origin itself.
func (p *poll) seen(url string) ([]store.Item, error) {
	if p.doc == nil || p.same || p.answer == nil {
		return nil, nil
	}
	return records(url, p.doc, oldestFirst(p.doc), store.Fetched, p.now)
}

func oldestFirst(f *feed.Feed) []feed.Item {
	return feed.Diff(func(string) ([32]byte, bool) { return [32]byte{}, false }, f)
}

// stillPublic reports whether the answer leaves the feed one to speak of.
func (n *Node) stillPublic(ch *channel, p *poll) bool {
	if p.doc == nil {
		return whyLocalNow(ch.ledger.record(), p.answer) == ""
	}
	return n.whyLocal(ch.url, p.doc, p.answer) == ""
}

// failed notes why the origin has no document for us.
func (n *Node) failed(ctx context.Context, ch *channel, state polite.State, cause error) {
	_, err := ch.ledger.write(ctx, store.Batch{}, func(rec *store.Feed) {
		rec.Failure = cause.Error()
		if state.Trouble.Gone {
			rec.Failure += "; it is not asked for any more. If it is back, unsubscribe and subscribe again"
		}
		remember(rec, state, habitOf(*rec))
	})
	if err != nil {
		n.complain(ctx, "cannot note a failed poll", ch.url, err)
	}
	n.config.Log.Info("a feed's origin has nothing for us", "feed", feed.Redacted(ch.url), "error", feed.Redacted(cause.Error()))
}

// complain logs what keeps the node from doing its work.
func (n *Node) complain(ctx context.Context, what, url string, err error) {
	if ctx.Err() == nil && !errors.Is(err, ErrUnknown) {
		n.config.Log.Warn(what, "feed", feed.Redacted(url), "error", feed.Redacted(err.Error()))
	}
}

// background does something that ends with the node. Only the desk calls it.
func (n *Node) background(do func(context.Context)) {
	if n.life.ctx.Err() == nil {
		n.life.tasks.Go(func() { do(n.life.ctx) })
	}
}
