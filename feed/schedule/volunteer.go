package schedule

import (
	"math/rand/v2"
	"time"
)

// Never is a time that does not come.
const Never = time.Duration(1<<63 - 1)

const (
	quickStart   = time.Minute // how long a restarted node listens before it asks again
	longestPause = 24 * time.Hour
	mostOverload = 64
)

// Source is who spoke, as long as it tells sources apart.
type Source = [32]byte

// Config is what the decision depends on besides what is heard.
type Config struct {
	Interval time.Duration // T, between the polls of one who polls alone; more than zero
	Overload int           // N; 0: 1
	Least    time.Duration // what the origin's limits allow one client; all volunteers together poll no faster
	Self     Source        // whom others hear when this node speaks
	Off      bool          // do not poll for others
}

// Action is what is due.
type Action uint8

// What can be due.
const (
	None     Action = iota
	Poll            // ask the origin, then call Polled
	Announce        // publish what the first fetch found, then call Announced
	Claim           // tell the others that this node asks next, then call Claimed
)

// Volunteer is one node's decision about one feed. It is not safe for
// concurrent use.
type Volunteer struct {
	cfg   Config
	rng   *rand.Rand
	start time.Duration
	last  request
	ahead ahead
	fails int // requests in a row, by whomever, that had no outcome
	round round
	crew  crew
	past  past
	heard counter
	own   own
	fair  time.Duration // when one polled last who had waited as long as this node
	live  time.Duration // the publisher is, until then
	after time.Duration // no poll before
	alone bool

	next time.Duration
	what Action
}

// request is the latest one to the origin that is known, by whomever.
type request struct {
	at   time.Duration
	by   Source
	ever bool
	ok   bool // its outcome is known
}

// ahead is who said that it asks at the turn that comes next.
type ahead struct {
	by   Source
	ever bool // somebody has
}

// round is what chance decides between two requests, each in [0, 1).
type round struct {
	jitter   float64
	takeover float64
}

// own is what this node itself did.
type own struct {
	at      time.Duration // when it asked the origin last
	ever    bool
	untold  bool // nobody knows yet what it found
	claimed bool // the others were told that it asks next
	claim   time.Duration
	fails   int
}

// New makes the decision for a feed whose origin was not asked yet, or not since
// the program started: Heard with an age and Last tell what was before.
func New(now time.Duration, cfg Config, rng *rand.Rand) *Volunteer {
	if cfg.Interval <= 0 {
		panic("schedule: an interval must be positive")
	}
	cfg.Overload = overload(cfg.Overload)
	v := &Volunteer{cfg: cfg, rng: rng, start: now, fair: now}
	v.deal()
	v.plan(now)
	return v
}

// Deadline is when something is due at the earliest, Never if nothing is
// planned.
func (v *Volunteer) Deadline() time.Duration { return v.next }

// Due says what is to be done now. Whoever begins it asks again only after
// telling the result.
func (v *Volunteer) Due(now time.Duration) Action {
	if v.next > now {
		return None
	}
	return v.what
}

// Active reports whether this node is the one that polled last for everybody.
func (v *Volunteer) Active(now time.Duration) bool {
	polled := v.last.ever && v.last.ok && v.last.by == v.cfg.Self && v.own.fails == 0
	return polled && !v.own.untold && !v.Live(now) && !v.cfg.Off
}

// Live reports whether the publisher keeps its promise.
func (v *Volunteer) Live(now time.Duration) bool { return now < v.live }

// Interval returns T.
func (v *Volunteer) Interval() time.Duration { return v.cfg.Interval }

// Spacing is the time between two polls by all volunteers together: T/N, but not
// less than the origin's limits allow one client.
func (v *Volunteer) Spacing() time.Duration {
	return max(v.cfg.Interval/time.Duration(v.cfg.Overload), v.cfg.Least, 1)
}

// Outcomes is how many outcomes were heard of or found in the last T, at most 64.
func (v *Volunteer) Outcomes(now time.Duration) int { return v.heard.since(now - v.cfg.Interval) }

// Crew is how many are known to share the polls, this node included if it does.
func (v *Volunteer) Crew() int { return len(v.crew) }

// Member reports whether this node is one of them.
func (v *Volunteer) Member() bool {
	_, member := v.crew.rank(v.cfg.Self)
	return member && !v.cfg.Off && !v.alone
}

// Fetched tells of the first fetch of a new subscriber.
func (v *Volunteer) Fetched(now time.Duration) {
	v.own = own{at: now, ever: true, untold: !v.cfg.Off && !v.observed(now)}
	v.plan(now)
}

// Last tells of a fetch some time before the program started.
func (v *Volunteer) Last(now, ago time.Duration) {
	at := now - max(ago, 0)
	if !v.own.ever || at > v.own.at {
		v.own.at, v.own.ever = at, true
		v.asked(at, v.cfg.Self, true)
		v.plan(now)
	}
}

// Polled tells how a poll ended: with an outcome, or without.
func (v *Volunteer) Polled(now time.Duration, ok bool) {
	v.own.at, v.own.ever, v.own.untold, v.own.claimed = now, true, false, false
	if ok {
		v.own.fails = 0
		v.outcome(now, v.cfg.Self)
	} else {
		v.own.fails++
		v.crew = v.crew.without(v.cfg.Self)
	}
	v.plan(now)
}

