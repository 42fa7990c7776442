package feedtree

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// Effort is what a node does for others.
type Effort struct {
	On       bool   `json:"on"`       // it polls feeds for others
	Feeds    int    `json:"feeds"`    // that it polled last, for everybody
	Crews    int    `json:"crews"`    // in which it has its turn
	Requests int    `json:"requests"` // to origins in the last hour whose outcome others heard
	Bytes    int64  `json:"bytes"`    // of documents in the last hour, as transferred
	Polls    uint64 `json:"polls"`    // since the start
	Deferred uint64 `json:"deferred"` // polls left to others at the limits, since the start

	MaxRequests int   `json:"max_requests"` // in an hour; 0: no limit
	MaxBytes    int64 `json:"max_bytes"`
}

const minutes = 60 // an hour is looked at by the minute

// effort is the desk's account of it.
type effort struct {
	off         bool
	maxRequests int
	maxBytes    int64
	spent       [minutes]struct {
		minute   int64
		requests int
		bytes    int64
	}
	polls, deferred uint64
}

func newEffort(p Polling) effort {
	return effort{off: p.Off, maxRequests: p.Requests, maxBytes: p.Bytes}
}

func (e *effort) add(now time.Duration, bytes int64) {
	m := int64(now / time.Minute)
	s := &e.spent[m%minutes]
	if s.minute != m || s.requests == 0 {
		s.minute, s.requests, s.bytes = m, 0, 0
	}
	s.requests++
	s.bytes += bytes
	e.polls++
}

// hour is what was spent in the last hour, at most a minute more.
func (e *effort) hour(now time.Duration) (requests int, bytes int64) {
	for m := int64(now / time.Minute); m >= 0 && m > int64(now/time.Minute)-minutes; m-- {
		if s := e.spent[m%minutes]; s.minute == m {
			requests += s.requests
			bytes += s.bytes
		}
	}
	return requests, bytes
}

// full reports whether a limit is reached, and until when at least.
func (e *effort) full(now time.Duration) (until time.Duration, full bool) {
	requests, bytes := e.hour(now)
	if (e.maxRequests <= 0 || requests < e.maxRequests) && (e.maxBytes <= 0 || bytes < e.maxBytes) {
		return 0, false
	}
	oldest := int64(now / time.Minute)
	for m := oldest; m >= 0 && m > int64(now/time.Minute)-minutes; m-- {
		if s := e.spent[m%minutes]; s.minute == m && s.requests > 0 {
			oldest = m
		}
	}
	return time.Duration(oldest+minutes) * time.Minute, true
}

// spent reports whether what is due for a channel has to be left to others, because
// this node has done enough for them in this hour.
func (d *desk) spent(ch *channel, what schedule.Action) bool {
	if ch.local() || ch.work.quiet || what != schedule.Poll && what != schedule.Claim {
		return false
	}
	until, full := d.effort.full(d.now())
	if full {
		d.effort.deferred++
		ch.sched.NotBefore(d.now(), until)
	}
	return full
}

// charge counts a request whose outcome others hear.
func (d *desk) charge(ch *channel, r result) {
	if ch.local() || ch.work.quiet {
		return
	}
	bytes := int64(0)
	if r.outcome.Result != nil {
		bytes = r.outcome.Result.BytesWire
	}
	d.effort.add(d.now(), bytes)
}

// quieten sets whether this node polls a channel for others.
func (d *desk) quieten(ch *channel) {
	ch.work.quiet = d.effort.off || ch.work.unwanted
	if !ch.local() {
		ch.sched.SetOff(d.now(), ch.work.quiet)
	}
}

// Volunteer switches polling for others on or off, until the node is closed. A node
// that does not volunteer still asks an origin once for a new feed, and when the
// tree brings nothing.
func (n *Node) Volunteer(ctx context.Context, on bool) error {
	return n.desk.ask(ctx, func(d *desk) {
		d.effort.off = !on
		for _, ch := range d.channels {
			d.quieten(ch)
			d.arm(ch)
		}
		n.watchers.tell()
	})
}

// LimitVolunteering sets the most that the node spends in an hour on polls whose
// outcome it tells others, until it is closed; 0 is no limit.
func (n *Node) LimitVolunteering(ctx context.Context, requests int, bytes int64) error {
	return n.desk.ask(ctx, func(d *desk) {
		d.effort.maxRequests, d.effort.maxBytes = requests, bytes
		n.watchers.tell()
	})
}

// report is the account as it is shown.
func (d *desk) report() Effort {
	e := &d.effort
	r := Effort{On: !e.off, Polls: e.polls, Deferred: e.deferred, MaxRequests: e.maxRequests, MaxBytes: e.maxBytes}
	r.Requests, r.Bytes = e.hour(d.now())
	for _, ch := range d.channels {
		if ch.local() || ch.publishing > 0 {
			continue
		}
		if ch.sched.Active(d.now()) {
			r.Feeds++
		}
		if ch.sched.Member() {
			r.Crews++
		}
	}
	return r
}
