package polite

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

const (
	hour = time.Hour
	day  = 24 * hour
)

// noon is a Sunday.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// within checks a wait and that the jitter is on top of it, and no more than a
// twentieth of it.
func within(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want || got > want+want/20+time.Millisecond {
		t.Errorf("%s: %v, want %v and at most a twentieth more", what, got, want)
	}
}

var held = Validators{ETag: `"1"`, From: "https://news.example/feed"}

func doc(change ...func(*Answer)) Answer {
	a := Answer{Kind: Document, Status: 200, Validators: held, Body: [16]byte{1}}
	for _, c := range change {
		c(&a)
	}
	return a
}

func status(code int, retry time.Duration) Answer {
	return Answer{Kind: Refused, Status: code, Reason: "status", RetryAfter: retry}
}

// The table of when to ask next: from a state, after an answer.
func TestNotBefore(t *testing.T) {
	fresh := func(d time.Duration) func(*Answer) { return func(a *Answer) { a.Fresh, a.SaysFresh = d, true } }
	wish := func(w Wishes) func(*Answer) { return func(a *Answer) { a.Wishes = &w } }
	retry := func(d time.Duration) func(*Answer) { return func(a *Answer) { a.RetryAfter = d } }
	bare := func(a *Answer) { a.Validators = Validators{} }
	for name, c := range map[string]struct {
		from State
		a    Answer
		want time.Duration
	}{
		"feeds.md 1.3: conditional requests an hour apart":          {State{}, doc(), hour},
		"feeds.md 1.3: also after a 304":                            {State{Validators: held}, Answer{Kind: Same, Status: 304}, hour},
		"feeds.md 1.3: unconditional ones a day apart":              {State{}, doc(bare), day},
		"without validators, but the origin says how long":          {State{}, doc(bare, fresh(2*hour)), 2 * hour},
		"without validators, said to be fresh for a minute":         {State{}, doc(bare, fresh(time.Minute)), hour},
		"RFC 9111 4.2: max-age":                                     {State{}, doc(fresh(3 * hour)), 3 * hour},
		"a max-age shorter than an hour does not hurry":             {State{}, doc(fresh(time.Minute)), hour},
		"a max-age of a year was meant for pictures":                {State{}, doc(fresh(365 * day)), day},
		"RFC 9111 4.3.4: a 304 renews max-age":                      {State{Validators: held, Fresh: 9 * hour}, Answer{Kind: Same, Fresh: 2 * hour, SaysFresh: true}, 2 * hour},
		"RFC 9111 3.2: a 304 that does not repeat it keeps max-age": {State{Validators: held, Fresh: 9 * hour}, Answer{Kind: Same}, 9 * hour},
		"a new document that does not repeat it does not":           {State{Validators: held, Fresh: 9 * hour}, doc(), hour},
		"a 304 that says no-cache ends it":                          {State{Validators: held, Fresh: 9 * hour}, Answer{Kind: Same, SaysFresh: true}, hour},
		"RSS 2.0: ttl":                                              {State{}, doc(wish(Wishes{TTL: 2 * hour})), 2 * hour},
		"RSS 1.0 syndication: every six hours":                      {State{}, doc(wish(Wishes{Period: 6 * hour})), 6 * hour},
		"what a document wished holds until the next one":           {State{Validators: held, Wishes: Wishes{TTL: 5 * hour}}, Answer{Kind: Same}, 5 * hour},
		"the longest of all counts":                                 {State{}, doc(fresh(2*hour), wish(Wishes{TTL: 4 * hour, Period: 3 * hour})), 4 * hour},
		"RFC 9110 10.2.3: Retry-After of any answer":                {State{}, doc(retry(30 * hour)), 30 * hour},
		"of a 429":                               {State{Validators: held}, status(429, 10*hour), 10 * hour},
		"a 429 does not hurry, whatever it says": {State{Validators: held}, status(429, time.Minute), hour},
		"a 503 without it":                       {State{Validators: held}, status(503, 0), hour},
		"Retry-After of ten years":               {State{}, status(503, 3660*day), 7 * day},
		"a failure":                              {State{}, status(500, 0), hour},
		"the fourth in a row":                    {State{Trouble: Trouble{Fails: 3}}, status(404, 0), 8 * hour},
		"the hundredth":                          {State{Trouble: Trouble{Fails: 99}}, status(404, 0), day},
		"the millionth":                          {State{Trouble: Trouble{Fails: 999_999}, Validators: held}, Answer{Kind: Broken}, day},
		"no feed came, but a page":               {State{Validators: held}, Answer{Kind: Broken}, hour},
		"no feed came, and nothing to ask conditionally with": {State{}, Answer{Kind: Broken}, day},
		"no server was reached":                               {State{}, Answer{Kind: Unreached}, 5 * time.Minute},
		"nor for a week":                                      {State{Trouble: Trouble{Fails: 99}}, Answer{Kind: Unreached}, hour},
		"RFC 9110 15.5.11: gone":                              {State{}, status(410, 0), Never},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				c.from.Seed = seed
				s, at := Rules{}.Next(c.from, c.a, noon)
				if !at.Equal(s.NotBefore) || !s.Asked.Equal(noon) || s.Barred.After(at) {
					t.Fatalf("polled at %v and later, state %+v", at, s)
				}
				within(t, "wait", at.Sub(noon), c.want)
			}
		})
	}
}