// Asked tells that this node's failed request is known to the others: it was one
// request as any, if one without an outcome.
func (v *Volunteer) Asked(now time.Duration) {
	v.asked(now, v.cfg.Self, false)
	v.plan(now)
}

// Announced tells that what Fetched told of is known to everybody now.
func (v *Volunteer) Announced(now time.Duration) {
	if v.own.untold {
		v.own.untold = false
		v.outcome(now, v.cfg.Self)
	}
	v.plan(now)
}

// Claimed tells that the others know that this node asks next.
func (v *Volunteer) Claimed(now time.Duration) {
	v.own.claimed, v.own.claim = true, now
	v.plan(now)
}

// Heard tells of another volunteer's outcome, said so long ago.
func (v *Volunteer) Heard(now, ago time.Duration, by Source) {
	at := now - max(ago, 0)
	if at <= now-v.memory() {
		return // too old to say anything about this interval
	}
	v.own.untold = false
	v.own.claimed = v.own.claimed && v.crowdedOut() && v.rank(by) < v.rank(v.cfg.Self)
	v.outcome(at, by)
	v.plan(now)
}

// Asking tells that another one said, so long ago, that it asks the origin next,
// or that it has asked and has no outcome. The first word of one before the turn is
// the former.
func (v *Volunteer) Asking(now, ago time.Duration, by Source) {
	at := now - max(ago, 0)
	if at <= now-v.memory() || by == v.cfg.Self {
		return
	}
	if v.outranks(at, by) {
		return
	}
	v.own.claimed = false
	if at < v.turn() && !(v.ahead.ever && v.ahead.by == by) {
		v.ahead = ahead{by, true}
	} else {
		v.asked(at, by, false)
	}
	v.plan(now)
}

// Published tells of the publisher's latest event or heartbeat, said so long ago,
// and of the TTL it promised with it, which replaces what it promised before: a
// TTL of 0 takes it back.
func (v *Volunteer) Published(now, ago, ttl time.Duration) {
	until := now - max(ago, 0) + 2*ttl
	v.live = min(v.live, now)
	if ttl > 0 && until > now {
		v.live = until
		v.own.untold, v.own.claimed = false, false
		v.crew = nil
		v.asked(now-max(ago, 0), Source{}, true)
	}
	v.plan(now)
}

// SetInterval changes T and what the origin's limits allow one client.
func (v *Volunteer) SetInterval(now, interval, least time.Duration) {
	if interval > 0 && (interval != v.cfg.Interval || least != v.cfg.Least) {
		v.cfg.Interval, v.cfg.Least = interval, least
		v.plan(now)
	}
}

// SetOverload changes N.
func (v *Volunteer) SetOverload(now time.Duration, n int) {
	if n = overload(n); n != v.cfg.Overload {
		v.cfg.Overload = n
		v.plan(now)
	}
}

// Overload returns N.
func (v *Volunteer) Overload() int { return v.cfg.Overload }

func overload(n int) int { return min(max(n, 1), mostOverload) }

// SetOff changes whether this node may poll for others.
func (v *Volunteer) SetOff(now time.Duration, off bool) {
	if off != v.cfg.Off {
		v.cfg.Off = off
		v.own.untold, v.own.claimed = v.own.untold && !off, false
		v.plan(now)
	}
}

// NotBefore forbids polls before a time: the origin asked for it.
func (v *Volunteer) NotBefore(now, at time.Duration) {
	if at > v.after {
		v.after = at
		v.plan(now)
	}
}

// Earliest is the time before which nobody here may ask the origin, whatever for.
func (v *Volunteer) Earliest() time.Duration { return v.after }

// SetAlone tells whether there is nobody to listen to.
func (v *Volunteer) SetAlone(now time.Duration, alone bool) {
	if alone != v.alone {
		v.alone = alone
		v.plan(now)
	}
}

// outcome notes what a request found, and who shares the polls.
func (v *Volunteer) outcome(at time.Duration, by Source) {
	if by == v.cfg.Self || v.rank(by) >= v.rank(v.cfg.Self) {
		v.fair = max(v.fair, at)
	}
	v.heard.add(at)
	v.crew = v.crew.polled(at, by, v.crewSize(), v.settle())
	v.past = v.past.polled(at, by)
	v.asked(at, by, true)
}

// asked notes a request to the origin, by whomever.
func (v *Volunteer) asked(at time.Duration, by Source, ok bool) {
	if v.last.ever && at < v.last.at {
		return
	}
	switch {
	case ok:
		v.fails = 0
	case !v.last.ever || v.last.ok || at > v.last.at+v.Spacing()/2: // or it is about the same turn
		v.fails++
	}
	v.ahead = ahead{}
	v.last = request{at: at, by: by, ever: true, ok: ok}
	v.deal()
}

// deal draws what chance decides until the next request.
func (v *Volunteer) deal() { v.round = round{jitter: v.rng.Float64(), takeover: late(v.rng.Float64())} }

// observed reports whether somebody was heard in the last spacing.
func (v *Volunteer) observed(now time.Duration) bool {
	return v.last.ever && v.last.at > now-v.Spacing() || v.Live(now)
}

// memory is how far back what others did says anything about now.
func (v *Volunteer) memory() time.Duration {
	return max(v.cfg.Interval, time.Duration(v.crewSize()+1)*v.Spacing())
}
