package signing

import (
	"strings"
	"testing"
	"time"
)

// say does what a source does: header from the line, seal, open, advance.
func say(t testing.TB, id *Identity, l Line, beat bool, at time.Time, payload string) (*Envelope, Line) {
	t.Helper()
	h := Header{Role: Publisher, Media: Atom, Time: at}
	if beat {
		l.Heartbeat(&h)
		payload = ""
	} else {
		l.Event(&h)
	}
	e := open(t, seal(t, id, h, payload))
	next, err := l.Advance(e)
	if err != nil {
		t.Fatal(err)
	}
	if next != e.Line() && next.Beat == e.Line().Beat {
		t.Fatalf("Advance says %+v, the envelope %+v", next, e.Line())
	}
	return e, next
}

func TestLineIsDenseAndChained(t *testing.T) {
	id := testIdentity(t, 0)
	l := Line{}.Bump(noon)
	if want := (Line{Epoch: uint64(noon.UnixMilli())}); l != want {
		t.Fatalf("a fresh line is %+v, want %+v", l, want)
	}
	var prev [32]byte
	for seq := uint64(1); seq <= 5; seq++ {
		e, next := say(t, id, l, false, noon.Add(time.Duration(seq)*time.Second), "news")
		if e.Seq != seq || e.Prev != prev || e.Epoch != l.Epoch {
			t.Fatalf("event %d: seq %d, epoch %d, prev %x, want prev %x", seq, e.Seq, e.Epoch, e.Prev, prev)
		}
		if next.Seq != seq || next.Head != e.Hash() {
			t.Fatalf("line after event %d: %+v", seq, next)
		}
		beat, after := say(t, id, next, true, noon.Add(time.Duration(seq)*time.Second+time.Millisecond), "")
		if beat.Seq != seq || beat.Prev != e.Hash() || len(beat.Payload) != 0 || beat.Media != None {
			t.Fatalf("heartbeat after event %d: %+v", seq, beat.Header)
		}
		if after.Seq != seq || after.Head != next.Head || after.Beat <= next.Beat {
			t.Fatalf("line after the heartbeat: %+v, before: %+v", after, next)
		}
		prev, l = e.Hash(), after
	}
}

func TestLineTimeNeverGoesBack(t *testing.T) {
	id := testIdentity(t, 0)
	e1, l := say(t, id, Line{Epoch: 1}, false, noon, "news")
	beat, l := say(t, id, l, true, noon.Add(-time.Hour), "") // the clock was set back
	if want := e1.Time.Add(time.Millisecond); !beat.Time.Equal(want) {
		t.Errorf("heartbeat at %v, want %v", beat.Time, want)
	}
	e2, l := say(t, id, l, false, noon, "more")
	if want := beat.Time.Add(time.Millisecond); !e2.Time.Equal(want) {
		t.Errorf("event at %v, want %v", e2.Time, want)
	}
	same, _ := say(t, id, l, true, e2.Time, "")
	if want := e2.Time.Add(time.Millisecond); !same.Time.Equal(want) {
		t.Errorf("heartbeat in the event's millisecond at %v, want %v", same.Time, want)
	}
	later := noon.Add(time.Minute)
	if beat, _ := say(t, id, l, true, later, ""); !beat.Time.Equal(later) {
		t.Errorf("a good time was changed to %v", beat.Time)
	}
	h := Header{Role: Publisher}
	if l.Heartbeat(&h); !h.Time.IsZero() {
		t.Errorf("a missing time became %v", h.Time)
	}
}