// Who says that there is news may have the origin asked before the next poll, but
// not against its word.
func TestBarred(t *testing.T) {
	for name, c := range map[string]struct {
		a    Answer
		want time.Duration
	}{
		"nothing is wrong":  {doc(), 0},
		"fresh for a day":   {doc(func(a *Answer) { a.Fresh = day }), 0},
		"it said how long":  {doc(func(a *Answer) { a.RetryAfter = 2 * hour }), 2 * hour},
		"429":               {status(429, 0), hour},
		"503, for so long":  {status(503, 3*hour), 3 * hour},
		"404":               {status(404, 0), 5 * time.Minute},
		"nobody is reached": {Answer{Kind: Unreached}, 5 * time.Minute},
		"gone":              {status(410, 0), Never},
	} {
		s, _ := Rules{}.Next(State{Seed: 7}, c.a, noon)
		within(t, name, s.Barred.Sub(noon), c.want)
	}
}

func TestAbandonedChangesNothing(t *testing.T) {
	from := State{Seed: 1, Asked: noon.Add(-hour), NotBefore: noon, Trouble: Trouble{Fails: 3}}
	if s, at := (Rules{}).Next(from, Answer{Kind: Abandoned}, noon); s != from || !at.Equal(noon) {
		t.Errorf("%+v at %v", s, at)
	}
}

// feeds.md 1.1 and 1.2: verbatim, and renewed by every answer that has or confirms a
// document, by no other.
func TestValidatorsAreRenewed(t *testing.T) {
	old := Validators{"a", "b", "https://news.example/"}
	from := State{Validators: old}
	url := "https://news.example/"
	for name, c := range map[string]struct {
		a    Answer
		want Validators
	}{
		"200":                         {doc(func(a *Answer) { a.Validators = Validators{"c", "d", url} }), Validators{"c", "d", url}},
		"200 with the same body":      {doc(func(a *Answer) { a.Validators, a.Body = Validators{"c", "d", url}, [16]byte{} }), Validators{"c", "d", url}},
		"200 without":                 {doc(func(a *Answer) { a.Validators = Validators{From: url} }), Validators{From: url}},
		"200 from elsewhere":          {doc(func(a *Answer) { a.Validators = Validators{"c", "", url + "x"} }), Validators{"c", "", url + "x"}},
		"226":                         {Answer{Kind: Delta, Validators: Validators{"c", "", url}}, Validators{"c", "", url}},
		"304 with both":               {Answer{Kind: Same, Validators: Validators{"c", "d", url}}, Validators{"c", "d", url}},
		"304 with one":                {Answer{Kind: Same, Validators: Validators{"c", "", url}}, Validators{"c", "b", url}},
		"304 without":                 {Answer{Kind: Same, Validators: Validators{"", "", url}}, Validators{"a", "b", url}},
		"500 with some":               {Answer{Kind: Refused, Status: 500, Validators: Validators{"c", "d", url}}, old},
		"200 that is no feed":         {Answer{Kind: Broken, Status: 200, Validators: Validators{"c", "d", url}}, old},
		"a caller that did not wait":  {Answer{Kind: Abandoned, Validators: Validators{"c", "d", url}}, old},
		"304, and what it names last": {Answer{Kind: Same, Validators: Validators{"", "d", url}}, Validators{"a", "d", url}},
	} {
		if s, _ := (Rules{}).Next(from, c.a, noon); s.Validators != c.want {
			t.Errorf("%s: %+v, want %+v", name, s.Validators, c.want)
		}
	}
	if got := from.Held("https://other.example/"); got != (Validators{}) {
		t.Errorf("another URL is told %+v", got)
	}
	if got := from.Held(url); got != old {
		t.Errorf("its own URL is told %+v", got)
	}
}

