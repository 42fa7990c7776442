package polite

import (
	"encoding/json"
	"fmt"
	"time"
)

// State is what a client remembers of one document between two requests. The zero
// value is a document that was never asked for. It is to be kept over restarts.
type State struct {
	Seed       uint64     // what tells this document's jitter from another's
	Asked      time.Time  // when the last request ended
	NotBefore  time.Time  // no poll begins before
	Barred     time.Time  // no request at all begins before, whoever says that there is news
	Validators Validators // to ask with
	Body       [16]byte   // what the last body hashed to
	Fresh      time.Duration
	Wishes     Wishes
	Move       Move
	Trouble    Trouble
}

// Validators are an origin's ETag and Last-Modified byte for byte, and the URL
// whose they are. An empty From is not known.
type Validators struct{ ETag, LastModified, From string }

// None reports that there is nothing to make a request conditional with.
func (v Validators) None() bool { return v.ETag == "" && v.LastModified == "" }

// Wishes are what a document itself asks of those who poll it.
type Wishes struct {
	TTL    time.Duration // RSS ttl
	Period time.Duration // sy:updatePeriod divided by sy:updateFrequency
	Hours  uint32        // RSS skipHours: bit h is the hour that begins at h:00 GMT
	Days   uint8         // RSS skipDays: bit d is time.Weekday d, GMT
}

// Move is where permanent redirects led, on how many polls in a row, and since when.
type Move struct {
	To    string
	Seen  int
	Since time.Time
}

// Trouble is what is wrong now; the zero value is nothing.
type Trouble struct {
	Reason string // typed, for programs: "DNS", "status 503", …
	Fails  int    // in a row
	Gone   bool   // 410: the document is not polled any more
}

// Target is the URL to ask for the document at url: another one if url is known to
// have moved for good.
func (s State) Target(url string) string {
	if s.Move.To != "" && s.Move.Seen >= Confirmations {
		return s.Move.To
	}
	return url
}

// Held is the validators to send to a URL.
func (s State) Held(url string) Validators {
	if s.Validators.From == "" || s.Validators.From == url {
		return s.Validators
	}
	return Validators{}
}

// Settled is the state as seen at a time that may be by another clock than the one
// it was made by: if the last request would be in the future, the clock was set
// back, and all of it moves back as far.
func (s State) Settled(now time.Time) State {
	ahead := s.Asked.Sub(now)
	if s.Asked.IsZero() || ahead <= 0 {
		return s
	}
	s.Asked, s.NotBefore, s.Barred = now, s.NotBefore.Add(-ahead), s.Barred.Add(-ahead)
	return s
}

// wire is how a state is written. Validators and NotBefore have columns of their
// own where states are kept, but a state is whole without them.
type wire struct {
	Seed      uint64 `json:"s,omitempty"`
	Asked     int64  `json:"a,omitempty"` // milliseconds since 1970
	NotBefore int64  `json:"n,omitempty"`
	Barred    int64  `json:"x,omitempty"`
	ETag      string `json:"e,omitempty"`
	Modified  string `json:"l,omitempty"`
	From      string `json:"u,omitempty"`
	Body      []byte `json:"b,omitempty"`
	Fresh     int64  `json:"f,omitempty"` // milliseconds, as all durations
	TTL       int64  `json:"t,omitempty"`
	Period    int64  `json:"p,omitempty"`
	Hours     uint32 `json:"h,omitempty"`
	Days      uint8  `json:"d,omitempty"`
	To        string `json:"m,omitempty"`
	Seen      int    `json:"c,omitempty"`
	Since     int64  `json:"w,omitempty"`
	Reason    string `json:"r,omitempty"`
	Fails     int    `json:"k,omitempty"`
	Gone      bool   `json:"g,omitempty"`
}

// MarshalJSON writes the state compactly, to the millisecond.
func (s State) MarshalJSON() ([]byte, error) {
	w := wire{
		Seed: s.Seed, Asked: millis(s.Asked), NotBefore: millis(s.NotBefore), Barred: millis(s.Barred),
		ETag: s.Validators.ETag, Modified: s.Validators.LastModified, From: s.Validators.From,
		Fresh: s.Fresh.Milliseconds(), TTL: s.Wishes.TTL.Milliseconds(), Period: s.Wishes.Period.Milliseconds(),
		Hours: s.Wishes.Hours, Days: s.Wishes.Days, To: s.Move.To, Seen: s.Move.Seen, Since: millis(s.Move.Since),
		Reason: s.Trouble.Reason, Fails: s.Trouble.Fails, Gone: s.Trouble.Gone,
	}
	if s.Body != [16]byte{} {
		w.Body = s.Body[:]
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *State) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("state of an origin: %w", err)
	}
	*s = State{
		Seed: w.Seed, Asked: moment(w.Asked), NotBefore: moment(w.NotBefore), Barred: moment(w.Barred),
		Validators: Validators{w.ETag, w.Modified, w.From}, Fresh: duration(w.Fresh),
		Wishes: Wishes{duration(w.TTL), duration(w.Period), w.Hours, w.Days},
		Move:   Move{w.To, w.Seen, moment(w.Since)}, Trouble: Trouble{w.Reason, w.Fails, w.Gone},
	}
	copy(s.Body[:], w.Body)
	return nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func duration(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), Never.Milliseconds())) * time.Millisecond
}
