package polite

import (
	"fmt"
	"testing"
	"time"
)

const example = "news.example"

// Requests to one host are apart, those to others are not delayed by them.
func TestHostsArePaced(t *testing.T) {
	hosts := NewHosts(Rules{})
	for n := range 60 {
		if at := hosts.Reserve(example, noon); !at.Equal(noon.Add(time.Duration(n) * time.Second)) {
			t.Fatalf("request %d at %v", n, at)
		}
	}
	if at := hosts.Reserve("other.example", noon); !at.Equal(noon) {
		t.Errorf("another host waits until %v", at)
	}
	if at := hosts.Free(example, noon); !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("free at %v", at)
	}
	later := noon.Add(hour)
	if at := hosts.Reserve(example, later); !at.Equal(later) {
		t.Errorf("after an idle hour: %v", at)
	}
}

// A list of feeds that is new may be asked for faster, but not from a host that was
// asked too much already.
func TestIntroductionsAreCloser(t *testing.T) {
	hosts := NewHosts(Rules{})
	for n := range 60 {
		if at := hosts.Introduce(example, noon); !at.Equal(noon.Add(time.Duration(n) * time.Second / 4)) {
			t.Fatalf("request %d at %v", n, at)
		}
	}
	hosts.Heard("other.example", status(429, time.Second), noon)
	first := hosts.Introduce("other.example", noon)
	if gap := hosts.Introduce("other.example", noon).Sub(first); gap != time.Minute {
		t.Errorf("after a 429 %v apart", gap)
	}
}

func TestHostsHaveFewRequestsAtATime(t *testing.T) {
	hosts := NewHosts(Rules{PerHost: 2})
	for n, want := range []bool{true, true, false} {
		if hosts.Begin(example, noon) != want {
			t.Errorf("request %d begins: %v, want %v", n, !want, want)
		}
	}
	if !hosts.Begin("other.example", noon) {
		t.Error("another host is full too")
	}
	hosts.End(example, Answer{Kind: Same}, noon)
	if !hosts.Begin(example, noon) {
		t.Error("full after one has ended")
	}
}

// feeds.md 1.5: what one document's 429 says holds for its host.
func TestHostsArePaused(t *testing.T) {
	for name, c := range map[string]struct {
		answers []Answer
		want    time.Duration
	}{
		"an answer":               {[]Answer{doc()}, 0},
		"a 500":                   {[]Answer{status(500, hour)}, 0},
		"a 429":                   {[]Answer{status(429, 0)}, 5 * time.Minute},
		"the third in a row":      {[]Answer{status(429, 0), status(429, 0), status(429, 0)}, 20 * time.Minute},
		"the hundredth":           {append(make([]Answer, 0), repeat(status(429, 0), 100)...), day},
		"that says for how long":  {[]Answer{status(429, 40*time.Second)}, 40 * time.Second},
		"a 503":                   {[]Answer{status(503, 2*hour)}, 2 * hour},
		"the longest counts":      {[]Answer{status(503, 2*hour), status(429, time.Minute)}, 2 * hour},
		"ten years":               {[]Answer{status(503, 3660*day)}, 7 * day},
		"a caller that gave up":   {[]Answer{{Kind: Abandoned}}, 0},
		"an answer after a pause": {[]Answer{status(429, 0), doc(), status(429, 0)}, 5 * time.Minute},
	} {
		hosts := NewHosts(Rules{})
		for _, a := range c.answers {
			hosts.Heard(example, a, noon)
		}
		got := time.Duration(0)
		if until := hosts.Paused(example, noon); !until.IsZero() {
			got = until.Sub(noon)
		}
		if got != c.want || hosts.Begin(example, noon) != (c.want == 0) {
			t.Errorf("%s: paused for %v, want %v", name, got, c.want)
		}
		if at := hosts.Reserve(example, noon); at.Before(noon.Add(c.want)) {
			t.Errorf("%s: a time is reserved in the pause, %v", name, at)
		}
	}
}

func repeat(a Answer, n int) (list []Answer) {
	for range n {
		list = append(list, a)
	}
	return list
}

// After a 429 the requests are a minute apart, as Reddit has it since June 2026,
// and come closer again while all goes well.
func TestGapWidensAndNarrows(t *testing.T) {
	hosts := NewHosts(Rules{})
	now := noon
	gap := func() time.Duration {
		now = now.Add(day)
		first := hosts.Reserve(example, now)
		return hosts.Reserve(example, now).Sub(first)
	}
	hosts.Heard(example, status(429, time.Second), now)
	if got := gap(); got != time.Minute {
		t.Errorf("after a 429: %v", got)
	}
	hosts.Heard(example, status(429, time.Second), now)
	if got := gap(); got != 2*time.Minute {
		t.Errorf("after another: %v", got)
	}
	for range 200 {
		hosts.Heard(example, doc(), now)
	}
	if got := gap(); got != time.Second {
		t.Errorf("after 200 answers: %v", got)
	}
}

// Pauses and gaps outlive the process; a broken note is an error and no more.
func TestHostsAreKept(t *testing.T) {
	hosts := NewHosts(Rules{})
	hosts.Heard(example, status(429, hour), noon)
	hosts.Heard("fine.example", doc(), noon)
	kept := hosts.Save(noon)
	again := NewHosts(Rules{})
	if err := again.Load(kept, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if until := again.Paused(example, noon.Add(time.Minute)); !until.Equal(noon.Add(hour)) {
		t.Errorf("paused until %v from %s", until, kept)
	}
	if at := again.Reserve("fine.example", noon); !at.Equal(noon) {
		t.Errorf("a host that nothing is wrong with: %v", at)
	}
	if err := NewHosts(Rules{}).Load(nil, noon); err != nil {
		t.Error(err)
	}
	if err := NewHosts(Rules{}).Load([]byte("[{]"), noon); err == nil {
		t.Error("a broken note is taken")
	}
	// A clock that was far ahead when the note was made.
	far := NewHosts(Rules{})
	if err := far.Load(kept, noon.Add(-365*day)); err != nil || far.Paused(example, noon.Add(-365*day)).Sub(noon.Add(-365*day)) > 7*day {
		t.Errorf("paused until %v", far.Paused(example, noon.Add(-365*day)))
	}
}

func TestIdleHostsAreForgotten(t *testing.T) {
	hosts := NewHosts(Rules{})
	now := noon
	for n := range 20_000 {
		now = now.Add(time.Second)
		hosts.Reserve(fmt.Sprint(n, ".example"), now)
	}
	if len(hosts.hosts) > 2*sweepAt {
		t.Errorf("%d hosts are remembered", len(hosts.hosts))
	}
}