// A 301 or 308 is followed from memory once it was met twice, and not for ever.
func TestMoves(t *testing.T) {
	const old, moved, further = "https://a.example/", "https://b.example/", "https://c.example/"
	to := func(url string) Answer { return doc(func(a *Answer) { a.Moved = url }) }
	for name, c := range map[string]struct {
		answers []Answer
		want    string
	}{
		"never met":                        {[]Answer{doc(), doc()}, old},
		"once":                             {[]Answer{to(moved)}, old},
		"twice":                            {[]Answer{to(moved), to(moved)}, moved},
		"twice, with a 304":                {[]Answer{to(moved), {Kind: Same, Moved: moved}}, moved},
		"twice, but not in a row":          {[]Answer{to(moved), doc(), to(moved)}, old},
		"to two places":                    {[]Answer{to(moved), to(further)}, old},
		"a failure between":                {[]Answer{to(moved), status(500, 0), to(moved)}, old},
		"a 429 between says nothing of it": {[]Answer{to(moved), status(429, 0), to(moved)}, moved},
		"asked directly since":             {[]Answer{to(moved), to(moved), doc(), {Kind: Same}}, moved},
		"and then further":                 {[]Answer{to(moved), to(moved), to(further)}, old},
		"and then further, met twice":      {[]Answer{to(moved), to(moved), to(further), to(further)}, further},
		"the target fails":                 {[]Answer{to(moved), to(moved), status(404, 0)}, old},
		"the target cannot be reached":     {[]Answer{to(moved), to(moved), {Kind: Unreached}}, old},
		"the target wants to be left":      {[]Answer{to(moved), to(moved), status(429, 0)}, moved},
	} {
		var s State
		for _, a := range c.answers {
			s, _ = Rules{}.Next(s, a, noon)
		}
		if got := s.Target(old); got != c.want {
			t.Errorf("%s: asks %s, want %s", name, got, c.want)
		}
	}
	var s State
	for day := range 9 {
		if day < 2 {
			s, _ = Rules{}.Next(s, to(moved), noon.Add(time.Duration(day)*24*hour))
		} else {
			s, _ = Rules{}.Next(s, doc(), noon.Add(time.Duration(day)*24*hour))
		}
		if want := map[bool]string{true: moved, false: old}[day >= 1 && day < 8]; s.Target(old) != want {
			t.Errorf("on day %d it asks %s, want %s", day, s.Target(old), want)
		}
	}
	s = State{}
	for _, a := range []Answer{to(moved), to(moved), status(410, 0)} {
		s, _ = Rules{}.Next(s, a, noon)
	}
	if s.Trouble.Gone {
		t.Error("the target is gone, and so is taken what moved there: its own URL was not asked")
	}
}

