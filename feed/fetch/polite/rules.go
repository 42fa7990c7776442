package polite

import (
	"cmp"
	"math"
	"time"
)

// Rules say how long to leave origins alone. A zero field means its default.
type Rules struct {
	Conditional   time.Duration // between conditional requests for one document; 1 h
	Unconditional time.Duration // between unconditional ones; 24 × Conditional
	Hint          time.Duration // from a failed request to one that a hint asks for; Conditional / 12
	Longest       time.Duration // no document or failure keeps longer from asking; 24 h, or Conditional
	LongestRetry  time.Duration // nor does a Retry-After; 7 days, or Longest
	Gap           time.Duration // between the beginnings of requests to one host; Conditional / 3600
	PerHost       int           // requests to one host at a time; 3
}

// Confirmations is how many polls in a row must meet the same permanent redirect
// before its target is asked directly. One alone may be a mistake, or the page
// of a network that wants a login.
const Confirmations = 2

// Recheck is how long a permanent redirect is followed from memory before the
// document's own URL is asked again: who once could answer for a server must not
// have its feed for ever.
const Recheck = 7 * 24 * time.Hour

// Never is a wait that does not end.
const Never = 100 * 365 * 24 * time.Hour

// WithDefaults returns the rules with zero fields filled in.
func (r Rules) WithDefaults() Rules {
	r.Conditional = cmp.Or(r.Conditional, time.Hour)
	r.Unconditional = cmp.Or(r.Unconditional, 24*r.Conditional)
	r.Hint = cmp.Or(r.Hint, r.Conditional/12)
	r.Longest = cmp.Or(r.Longest, max(24*time.Hour, r.Conditional))
	r.LongestRetry = cmp.Or(r.LongestRetry, max(7*24*time.Hour, r.Longest))
	r.Gap = cmp.Or(r.Gap, r.Conditional/3600)
	r.PerHost = cmp.Or(r.PerHost, 3)
	return r
}

// Interval is the regular time between two polls of a document, without jitter,
// skipped hours and failures.
func (r Rules) Interval(s State) time.Duration {
	r = r.WithDefaults()
	least := r.Conditional
	if s.Validators.None() && s.Fresh <= 0 {
		least = r.Unconditional
	}
	return max(least, min(max(s.Fresh, s.Wishes.TTL, s.Wishes.Period), r.Longest))
}

// jitter is the part of a wait that is put on top of it. After a failure it is large:
// an outage is when many begin to wait at the same moment. After an answer it is a
// few seconds: whoever polls for others as well must not be late, or another takes
// it for dead and takes over.
func (r Rules) jitter(seed uint64, now time.Time, wait time.Duration, failed bool) time.Duration {
	most := min(wait/20, r.Conditional/1440)
	if failed {
		most = min(wait, 2*r.Conditional) / 20
	}
	return time.Duration(fraction(seed, uint64(now.UnixNano())) * float64(most))
}

// doubled is a wait after so many failures in a row.
func doubled(first time.Duration, fails int, most time.Duration) time.Duration {
	if fails > 30 || float64(first)*math.Pow(2, float64(fails-1)) > float64(most) {
		return most
	}
	return first << max(fails-1, 0)
}

// fraction is a number in [0, 1) that two others determine (splitmix64).
func fraction(a, b uint64) float64 {
	z := a ^ b*0x9e3779b97f4a7c15
	for range 2 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return float64(z>>11) / (1 << 53)
}
