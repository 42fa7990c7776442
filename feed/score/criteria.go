package score

import "time"

// Criterion is one of the eight.
type Criterion int

// The criteria.
const (
	Verbatim Criterion = iota
	Renewed
	Spaced
	Remembered
	Obedient
	Single
	Plain
	Named
	count
)

// Criteria are the eight, as feed owners put them.
var Criteria = [count]struct{ Name, Text string }{
	{"verbatim", "ETag and Last-Modified are sent back as they came, both, never made up"},
	{"renewed", "both are those of the last answer, 304 and unchanged 200 included"},
	{"spaced", "conditional requests an hour apart or more, unconditional ones a day"},
	{"remembered", "a restart forgets nothing, and asks for nothing in a burst"},
	{"obedient", "max-age, Retry-After and 410 are obeyed, a 304 is not asked for again"},
	{"single", "one GET when a feed is subscribed to"},
	{"plain", "no cookies, no referrer, nothing added to the query"},
	{"named", "a User-Agent with version and contact, and gzip"},
}

// String returns the criterion's short name.
func (c Criterion) String() string { return Criteria[c].Name }

// The limits. They are the origins', not any client's.
const (
	tolerance   = 2 * time.Second
	conditional = time.Hour
	whole       = 24 * time.Hour
	subscribing = 5 * time.Minute // further requests in this time after the first belong to it
	again       = time.Minute     // a 304 asked for again so soon is a retry
	pause       = 5 * time.Minute // after a 429 or 503 that does not say how long
	longestWait = 24 * time.Hour  // a max-age beyond it is not meant for feeds
	burstSpan   = 10 * time.Second
	burstCount  = 11 // requests of known documents of one host in the span
)

// Verdict is what came of one criterion.
type Verdict struct {
	Outcome Outcome
	Faults  int
	Why     string // the first fault, or why nothing can be said
}

// Outcome is pass, fail or neither.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota
	Pass
	Fail
)

// String returns "pass", "FAIL" or "?".
func (o Outcome) String() string { return [...]string{"?", "pass", "FAIL"}[o] }