// RSS 2.0: hours and days in GMT in which a document is not to be asked for.
func TestSkips(t *testing.T) {
	hours := func(from, to int) (bits uint32) {
		for h := from; h < to; h++ {
			bits |= 1 << h
		}
		return bits
	}
	for name, c := range map[string]struct {
		w    Wishes
		want time.Time // the beginning of the hour that is not skipped
	}{
		"none":               {Wishes{}, noon.Add(hour)},
		"others":             {Wishes{Hours: hours(0, 12)}, noon.Add(hour)},
		"the next":           {Wishes{Hours: hours(13, 14)}, noon.Add(2 * hour)},
		"until tomorrow":     {Wishes{Hours: hours(13, 24) | hours(0, 6)}, noon.Add(18 * hour)},
		"today":              {Wishes{Days: 1 << time.Sunday}, noon.Add(12 * hour)},
		"today and tomorrow": {Wishes{Days: 1<<time.Sunday | 1<<time.Monday}, noon.Add(36 * hour)},
		"today, and nights":  {Wishes{Days: 1 << time.Sunday, Hours: hours(0, 8)}, noon.Add(20 * hour)},
		"always":             {Wishes{Hours: hours(0, 24)}, noon.Add(hour)},
		"every day":          {Wishes{Days: 127}, noon.Add(hour)},
	} {
		var starts []time.Time
		for seed := range uint64(10) {
			_, at := Rules{}.Next(State{Seed: seed}, doc(func(a *Answer) { a.Wishes = &c.w }), noon)
			if at.Before(c.want) || at.After(c.want.Add(15*time.Minute)) {
				t.Errorf("%s: %v, want soon after %v", name, at, c.want)
			}
			starts = append(starts, at)
		}
		if starts[0].Equal(starts[1]) && starts[1].Equal(starts[2]) {
			t.Errorf("%s: all begin at %v", name, starts[0])
		}
	}
}

// A clock may be set while a state is on disk.
func TestClockJumps(t *testing.T) {
	s, at := Rules{}.Next(State{}, doc(), noon)
	wait := at.Sub(noon)
	for _, back := range []time.Duration{time.Minute, day, 365 * day} {
		now := noon.Add(-back)
		if got := s.Settled(now).NotBefore.Sub(now); got != wait {
			t.Errorf("set back by %v: %v left of %v", back, got, wait)
		}
	}
	for _, on := range []time.Duration{0, time.Minute, day} {
		if got := s.Settled(noon.Add(on)); got != s {
			t.Errorf("set forward by %v: %+v", on, got)
		}
	}
	if (State{}).Settled(noon) != (State{}) {
		t.Error("a document never asked for has a time")
	}
}

// What is written is what is read, and it is small: there are ten thousand of them.
func TestStateIsKept(t *testing.T) {
	s := State{
		Seed: 1 << 63, Asked: noon, NotBefore: noon.Add(hour), Barred: noon.Add(time.Minute), Validators: Validators{"\"a\"", "Mon", "https://a.example/"},
		Body: [16]byte{1, 2}, Fresh: hour, Wishes: Wishes{time.Minute, hour, 7, 3}, Move: Move{"https://b.example/", 1, noon}, Trouble: Trouble{"DNS", 3, true},
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%s became %+v, %v", b, back, err)
	}
	if len(b) > 400 {
		t.Errorf("%d bytes: %s", len(b), b)
	}
	if b, _ := json.Marshal(State{}); string(b) != "{}" {
		t.Errorf("nothing is written as %s", b)
	}
	for _, bad := range []string{"", "[]", `{"a":"x"}`, `{"b":"!"}`} {
		if json.Unmarshal([]byte(bad), &back) == nil {
			t.Errorf("%q is taken for a state", bad)
		}
	}
}

// All waits end at different times, and the same state waits as long again: the
// jitter is part of it.
func TestJitterIsOfTheState(t *testing.T) {
	for name, c := range map[string]struct {
		a    Answer
		most time.Duration
	}{
		"after an answer":  {doc(), 2500 * time.Millisecond},
		"after a failure":  {status(500, 0), 3 * time.Minute},
		"after a 429":      {status(429, 10*hour), 6 * time.Minute},
		"after no contact": {Answer{Kind: Unreached}, 15 * time.Second},
	} {
		waits := map[time.Time]bool{}
		least, longest := Never, time.Duration(0)
		for seed := range uint64(1000) {
			_, at := Rules{}.Next(State{Seed: seed}, c.a, noon)
			_, again := Rules{}.Next(State{Seed: seed}, c.a, noon)
			if !at.Equal(again) {
				t.Fatal("the same state waits differently")
			}
			waits[at] = true
			least, longest = min(least, at.Sub(noon)), max(longest, at.Sub(noon))
		}
		if spread := longest - least; len(waits) < 300 || spread > c.most || spread < c.most*9/10 {
			t.Errorf("%s: 1000 waits end at %d times within %v, want about %v", name, len(waits), spread, c.most)
		}
	}
}
