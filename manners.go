package feedtree

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
)

const (
	hostsSetting = "hosts"     // what is to be remembered of hosts that want to be asked less
	hostFull     = time.Second // how long a host with too many requests under way is left
	slotLasts    = time.Second // how long after its time a reserved one can be used
)

// stateOf is what is remembered of a feed's origin. What a former version kept, or
// what cannot be read, is begun anew from the rest of the record.
func stateOf(rec store.Feed) polite.State {
	var s polite.State
	if json.Unmarshal(rec.Origin, &s) != nil {
		s = polite.State{}
	}
	if s.Asked.IsZero() {
		s.Asked = rec.Fetched
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	s.NotBefore = rec.NotBefore
	s.Validators.ETag, s.Validators.LastModified = rec.Validators.ETag, rec.Validators.LastModified
	return s
}

// remember puts the state into a record. What has a field of its own there stands
// only there.
func remember(rec *store.Feed, s polite.State, h schedule.Habit) {
	rec.Validators = store.Validators{ETag: s.Validators.ETag, LastModified: s.Validators.LastModified}
	rec.NotBefore, rec.Moved = s.NotBefore, s.Move.To
	s.Validators.ETag, s.Validators.LastModified, s.NotBefore = "", "", time.Time{}
	inscribe(rec, s, h)
}

// origin is a feed as its client sees it. A host that is private by its own name
// was named by the user, so it is asked.
func origin(rec store.Feed) fetch.Feed {
	public, _ := feed.Public(rec.URL)
	f := fetch.Feed{URL: rec.URL, Local: !public, Delta: !rec.Fetched.IsZero(), State: stateOf(rec)}
	if rec.Local == whyPrivate || rec.Local == whyNoArchive {
		f.State.Body = [16]byte{} // the same document may be public again: it is looked at
	}
	return f
}

// spare keeps the channel's origin from being asked before its state allows it. The
// waits count from when the state was made: a clock that jumps since does not
// change them.
func (d *desk) spare(ch *channel, s polite.State, made time.Time) {
	now := d.now()
	ch.sched.NotBefore(now, now+max(s.NotBefore.Sub(made), 0))
	ch.work.barred = now + max(s.Barred.Sub(made), 0)
}

// turn reports whether a request to the channel's origin may begin, its hosts
// considered, and has begun it there if so. Otherwise the channel is looked at
// again when its turn comes.
func (d *desk) turn(ch *channel) bool {
	ch.work.hosts = origin(ch.ledger.record()).Hosts()
	reserved := ch.work.slot != 0 && d.now()-ch.work.slot < slotLasts
	at, ok := d.admit(ch.work.hosts, d.hosts.Reserve, reserved)
	ch.work.slot = at
	return ok
}

// admit begins a request to hosts, or returns when to try again. reserved says that
// the time it comes at was returned before.
func (d *desk) admit(hosts []string, reserve func(string, time.Time) time.Time, reserved bool) (again time.Duration, ok bool) {
	now := d.now()
	wall := d.node.life.wall(now)
	at := wall
	if !reserved {
		for _, h := range hosts {
			if slot := reserve(h, wall); slot.After(at) {
				at = slot
			}
		}
	}
	if at.After(wall) {
		return now + at.Sub(wall), false
	}
	for i, h := range hosts {
		if d.hosts.Begin(h, wall) {
			continue
		}
		for _, begun := range hosts[:i] {
			d.hosts.End(begun, polite.Answer{Kind: polite.Abandoned}, wall)
		}
		wait := min(hostFull, d.node.http.Rules().Conditional/10)
		if until := d.hosts.Paused(h, wall); !until.IsZero() {
			wait = until.Sub(wall) + d.upTo(wait)
		}
		return now + wait, false
	}
	return 0, true
}

// answered ends a request at the hosts it was begun at, and tells the one who
// answered what it said.
func (d *desk) answered(hosts []string, out fetch.Outcome) {
	wall := d.node.life.wall(d.now())
	if out.Result != nil {
		d.clock.heard(out.Host, out.Result.Date, time.Now())
	}
	for _, h := range hosts {
		a := out.Answer
		if h != out.Host {
			a = polite.Answer{Kind: polite.Abandoned}
		}
		d.unsaved = d.hosts.End(h, a, wall) || d.unsaved
	}
	if len(hosts) > 0 && out.Host != "" && !slices.Contains(hosts, out.Host) {
		d.unsaved = d.hosts.Heard(out.Host, out.Answer, wall) || d.unsaved
	}
	if d.unsaved && out.Result == nil {
		d.node.background(d.node.saveHosts) // what success changes can wait
	}
}

// await waits until a first request to hosts may begin, which it then has. One that
// could not begin before the caller gives up is refused at once.
func (n *Node) await(ctx context.Context, f fetch.Feed) error {
	hosts, reserved := f.Hosts(), false
	for {
		var again, now time.Duration
		ok := false
		err := n.desk.ask(ctx, func(d *desk) {
			now = d.now()
			if again = d.free(hosts); reserved || !late(ctx, again-now) {
				again, ok = d.admit(hosts, d.hosts.Introduce, reserved)
				reserved = true
			}
		})
		switch {
		case err != nil: // it may be done yet
			n.desk.post(func(d *desk) {
				if ok {
					d.answered(hosts, fetch.Outcome{})
				}
			})
			return err
		case ok:
			return nil
		case late(ctx, again-now):
			return &fetch.Error{Reason: fetch.Paused, URL: f.URL, RetryAfter: again - now}
		}
		timer := time.NewTimer(again - now)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-n.life.ctx.Done():
			timer.Stop()
			return ErrClosed
		}
	}
}

// free is when a request to hosts could begin.
func (d *desk) free(hosts []string) time.Duration {
	now := d.now()
	wall, at := d.node.life.wall(now), now
	for _, h := range hosts {
		at = max(at, now+d.hosts.Free(h, wall).Sub(wall))
	}
	return at
}

const longestTurn = time.Minute // that a caller waits for who sets no limit

// late reports that a wait would be longer than the caller's.
func late(ctx context.Context, wait time.Duration) bool {
	if end, ok := ctx.Deadline(); ok {
		return wait > time.Until(end)
	}
	return wait > longestTurn
}

// saveHosts remembers the hosts that want to be asked less.
func (n *Node) saveHosts(ctx context.Context) {
	var doc []byte
	err := n.desk.ask(ctx, func(d *desk) {
		if d.unsaved {
			doc, d.unsaved = d.hosts.Save(d.node.life.wall(d.now())), false
		}
	})
	if err != nil || doc == nil {
		return // the node closes
	}
	if err := n.config.Store.PutSetting(ctx, hostsSetting, doc); err != nil {
		n.complain(ctx, "cannot remember which hosts want to be asked less", "", err)
	}
}

// loadHosts takes up what saveHosts remembered.
func (d *desk) loadHosts(ctx context.Context) {
	doc, _, err := d.node.config.Store.Setting(ctx, hostsSetting)
	if err == nil {
		err = d.hosts.Load(doc, d.node.life.wall(d.now()))
	}
	if err != nil {
		d.node.complain(ctx, "cannot read which hosts want to be asked less", "", err)
	}
}
