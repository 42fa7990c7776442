package feedtree

import (
	"context"
	"errors"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const (
	intakeRoom  = 256 // events that wait to be stored; more make the tree wait
	intakeBatch = 64  // events stored in one transaction
	leaseTime   = time.Hour
	lastWords   = 1500 * time.Millisecond // how long a node that closes goes on storing
)

// storeAgain is when an event that cannot be stored is tried again. Others wait:
// where one cannot be stored, mostly none can.
var storeAgain = []time.Duration{100 * time.Millisecond, time.Second}

// intake is the way of events from the tree into the store. One goroutine takes
// whatever waits, writes it in one transaction, and only then tells anybody.
type intake struct {
	node  *Node
	queue chan arrival
	loop  chan struct{}               // closed when the loop has ended: nothing more comes
	done  chan struct{}               // closed when all that came is stored
	lacks map[lineKey]multicast.Stamp // first event of a line that could not be stored

	epochs map[lineKey]uint64 // of publishers: the latest that was seen to begin
	gaps   map[lineKey]epochGap
	ended  time.Time // when it saw that the node closes
}

// arrival is an event that came: one of a feed followed here, or one to be held
// for others.
type arrival struct {
	env    *signing.Envelope
	via    multicast.Via
	from   overlay.ID
	asked  int // nodes, for it
	cursor uint64
	kept   bool
	stored bool // it is in the batch
}

func newIntake(n *Node) *intake {
	return &intake{node: n, queue: make(chan arrival, intakeRoom), done: make(chan struct{}), lacks: map[lineKey]multicast.Stamp{},
		epochs: map[lineKey]uint64{}, gaps: map[lineKey]epochGap{}}
}

// deliver is called by the loop. It blocks while the store is behind.
func (in *intake) deliver(d multicast.Delivery, env *signing.Envelope) {
	in.queue <- arrival{env: env, via: d.Via, from: d.From, asked: d.Asked, cursor: d.Cursor}
}

func (in *intake) keep(_ multicast.Event, env *signing.Envelope) {
	in.queue <- arrival{env: env, kept: true}
}

// close waits until all that came is stored. The loop has ended.
func (in *intake) close() {
	close(in.queue)
	<-in.done
}

func (in *intake) run() {
	defer close(in.done)
	for first := range in.queue {
		if in.late() {
			continue // others have it, and no cursor moves over it
		}
		batch := []arrival{first}
		for len(batch) < intakeBatch && len(in.queue) > 0 {
			batch = append(batch, <-in.queue) // there is no other reader
		}
		in.take(batch)
	}
}

// late reports whether the node has been closing for too long to store more.
func (in *intake) late() bool {
	switch {
	case in.node.life.ctx.Err() == nil:
		return false
	case in.ended.IsZero():
		in.ended = time.Now()
	}
	return time.Since(in.ended) > lastWords
}

// heard is what one event means to the desk, once it is stored.
type heard struct {
	url    string
	env    *signing.Envelope
	ago    time.Duration
	speaks bool // it is the publisher's own
	bad    bool // it cannot be read
	items  []witness.Item
	whole  bool // nothing of its line before it is missing
	broken bool // it begins an epoch, and the end of the one before is missing
}

// take stores arrivals and tells the desk and the tree.
func (in *intake) take(arrivals []arrival) {
	ctx := context.Background() // what was taken from the tree is stored even while the node closes
	var batch store.Batch
	var all []heard
	for i := range arrivals {
		if in.late() {
			arrivals = arrivals[:i]
			break
		}
		if h, ok := in.read(&arrivals[i], &batch); ok {
			all = append(all, h)
		}
	}
	added, err := in.node.config.Store.Apply(ctx, batch)
	for _, pause := range storeAgain {
		if err == nil || errors.Is(err, store.ErrFeed) || len(arrivals) > 1 || !in.wait(pause) {
			break
		}
		added, err = in.node.config.Store.Apply(ctx, batch)
	}
	switch {
	case err == nil:
		in.tell(arrivals, all, added)
	case len(arrivals) > 1:
		for _, a := range arrivals { // one of them may be of a feed dropped meanwhile
			in.take([]arrival{a})
		}
	case len(arrivals) == 1 && !errors.Is(err, store.ErrFeed):
		in.node.config.Log.Error("cannot store an event that came", "error", err)
		in.lack(arrivals[0])
	}
}

// wait lets the store recover, unless the node closes.
func (in *intake) wait(pause time.Duration) bool {
	select {
	case <-in.node.life.ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// lack notes what could not be stored. The line's cursor stays before it, so that
// it is asked for again after a restart; until then the origin may have it.
func (in *intake) lack(a arrival) {
	s := in.node.judges.of(a.env.Group)
	if s == nil || a.kept {
		return
	}
	s.refused.Count(whyStore)
	if a.env.Kind != signing.Event {
		return
	}
	line, lacks := lineKey{a.env.Group, a.env.Key}, stampOf(a.env)
	if have, ok := in.lacks[line]; !ok || have.Epoch < lacks.Epoch || have.Epoch == lacks.Epoch && lacks.Seq < have.Seq {
		in.lacks[line] = lacks
	}
	in.node.desk.post(func(d *desk) {
		d.missing(multicast.Notice{Kind: multicast.Missing, Group: a.env.Group, Stamp: lacks, From: lacks.Seq, To: lacks.Seq})
	})
}

// cursor is how far a line is held without a hole.
func (in *intake) cursor(a *arrival) uint64 {
	lacks, ok := in.lacks[lineKey{a.env.Group, a.env.Key}]
	if ok && lacks.Epoch == a.env.Epoch && lacks.Seq <= a.cursor {
		return lacks.Seq - 1
	}
	return a.cursor
}

// tell says what is stored now.
func (in *intake) tell(arrivals []arrival, all []heard, added []store.Item) {
	n := in.node
	news := map[string][]time.Time{}
	for _, it := range added {
		news[it.Feed] = append(news[it.Feed], it.Published)
	}
	if n.kept.Durable() {
		for _, a := range arrivals {
			if a.stored && a.env.Kind == signing.Event {
				_ = n.carrier.Stored(a.env.Group, stampOf(a.env)) // fails only once the loop has ended
			}
		}
	}
	for _, a := range arrivals {
		n.overheard(a.env)
	}
	for _, h := range all {
		if s := n.judges.of(h.env.Group); s != nil {
			n.listen(n.life.ctx, s, h.env, h.items)
		}
	}
	if len(all) > 0 {
		n.desk.post(func(d *desk) { d.heard(all, news) })
	}
}

// read adds an arrival to a batch.
func (in *intake) read(a *arrival, b *store.Batch) (heard, bool) {
	e := stored(a.env)
	if a.kept {
		a.stored = true
		e.Until = time.Now().Add(leaseTime)
		b.Envelopes = append(b.Envelopes, e)
		return heard{}, false
	}
	s := in.node.judges.of(a.env.Group)
	if s == nil {
		return heard{}, false // left meanwhile
	}
	if a.via == multicast.ViaCatchUp { // it may have come for others, when nobody here knew the feed's key
		if verdict, _ := in.node.judge(a.env); verdict == multicast.Refuse {
			return heard{}, false
		}
	}
	a.stored = true
	now, p := time.Now(), s.policy.Load()
	b.Envelopes = append(b.Envelopes, e)
	h := heard{url: s.url, env: a.env, speaks: p.speaks(a.env), whole: in.cursor(a) >= a.env.Seq}
	h.broken = h.speaks && in.broken(a.env, b.Envelopes)
	if _, gap := in.gaps[lineKey{a.env.Group, a.env.Key}]; gap {
		h.whole = false
	} else {
		b.Cursors = append(b.Cursors, store.Cursor{
			Group: e.Group, Source: e.Source, Epoch: e.Epoch, Seq: in.cursor(a)})
	}
	// What is pushed is as young as it is quick. But what says that it is old is:
	// it was kept back somewhere, or pushed on by a node that had to ask for it.
	if ago := now.Sub(a.env.Time); a.via != multicast.ViaTree || ago > maxAhead {
		h.ago = max(ago, 0)
	}
	if a.env.Kind == signing.Event && a.env.Media != signing.Keys {
		items, err := in.items(s.url, a.env, p.trust(a.env), now)
		h.bad = err != nil
		h.items = itemsOf(items)
		b.Items = append(b.Items, items...)
		in.node.came(items, Way{How: howByVia[a.via], From: idText(a.from), At: now, Asked: a.asked})
	}
	return h, true
}

func (in *intake) items(url string, env *signing.Envelope, trust store.Trust, now time.Time) ([]store.Item, error) {
	f, err := in.node.codec.decode(env)
	if err != nil {
		return nil, err
	}
	in.node.keysSeenBy(url, env, f)
	items, err := records(url, f, f.Items, trust, now)
	for i := range items {
		items[i].Source, items[i].Epoch, items[i].Seq = env.Key, env.Epoch, env.Seq
	}
	return items, err
}

// heard does what events that came mean to the schedule and to readers. added are
// the dates of the items that were new, by feed, zero where they say none.
func (d *desk) heard(all []heard, added map[string][]time.Time) {
	for _, h := range all {
		ch := d.channels[h.url]
		if ch == nil {
			continue
		}
		ch.fresh.gaps.came(h.env)
		if h.env.Kind == signing.Event {
			ch.count.events++
		} else {
			ch.count.beats++
		}
		if at := time.Now().Add(-h.ago); at.After(ch.count.lastEvent) {
			ch.count.lastEvent = at
		}
		if h.bad {
			ch.standing.refused.Count(whyPayload)
		}
		if !asks(h.env) {
			d.outcomes++
		}
		d.outcome(ch, h, added[h.url])
		news := len(added[h.url]) > 0
		ch.account.heard(d.moment(ch), len(h.env.Wire()), news)
		if news {
			ch.count.items = -1
			ch.wakeSubs()
			ch.spared(h.ago)
		}
		ch.refresh(news)
		d.arm(ch)
	}
}

// outcome counts an event as a poll's, or as the publisher's sign of life.
func (d *desk) outcome(ch *channel, h heard, added []time.Time) {
	now := d.now()
	switch {
	case !h.speaks && (h.bad || h.env.Media == signing.Keys):
		return // nobody knows what it found
	case asks(h.env):
		ch.sched.Asking(now, h.ago, schedule.Source(h.env.Key))
		return
	case !h.speaks:
		ch.sched.Heard(now, h.ago, schedule.Source(h.env.Key))
		d.learn(ch, d.node.life.wall(now-h.ago), added)
		return
	case h.bad, h.broken:
		d.missing(multicast.Notice{Kind: multicast.Missing, Group: ch.group, Stamp: stampOf(h.env)})
	}
	if h.env.Time.Before(ch.word) {
		return // it has said something else since
	}
	ch.word = h.env.Time
	ch.fresh.heard(&h, time.Now())
	ttl := min(h.env.TTL, longestPoll) // or one careless promise would silence everybody for months
	ch.sched.Published(now, h.ago, ttl)
	ch.standing.promise(time.Now().Add(2*ttl - h.ago))
}