func TestBump(t *testing.T) {
	for name, c := range map[string]struct {
		line Line
		at   time.Time
		want uint64
	}{
		"lost":                        {Line{}, noon, uint64(noon.UnixMilli())},
		"restored":                    {Line{Epoch: 5, Seq: 9, Head: [32]byte{1}, Beat: 77}, noon, uint64(noon.UnixMilli())},
		"twice in a millisecond":      {Line{Epoch: uint64(noon.UnixMilli())}, noon, uint64(noon.UnixMilli()) + 1},
		"with a clock that went back": {Line{Epoch: uint64(noon.UnixMilli())}, noon.Add(-time.Hour), uint64(noon.UnixMilli()) + 1},
		"without a clock":             {Line{}, time.Time{}, 1},
	} {
		if got, want := c.line.Bump(c.at), (Line{Epoch: c.want, Head: c.line.Head}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestAdvanceRefuses(t *testing.T) {
	id := testIdentity(t, 0)
	l0 := Line{Epoch: 10}
	e1, l1 := say(t, id, l0, false, noon, "one")
	b1, l1b := say(t, id, l1, true, noon.Add(time.Minute), "")
	e2, l2 := say(t, id, l1b, false, noon.Add(2*time.Minute), "two")
	b2, l2b := say(t, id, l2, true, noon.Add(3*time.Minute), "")
	e3, _ := say(t, id, l2b, false, noon.Add(4*time.Minute), "three")

	other1, fork1 := say(t, id, l0, false, noon, "another one")
	otherBeat1, _ := say(t, id, fork1, true, noon.Add(time.Hour), "")
	other2, _ := say(t, id, fork1, false, noon.Add(2*time.Minute), "two")
	old, _ := say(t, id, Line{Epoch: 9, Seq: 100, Head: [32]byte{1}}, false, noon, "old")
	_, newer := say(t, id, Line{Epoch: 11}, false, noon, "new")
	newer2, _ := say(t, id, newer, false, noon, "newer")

	for name, c := range map[string]struct {
		line   Line
		e      *Envelope
		reason Reason
	}{
		"the same event":                  {l1, e1, ReasonStale},
		"an earlier event":                {l2, e1, ReasonStale},
		"the same heartbeat":              {l1b, b1, ReasonStale},
		"a heartbeat before the head":     {l2, b1, ReasonStale},
		"an earlier epoch":                {l0, old, ReasonStale},
		"two events ahead":                {l1, e3, ReasonGap},
		"a heartbeat of an unseen head":   {l1, b2, ReasonGap},
		"the middle of a new epoch":       {l1, newer2, ReasonGap},
		"another event at the same place": {l1, other1, ReasonFork},
		"another history behind the next": {l1, other2, ReasonFork},
		"a heartbeat of another head":     {l1, otherBeat1, ReasonFork},
	} {
		got, err := c.line.Advance(c.e)
		if ReasonOf(err) != c.reason {
			t.Errorf("%s: %v, want %s", name, err, c.reason)
		}
		if got != c.line {
			t.Errorf("%s: refused, and yet the line moved to %+v", name, got)
		}
	}
	if _, err := l1.Advance(other1); !strings.Contains(err.Error(), id.Public().String()) {
		t.Errorf("a fork names its author: %v", err)
	}
	if got, err := l1.Advance(e2); err != nil || got.Seq != 2 {
		t.Errorf("a heartbeat missed is no gap: %+v, %v", got, err)
	}
}

func TestFollowingFromTheMiddle(t *testing.T) {
	id := testIdentity(t, 0)
	_, l := say(t, id, Line{Epoch: 3, Seq: 56, Head: [32]byte{1}}, false, noon, "57")
	beat, l := say(t, id, l, true, noon.Add(time.Second), "")
	e58, _ := say(t, id, l, false, noon.Add(2*time.Second), "58")

	follower := beat.Line()
	follower, err := follower.Advance(e58)
	if err != nil || follower != e58.Line() {
		t.Fatalf("%+v, %v", follower, err)
	}
	bumped := follower.Bump(noon)
	first, _ := say(t, id, bumped, true, noon, "")
	if follower, err = follower.Advance(first); err != nil || follower.Epoch != bumped.Epoch || follower.Seq != 0 {
		t.Errorf("a new epoch: %+v, %v", follower, err)
	}
}

// A foreign source that lets its time go back does not lose news by it, and
// does not make old heartbeats new.
func TestNewsIsNotRefusedForItsTime(t *testing.T) {
	id := testIdentity(t, 0)
	_, l := say(t, id, Line{Epoch: 1}, false, noon, "one")
	h := Header{Role: Publisher, Media: RSS}
	l.Event(&h)
	h.Time = noon.Add(-time.Hour)
	next, err := l.Advance(open(t, seal(t, id, h, "two")))
	if err != nil || next.Beat != uint64(noon.UnixMilli()) {
		t.Errorf("%+v, %v", next, err)
	}
}
