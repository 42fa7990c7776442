package schedule

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Never is a time that does not come.
const Never = time.Duration(1<<63 - 1)

const (
	crossing   = 5 * time.Second // the longest grace
	maxBackoff = time.Hour
	quickStart = time.Minute // how long a restarted node listens before it asks again
)

// Source is who spoke, as long as it tells sources apart.
type Source = [32]byte

// Config is what the decision depends on besides what is heard.
type Config struct {
	Interval time.Duration // T; more than zero
	Overload int           // N; 0: 1
	Off      bool          // do not poll for others
}

// Action is what is due.
type Action uint8

// What can be due.
const (
	None     Action = iota
	Poll            // ask the origin, then call Polled
	Announce        // publish what the first fetch found, then call Announced
)

// Volunteer is one node's decision about one feed. It is not safe for
// concurrent use.
type Volunteer struct {
	cfg      Config
	rng      *rand.Rand
	start    time.Duration
	outcomes []time.Duration // the latest N, own included, oldest first
	own      own
	live     time.Duration // the publisher is, until then
	after    time.Duration // no poll before
	alone    bool

	next time.Duration
	what Action
}

// own is what this node itself did.
type own struct {
	at     time.Duration
	ever   bool
	mine   bool     // this node polled last
	untold bool     // and nobody knows yet what it found
	others []Source // who spoke since
	early  float64  // how much of the tenth of T this round leaves out
	fails  int
}

// New makes the decision for a feed whose origin was not asked yet, or not since
// the program started: Heard with an age and Last tell what was before.
func New(now time.Duration, cfg Config, rng *rand.Rand) *Volunteer {
	if cfg.Interval <= 0 {
		panic("schedule: an interval must be positive")
	}
	cfg.Overload = min(max(cfg.Overload, 1), 64)
	v := &Volunteer{cfg: cfg, rng: rng, start: now}
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

// Active reports whether this node polls the feed for everybody: it polled last
// and nobody has taken over.
func (v *Volunteer) Active(now time.Duration) bool {
	return v.own.mine && !v.Live(now) && !v.cfg.Off
}

// Live reports whether the publisher keeps its promise.
func (v *Volunteer) Live(now time.Duration) bool { return now < v.live }

// Interval returns T.
func (v *Volunteer) Interval() time.Duration { return v.cfg.Interval }

// Fetched tells of the first fetch of a new subscriber.
func (v *Volunteer) Fetched(now time.Duration) {
	v.own = own{at: now, ever: true, untold: !v.cfg.Off && !v.observed(now)}
	v.plan(now)
}

// Last tells of a fetch some time before the program started.
func (v *Volunteer) Last(now, ago time.Duration) {
	if at := now - max(ago, 0); !v.own.ever || at > v.own.at {
		v.own.at, v.own.ever = at, true
		v.outcome(at)
		v.plan(now)
	}
}

// Polled tells how a poll ended: with an outcome, or without.
func (v *Volunteer) Polled(now time.Duration, ok bool) {
	fails := v.own.fails + 1
	v.own = own{at: now, ever: true, mine: ok, early: v.rng.Float64()}
	if ok {
		v.outcome(now)
	} else {
		v.own.fails = fails
		v.after = max(v.after, now+v.backoff(fails))
	}
	v.plan(now)
}

// Announced tells that what Fetched told of is known to everybody now.
func (v *Volunteer) Announced(now time.Duration) {
	if v.own.untold {
		v.own.untold, v.own.mine, v.own.early = false, true, v.rng.Float64()
		v.outcome(v.own.at)
	}
	v.plan(now)
}

// Heard tells of another volunteer's outcome, said so long ago.
func (v *Volunteer) Heard(now, ago time.Duration, by Source) {
	at := now - max(ago, 0)
	if at <= now-v.cfg.Interval {
		return // too old to say anything about this interval
	}
	v.outcome(at)
	v.own.untold = false
	if v.own.mine && at > v.own.at+v.grace() && !slices.Contains(v.own.others, by) {
		v.own.others = append(v.own.others, by)
		v.yield()
	}
	v.plan(now)
}

// Published tells of the publisher's latest event or heartbeat, said so long ago,
// and of the TTL it promised with it, which replaces what it promised before: a
// TTL of 0 takes it back.
func (v *Volunteer) Published(now, ago, ttl time.Duration) {
	until := now - max(ago, 0) + 2*ttl
	v.live = min(v.live, now)
	if ttl <= 0 || until <= now {
		v.plan(now)
		return
	}
	v.live = until
	v.own.mine, v.own.untold = false, false
	for range v.cfg.Overload {
		v.outcome(now - max(ago, 0))
	}
	v.plan(now)
}

// SetInterval changes T.
func (v *Volunteer) SetInterval(now, interval time.Duration) {
	if interval > 0 && interval != v.cfg.Interval {
		v.cfg.Interval = interval
		v.plan(now)
	}
}

// SetOff changes whether this node may poll for others.
func (v *Volunteer) SetOff(now time.Duration, off bool) {
	if off != v.cfg.Off {
		v.cfg.Off = off
		v.own.untold = v.own.untold && !off
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

// outcome notes when an outcome was known.
func (v *Volunteer) outcome(at time.Duration) {
	i, _ := slices.BinarySearch(v.outcomes, at)
	v.outcomes = slices.Insert(v.outcomes, i, at)
	if extra := len(v.outcomes) - v.cfg.Overload; extra > 0 {
		v.outcomes = slices.Delete(v.outcomes, 0, extra)
	}
}

// yield ends this node's turn if enough others poll.
func (v *Volunteer) yield() {
	enough := v.cfg.Overload
	if v.cfg.Off {
		enough = 1
	}
	if len(v.own.others) >= enough {
		v.own.mine, v.own.others = false, nil
	}
}

func (v *Volunteer) grace() time.Duration { return min(v.cfg.Interval/10, crossing) }

// observed reports whether enough outcomes were heard in the last interval.
func (v *Volunteer) observed(now time.Duration) bool {
	return len(v.outcomes) == v.cfg.Overload && v.outcomes[0] > now-v.cfg.Interval || v.Live(now)
}
