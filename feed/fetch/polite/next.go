package polite

import "time"

// Kind is what an answer amounts to.
type Kind uint8

// The kinds of answers.
const (
	Document  Kind = iota + 1 // 200: a whole document
	Delta                     // 226: what is new since the version held (RFC 3229)
	Same                      // 304: the version held is current
	Refused                   // a status that brings no document
	Broken                    // something came, or nothing in time, and it is no document
	Unreached                 // no server was asked: DNS, connection
	Abandoned                 // the caller gave up: nothing is known
)

// Statuses that mean more than that there is no document.
const (
	statusGone        = 410
	statusTooMany     = 429
	statusUnavailable = 503
)

// Answer is what came of one request, as far as it matters for the next.
type Answer struct {
	Kind       Kind
	Status     int           // the last one, 0 if there was none
	Reason     string        // of a failure, for programs
	Validators Validators    // of Document, Delta and Same; what a 304 does not repeat is kept
	Fresh      time.Duration // how long the answer stays fresh (RFC 9111 §4.2)
	SaysFresh  bool          // the answer says so, even if it is not at all
	RetryAfter time.Duration // 0: not said
	Moved      string        // where permanent redirects at the beginning led, or ""
	Body       [16]byte      // of Document and Delta
	Wishes     *Wishes       // of a document that was read; nil: as before
}

// served reports an answer that confirms or brings a version of the document.
func (a Answer) served() bool { return a.Kind == Document || a.Kind == Delta || a.Kind == Same }

// busy reports an origin that wants to be left alone by everybody here.
func (a Answer) busy() bool { return a.Status == statusTooMany || a.Status == statusUnavailable }

// Next is the rule: what is remembered of a document after an answer that came at
// now, and the earliest time of the next poll, which is the state's NotBefore.
func (r Rules) Next(s State, a Answer, now time.Time) (State, time.Time) {
	if a.Kind == Abandoned {
		return s, s.NotBefore
	}
	r = r.WithDefaults()
	s = s.Settled(now)
	s.Asked = now
	var wait time.Duration
	if a.served() {
		s = s.served(a)
		wait = r.Interval(s)
	} else {
		s = s.failed(a)
		wait = r.backoff(s, a)
	}
	retry := min(a.RetryAfter, r.LongestRetry)
	wait = max(wait, retry)
	bar := retry
	switch {
	case a.busy(), s.Trouble.Gone:
		bar = wait
	case !a.served():
		bar = max(bar, r.Hint)
	}
	jitter := r.jitter(s.Seed, now, wait, !a.served())
	s.Barred = whole(now.Add(bar + min(jitter, bar)))
	s.NotBefore = whole(later(s.Wishes.allowed(now.Add(wait+jitter), fraction(s.Seed, 1)), s.Barred))
	return s, s.NotBefore
}

// served takes over what an answer says of the document.
func (s State) served(a Answer) State {
	s.Trouble = Trouble{}
	held := s.Validators
	s.Validators = a.Validators
	if a.Kind == Same {
		// RFC 9111 §3.2: what a 304 does not repeat stays as it was.
		if s.Validators.ETag == "" {
			s.Validators.ETag = held.ETag
		}
		if s.Validators.LastModified == "" {
			s.Validators.LastModified = held.LastModified
		}
	} else {
		s.Body, s.Fresh = a.Body, 0
	}
	if a.SaysFresh {
		s.Fresh = a.Fresh
	}
	if a.Wishes != nil {
		s.Wishes = *a.Wishes
	}
	s.Move = s.moved(a.Moved, s.Asked)
	return s
}

// moved counts how often the same permanent redirect was met. If its target was
// asked directly, only a further redirect is news.
func (s State) moved(to string, now time.Time) Move {
	switch {
	case to == "" && s.Move.Seen >= Confirmations && now.Sub(s.Move.Since) < Recheck:
		return s.Move
	case to == "":
		return Move{}
	case to == s.Move.To:
		return Move{to, min(s.Move.Seen+1, Confirmations), now}
	}
	return Move{to, 1, now}
}

// failed notes a failure. Where it is that of a remembered target, the document's
// own URL is tried next, and until then nothing is known to be gone.
func (s State) failed(a Answer) State {
	direct := s.Move.Seen < Confirmations
	s.Trouble = Trouble{Reason: a.Reason, Fails: s.Trouble.Fails + 1, Gone: direct && a.Status == statusGone}
	if !a.busy() {
		s.Move = Move{}
	}
	return s
}

// backoff is the wait after a failure.
func (r Rules) backoff(s State, a Answer) time.Duration {
	switch {
	case s.Trouble.Gone:
		return Never
	case a.Kind == Unreached:
		return doubled(r.Conditional/12, s.Trouble.Fails, r.Conditional)
	}
	wait := doubled(r.Conditional, s.Trouble.Fails, r.Longest)
	if a.Kind == Broken {
		// What it sent may have been as large as the document.
		wait = max(wait, r.Interval(s))
	}
	return wait
}

// allowed is t, or the next time after it that is in no hour or day to be skipped.
// A document that skips all of them is not believed. part says where in the hour
// to begin, so that not everybody begins when the hour does.
func (w Wishes) allowed(t time.Time, part float64) time.Time {
	if w.Hours == 0 && w.Days == 0 {
		return t
	}
	at := t.UTC()
	for range 8 * 24 {
		if w.Hours>>at.Hour()&1 == 0 && w.Days>>at.Weekday()&1 == 0 {
			return at
		}
		at = at.Truncate(time.Hour).Add(time.Hour + time.Duration(part*float64(10*time.Minute)))
	}
	return t
}

// whole is t, rounded up to what a state keeps of it.
func whole(t time.Time) time.Time {
	if cut := t.Truncate(time.Millisecond); cut.Before(t) {
		return cut.Add(time.Millisecond)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
