package kad

import (
	"testing"
	"time"
)

// What was tried counts more than what it looks like, and one way in is enough.
func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		facts facts
		want  State
	}{
		{facts{}, Unknown},
		{facts{called: true}, Public},
		{facts{translated: true}, Private},
		{facts{called: true, translated: true}, Public},
		{facts{vain: 2}, Private},
		{facts{vain: 2, called: true}, Private},
		{facts{dialled: 1, vain: 2, translated: true}, Public},
	} {
		if got := tc.facts.verdict(); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.facts, got, tc.want)
		}
	}
}

// A node behind a NAT stands in when nobody is known who can be dialled, and no
// longer than that.
func TestStandingIn(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := posture{state: Unknown}
	for i, tc := range []struct {
		verdict State
		known   bool
		after   time.Duration
		serves  bool
		standIn bool
	}{
		{Unknown, false, time.Second, true, false},
		{Private, true, time.Second, false, false},
		{Private, false, time.Second, false, false}, // perhaps only for a moment
		{Private, false, time.Second, false, false},
		{Private, false, time.Second, true, true},
		{Private, false, time.Hour, true, true},
		{Private, true, time.Second, false, false},
		{Private, false, time.Second, false, false},
		{Public, false, time.Second, true, false},
		{Private, false, time.Second, false, false}, // the wait begins anew
	} {
		at = at.Add(tc.after)
		p = p.next(tc.verdict, tc.known, at)
		if p.serves() != tc.serves || p.standIn != tc.standIn || p.state != tc.verdict {
			t.Errorf("step %d, %+v: %+v, serves %v", i, tc, p, p.serves())
		}
	}
}
