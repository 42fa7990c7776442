package kad

import (
	"testing"
	"time"
)

const mb = 1 << 20

// spender is an allowance and a count of bytes that only grows.
type spender struct {
	allowance
	now  time.Time
	sent uint64
}

func newSpender(most uint64) *spender {
	return &spender{allowance: allowance{most: most}, now: time.Date(2026, 11, 22, 10, 0, 30, 0, time.UTC)}
}

// send sends so many bytes over some minutes and reports whether it spares then.
func (s *spender) send(bytes uint64, minutes int) bool {
	for i := range minutes {
		s.now = s.now.Add(time.Minute)
		s.sent += bytes*uint64(i+1)/uint64(minutes) - bytes*uint64(i)/uint64(minutes)
		s.look(s.now, s.sent)
	}
	return s.sparing
}

// What is done for others ends before all is spent, since what a node must go on
// sending costs something too.
func TestANodeSparesBeforeItsLimit(t *testing.T) {
	for _, c := range []struct {
		most, spares uint64
	}{{100 * mb, 96 * mb}, {8 * mb, 6 * mb}} {
		s := newSpender(c.most)
		if s.send(c.spares-1, 10) {
			t.Errorf("of %d MiB an hour, it spares after a byte less than %d", c.most/mb, c.spares/mb)
		}
		if !s.send(1, 1) || s.times != 1 {
			t.Errorf("of %d MiB an hour, it does not spare after %d", c.most/mb, c.spares/mb)
		}
		if u := s.report(s.now); !u.Sparing || u.Hour != c.spares || u.Most != c.most || u.Times != 1 {
			t.Errorf("it reports %+v", u)
		}
	}
	if s := newSpender(0); s.send(1<<40, 10) {
		t.Error("without a limit it spares")
	}
}

// It goes on when a quarter is free again, at the minute that it named.
func TestSparingEnds(t *testing.T) {
	s := newSpender(40 * mb)
	s.send(12*mb, 1)
	if !s.send(25*mb, 20) {
		t.Fatal("36 MiB of 40 are spent, and it does not spare")
	}
	until := *s.report(s.now).Until
	for s.send(0, 1) {
		if s.now.Sub(until) > time.Minute {
			t.Fatalf("it still spares at %v, and named %v", s.now, until)
		}
	}
	if s.now.Before(until) {
		t.Errorf("it goes on at %v, and named %v", s.now, until)
	}
	if hour := s.hour(s.now); hour >= 27*mb || hour == 0 {
		t.Errorf("it goes on with %d MiB sent within the hour", hour/mb)
	}
	if s.report(s.now).Until != nil {
		t.Error("it does not spare, and says until when")
	}
}

// A limit that is lifted or lowered holds at the next look.
func TestTheLimitChanges(t *testing.T) {
	s := newSpender(8 * mb)
	s.send(7*mb, 1)
	s.most = 80 * mb
	if s.send(0, 1) {
		t.Error("the limit was lifted, and it spares")
	}
	s.most = mb
	if !s.send(0, 1) || s.times != 2 {
		t.Error("the limit was lowered below what is spent, and it does not spare")
	}
	s.most = 0
	if s.send(0, 1) {
		t.Error("there is no limit any more, and it spares")
	}
}

// A clock that is set makes no limit out of nothing, and no node spares for ever.
func TestTheClockIsSet(t *testing.T) {
	s := newSpender(8 * mb)
	s.send(7*mb, 1)
	s.now = s.now.Add(-48 * time.Hour)
	s.send(0, 2)
	s.send(0, 61)
	if s.sparing {
		t.Error("an hour after the clock was set back it still spares")
	}
}
