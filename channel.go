package feedtree

import (
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// channel is one feed this node follows or publishes. The desk owns it; ledger,
// standing and facts are safe for anybody.
type channel struct {
	url        string
	group      multicast.Group
	ledger     *ledger
	standing   *standing
	sched      *schedule.Volunteer
	facts      atomic.Pointer[facts]
	touched    func() // tells the watchers
	account    account
	work       work
	count      counts
	subs       map[*Subscription]struct{}
	publishing int       // publishers of this node that speak for it
	word       time.Time // when the publisher spoke last, by its own clock
	fresh      freshness
	alarm      alarm
}

// work is what the channel's origin is asked for.
type work struct {
	busy     bool
	quiet    bool           // this node may not poll for others
	unwanted bool           // because the feed asks for it
	apart    bool           // there is no place in its tree: this node polls for itself
	habit    schedule.Habit // what its polls have taught, whoever made them
	least    time.Duration  // what the origin's limits allow one client
	crowd    int            // nodes in the feed's tree, 0 if that is not known
	size     int64          // bytes of the document, as last transferred in full; 0: not since the start
	told     bool           // all that the origin's document holds is known in the tree
	askAt    time.Duration  // a fetch out of turn, 0: none
	askedAt  time.Duration  // when the last such fetch was begun
	asked    bool
	nudge    bool // the fetch out of turn is about an unknown key
	hint     hinting

	barred time.Duration // nobody may ask the origin before, whatever for
	slot   time.Duration // the time reserved at its hosts, 0: none
	hosts  []string      // where the request under way was begun
}

// counts is what a status shows.
type counts struct {
	events, beats uint64
	requests      uint64
	lastEvent     time.Time
	title         string
	items         int // -1: to be counted
}

// facts is what Subscription.State reads at any time. It is replaced, never
// changed.
type facts struct {
	state      DocState
	freshUntil time.Time
}

func (n *Node) newChannel(rec store.Feed, requests uint64) *channel {
	ch := &channel{
		url:      rec.URL,
		group:    multicast.Group(rec.Group),
		ledger:   newLedger(n.config.Store, rec),
		standing: newStanding(&rec, n.config.Witnesses),
		subs:     map[*Subscription]struct{}{},
		count:    counts{requests: requests, items: -1},
		touched:  n.watchers.tell,
	}
	ch.alarm.pos = -1
	if err := n.recallForks(n.life.ctx, ch.standing); err != nil {
		n.complain(n.life.ctx, "cannot read who lied about a feed", rec.URL, err)
	}
	if err := n.recallWays(n.life.ctx, rec.URL); err != nil {
		n.complain(n.life.ctx, "cannot read how a feed's items came", rec.URL, err)
	}
	return ch
}

// local reports whether the feed stays out of the overlay.
func (ch *channel) local() bool { return ch.ledger.record().Local != "" }

// refresh makes State say what is true now. changed says that Document may
// return something else than before.
func (ch *channel) refresh(changed bool) {
	rec := ch.ledger.record()
	f := facts{state: DocState{
		Version: 1, Fetched: rec.Fetched, LastEvent: ch.count.lastEvent, Local: rec.Local, Failure: rec.Failure,
	}}
	if old := ch.facts.Load(); old != nil {
		f.state.Version = old.state.Version
	}
	if changed {
		f.state.Version++
	}
	vouched := rec.Fetched
	if ch.count.lastEvent.After(vouched) {
		vouched = ch.count.lastEvent
	}
	f.freshUntil = vouched.Add(2*rec.Interval + 10*time.Second)
	if live := ch.standing.liveUntil(); live.After(f.freshUntil) {
		f.freshUntil = live
	}
	ch.facts.Store(&f)
	if ch.sched != nil {
		ch.standing.bench.spaced(ch.sched.Spacing())
	}
	ch.touched()
}

// wakeSubs tells the subscriptions that the store holds something new.
func (ch *channel) wakeSubs() {
	for s := range ch.subs {
		select {
		case s.wake <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// deadline is when the channel next wants to be looked at.
func (ch *channel) deadline() time.Duration {
	at := schedule.Never
	if ch.work.busy {
		return at
	}
	if ch.publishing == 0 && !ch.ledger.record().Asked.IsZero() {
		at = ch.sched.Deadline()
	}
	if at = min(at, ch.askAt()); at == schedule.Never {
		return at
	}
	return max(at, ch.work.slot)
}

// askAt is when the origin is asked out of turn.
func (ch *channel) askAt() time.Duration {
	at := ch.work.hint.due()
	if ch.work.askAt != 0 {
		at = min(at, ch.work.askAt)
	}
	if at == schedule.Never {
		return at
	}
	return max(at, ch.work.barred)
}

// missing asks the origin soon for what no node in the tree had (FeedTree
// §4.5.2: the fallback). Everybody misses it at once. Anybody can leave holes in
// a line of his own: for a volunteer's, the questions are spread widely, or he
// could turn all subscribers on the origin.
func (d *desk) missing(n multicast.Notice) {
	ch := d.groups[n.Group]
	if ch == nil || ch.publishing > 0 {
		return
	}
	t := ch.sched.Interval()
	within, apart, earliest := t/2, t, ch.sched.Earliest()
	switch {
	case ch.standing.policy.Load().names(signing.PublicKey(n.Stamp.Source)):
		ch.fresh.gaps.missed(n, time.Now())
		within, apart, earliest = min(2*time.Second, t/2), t/2, ch.work.barred
	case ch.work.askAt != 0:
		return // another draw would only come earlier
	}
	soon := max(d.now()+d.upTo(within), earliest)
	if ch.work.asked {
		soon = max(soon, ch.work.askedAt+max(apart, 5*time.Second))
	}
	if ch.work.askAt == 0 || soon < ch.work.askAt {
		ch.work.askAt = soon
	}
	d.arm(ch)
}

// nudge asks the origin who may speak for the feed: somebody unknown does.
func (d *desk) nudge(url string) {
	ch := d.channels[url]
	if ch == nil {
		return
	}
	at := max(d.now(), ch.work.barred)
	if ch.work.asked {
		at = max(at, ch.work.askedAt+max(ch.sched.Interval(), time.Minute))
	}
	if ch.work.askAt == 0 || at < ch.work.askAt {
		ch.work.askAt = at
	}
	ch.work.nudge = true
	d.arm(ch)
}
