package polite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Hosts paces the requests to each host, whatever documents they are for. It is
// not safe for concurrent use.
type Hosts struct {
	rules Rules
	hosts map[string]*host
	sweep int // how many there may be before the idle ones are forgotten
}

// host is what is known of one.
type host struct {
	next  time.Time     // when the next request may begin
	until time.Time     // paused: it asked for it
	gap   time.Duration // wider than the rules' after it asked to be asked less
	fails int
	busy  int
}

const (
	sweepAt   = 1024
	mostSaved = 512 // hosts that are remembered over a restart
)

// NewHosts returns a pace for hosts of which nothing is known.
func NewHosts(r Rules) *Hosts {
	return &Hosts{rules: r.WithDefaults(), hosts: map[string]*host{}, sweep: sweepAt}
}

func (t *Hosts) of(name string, now time.Time) *host {
	h := t.hosts[name]
	if h == nil {
		if len(t.hosts) >= t.sweep {
			maps.DeleteFunc(t.hosts, func(_ string, h *host) bool { return h.idle(now) })
			t.sweep = max(2*len(t.hosts), sweepAt)
		}
		h = &host{}
		t.hosts[name] = h
	}
	return h
}

func (h *host) idle(now time.Time) bool {
	return h.busy == 0 && h.gap == 0 && h.fails == 0 && h.next.Before(now) && h.until.Before(now)
}

// Reserve returns when a request to the host may begin, and keeps the time free
// for it: whoever reserves next gets a later one.
func (t *Hosts) Reserve(name string, now time.Time) time.Time {
	return t.reserve(name, now, t.rules.Gap)
}

// Introduce is Reserve for a document that was never asked for. Such requests come
// once, and somebody waits for them: they may be four times closer, where the host
// has nothing against it.
func (t *Hosts) Introduce(name string, now time.Time) time.Time {
	return t.reserve(name, now, t.rules.Gap/4)
}

func (t *Hosts) reserve(name string, now time.Time, gap time.Duration) time.Time {
	h := t.of(name, now)
	at := later(now, later(h.next, h.until))
	h.next = at.Add(max(gap, h.gap))
	return at
}

// Paused returns until when the host wants to be left alone, the zero time if it
// does not.
func (t *Hosts) Paused(name string, now time.Time) time.Time {
	if h := t.hosts[name]; h != nil && h.until.After(now) {
		return h.until
	}
	return time.Time{}
}

// Free returns when a request could begin, without keeping the time free for it.
func (t *Hosts) Free(name string, now time.Time) time.Time {
	h := t.hosts[name]
	if h == nil {
		return now
	}
	return later(now, later(h.next, h.until))
}

// Begin begins a request whose reserved time has come, unless the host was paused
// meanwhile or has too many requests under way: then it must be reserved again.
// Each request begun must be ended.
func (t *Hosts) Begin(name string, now time.Time) bool {
	h := t.of(name, now)
	if h.until.After(now) || h.busy >= t.rules.PerHost {
		return false
	}
	h.busy++
	return true
}

// End tells how a request ended, and reports whether what is to be remembered over
// a restart changed.
func (t *Hosts) End(name string, a Answer, now time.Time) (changed bool) {
	h := t.of(name, now)
	h.busy = max(h.busy-1, 0)
	return t.Heard(name, a, now)
}

// Heard tells of an answer from a host that a redirect led to.
func (t *Hosts) Heard(name string, a Answer, now time.Time) (changed bool) {
	h := t.of(name, now)
	switch {
	case a.busy():
		h.fails++
		wait := min(a.RetryAfter, t.rules.LongestRetry)
		if wait <= 0 {
			wait = doubled(t.rules.Conditional/12, h.fails, t.rules.Longest)
		}
		h.until = later(h.until, now.Add(wait))
		if a.Status == statusTooMany {
			h.gap = min(max(2*h.gap, t.rules.Conditional/60), t.rules.Conditional)
		}
		return true
	case a.served() && (h.fails > 0 || h.gap > 0):
		h.fails = 0
		if h.gap -= h.gap / 32; h.gap <= 2*t.rules.Gap {
			h.gap = 0
		}
		return true
	}
	return false
}

// saved is a host as it is written.
type saved struct {
	Name  string `json:"host"`
	Until int64  `json:"until,omitempty"` // milliseconds since 1970
	Gap   int64  `json:"gap,omitempty"`   // milliseconds
	Fails int    `json:"fails,omitempty"`
}

// Save writes what is to be remembered over a restart: pauses, and wider gaps.
func (t *Hosts) Save(now time.Time) []byte {
	list := []saved{}
	for _, name := range slices.Sorted(maps.Keys(t.hosts)) {
		h := t.hosts[name]
		if !h.until.After(now) && h.gap == 0 {
			continue
		}
		s := saved{Name: name, Gap: h.gap.Milliseconds(), Fails: h.fails}
		if h.until.After(now) {
			s.Until = h.until.UnixMilli()
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b saved) int { return cmp.Compare(b.Until, a.Until) })
	doc, err := json.Marshal(list[:min(len(list), mostSaved)])
	if err != nil {
		panic("polite: hosts cannot be written: " + err.Error())
	}
	return doc
}

// Load takes up what Save wrote. A pause longer than the rules allow is cut: the
// clock may have been another.
func (t *Hosts) Load(doc []byte, now time.Time) error {
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil
	}
	var list []saved
	if err := json.Unmarshal(doc, &list); err != nil {
		return fmt.Errorf("the hosts to be left alone: %w", err)
	}
	for _, s := range list[:min(len(list), mostSaved)] {
		h := t.of(s.Name, now)
		h.fails = max(s.Fails, 0)
		h.gap = min(duration(s.Gap), t.rules.Conditional)
		if at := time.UnixMilli(s.Until); at.After(now) {
			h.until = now.Add(min(at.Sub(now), t.rules.LongestRetry))
		}
	}
	return nil
}
