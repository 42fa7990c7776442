package feedtree

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// freshness is up to when nothing of a feed is missing, as its publisher proves:
// each of its words names the head of its line and the time. The desk owns it.
type freshness struct {
	asOf   time.Time // its latest word up to which the line is whole here
	silent time.Time // since when it breaks its promise; zero: it does not
	gaps   gaps
}

// heard notes a word of the publisher.
func (f *freshness) heard(h *heard, now time.Time) {
	f.silent = time.Time{}
	at := h.env.Time
	if at.After(now) {
		at = now // its clock is ahead; it knew nothing of the time to come
	}
	if h.whole && at.After(f.asOf) {
		f.asOf = at
	}
}

// overdue notes that the publisher promised a sign of life and gave none (FeedTree
// §4.5.2). Whoever volunteers takes over by the schedule, which does not take it for
// live any more.
func (d *desk) overdue(n multicast.Notice) {
	ch := d.groups[n.Group]
	if ch == nil || ch.publishing > 0 || !ch.standing.policy.Load().names(signing.PublicKey(n.Stamp.Source)) {
		return
	}
	if ch.fresh.silent.IsZero() {
		ch.fresh.silent = time.Now().Add(-n.After)
		d.node.config.Log.Info("a publisher is silent: whoever volunteers asks the feed itself", "feed", ch.url, "for", n.After.Round(time.Second))
	}
	ch.refresh(false)
	d.arm(ch)
}

// freshAsOf is up to when nothing of the feed is missing here.
func (ch *channel) freshAsOf() time.Time {
	if at := ch.ledger.record().Fetched; at.After(ch.fresh.asOf) {
		return at
	}
	return ch.fresh.asOf
}

// broken reports whether something may be missing before the first word of a
// publisher's epoch: what it names as the last before is not held here. Nothing is
// missing by who held nothing yet.
func (in *intake) broken(env *signing.Envelope, batch []store.Envelope) bool {
	line := lineKey{env.Group, env.Key}
	first := env.Seq == 0 || env.Kind == signing.Event && env.Seq == 1
	if gap, ok := in.gaps[line]; ok && env.Kind == signing.Event && env.Hash() == gap.before || time.Now().After(gap.until) {
		delete(in.gaps, line) // what comes now shows whether that is all
	}
	if !first || env.Kind == signing.Heartbeat && in.epochs[line] >= env.Epoch {
		return false
	}
	in.epochs[line] = max(in.epochs[line], env.Epoch)
	held, err := in.node.config.Store.Envelopes(context.Background(), env.Group, -1)
	if err != nil {
		return true
	}
	any := false
	for _, e := range append(held, batch...) {
		if e.Source != env.Key || e.Epoch >= env.Epoch {
			continue
		}
		any = true
		if before, err := signing.Open(e.Wire); err == nil && before.Line().Head == env.Prev && env.Prev != [32]byte{} {
			return false
		}
	}
	if any && env.Prev != [32]byte{} {
		in.gaps[line] = epochGap{before: env.Prev, until: time.Now().Add(gapPatience)}
	}
	return any
}

// epochGap is that the end of an epoch is missing. The line's cursor stays before it,
// so that it is asked for again after a restart, but not for ever: the source may
// have lost it, too.
type epochGap struct {
	before [32]byte // hash of the event that is missing
	until  time.Time
}

const gapPatience = time.Hour
