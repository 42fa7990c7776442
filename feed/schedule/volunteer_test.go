package schedule_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

const minute = time.Minute

func newVolunteer(c schedule.Config) *schedule.Volunteer {
	c.Interval = interval
	return schedule.New(0, c, rand.New(rand.NewPCG(1, 2)))
}

func between(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: due at %v, want between %v and %v", what, got, low, high)
	}
}

func TestTheFirstFetchIsAnnouncedNotRepeated(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Fetched(0)
	between(t, "claim", v.Deadline(), 3*minute, 15*minute)
	at := v.Deadline()
	if v.Due(at-1) != schedule.None || v.Due(at) != schedule.Announce {
		t.Fatalf("due %v before and %v at the deadline", v.Due(at-1), v.Due(at))
	}
	v.Announced(at)
	if !v.Active(at) {
		t.Error("who announced is not the volunteer")
	}
	between(t, "next poll counts from the fetch", v.Deadline(), 27*minute, 30*minute)
}

func TestWhoHearsSomebodyStaysSilent(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 10*minute, schedule.Source{1}) // from the catch-up after the join
	v.Fetched(minute)
	if v.Active(minute) || v.Due(v.Deadline()) != schedule.Poll {
		t.Fatal("announced although a volunteer was heard in this interval")
	}
	between(t, "takeover", v.Deadline(), 20*minute, 36*minute)
	v.Heard(20*minute, 0, schedule.Source{1})
	between(t, "takeover after the next outcome", v.Deadline(), 50*minute, 66*minute)
}

func TestAnOutcomeOfAnOlderIntervalIsNoReasonToWait(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 31*minute, schedule.Source{1})
	v.Fetched(0)
	if v.Due(v.Deadline()) != schedule.Announce {
		t.Error("an outcome older than T kept the node from announcing")
	}
}

func TestTheIncumbentGoesOnAndYields(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Polled(0, true)
	between(t, "incumbent", v.Deadline(), 27*minute, 30*minute)
	v.Heard(2*time.Second, 0, schedule.Source{1})
	if !v.Active(minute) {
		t.Error("yielded to an outcome that crossed its own")
	}
	v.Heard(10*minute, 0, schedule.Source{1})
	if v.Active(10 * minute) {
		t.Error("goes on although another polled since")
	}
	between(t, "takeover", v.Deadline(), 40*minute, 56*minute)
}

func TestOverloadCountsDistinctOthers(t *testing.T) {
	v := newVolunteer(schedule.Config{Overload: 2})
	v.Polled(0, true)
	v.Heard(5*minute, 0, schedule.Source{1})
	v.Heard(25*minute, 0, schedule.Source{1})
	if !v.Active(25 * minute) {
		t.Error("N=2: yielded to one other that spoke twice")
	}
	v.Heard(26*minute, 0, schedule.Source{2})
	if v.Active(26 * minute) {
		t.Error("N=2: goes on although two others poll")
	}
}

func TestALivePublisherSilencesEverybody(t *testing.T) {
	v := newVolunteer(schedule.Config{Overload: 3})
	v.Polled(0, true)
	v.Published(minute, 0, 15*minute)
	if v.Active(minute) || !v.Live(30*minute) || v.Live(31*minute) {
		t.Error("live for 2·TTL after its last word, and no volunteer meanwhile")
	}
	between(t, "takeover from a silent publisher", v.Deadline(), 31*minute, 49*minute)
	v.Published(20*minute, 0, 15*minute)
	between(t, "moved by a heartbeat", v.Deadline(), 50*minute, 68*minute)
}

func TestAPublisherWithoutPromiseReplacesNoPoll(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Polled(0, true)
	v.Published(minute, 0, 0)
	if !v.Active(minute) || v.Live(minute) {
		t.Error("TTL 0 promises nothing, but the volunteer stopped")
	}
}

func TestAPublisherTakesItsPromiseBack(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Fetched(0)
	v.Published(minute, 0, 15*minute)
	v.Published(20*minute, 0, 0)
	if v.Live(20 * minute) {
		t.Error("live although its latest word promises nothing")
	}
	between(t, "the first poll after it", v.Deadline(), 27*minute, 49*minute)
}

func TestAPublishersOldWordIsNoPromise(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Published(0, 40*minute, 15*minute)
	if v.Live(0) {
		t.Error("live 40 minutes after a word with a TTL of 15")
	}
}

func TestFailuresBackOffAndHandOver(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Polled(0, true)
	now := 30 * minute
	v.Polled(now, false)
	if v.Active(now) {
		t.Error("still the volunteer after a failed poll")
	}
	between(t, "after one failure", v.Deadline()-now, 27*minute, 46*minute)
	for range 3 {
		now = v.Deadline()
		v.Polled(now, false)
	}
	between(t, "after four failures", v.Deadline()-now, 54*minute, 61*minute)
	v.NotBefore(now, now+5*time.Hour)
	between(t, "Retry-After", v.Deadline()-now, 5*time.Hour, 5*time.Hour)
}

func TestOffPollsOnlyForItself(t *testing.T) {
	v := newVolunteer(schedule.Config{Off: true})
	v.Fetched(0)
	between(t, "fallback", v.Deadline(), 90*minute, 105*minute)
	v.Polled(v.Deadline(), true)
	now := 100 * minute
	if v.Active(now) {
		t.Error("off, but active")
	}
	v.Polled(now, true)
	between(t, "while nobody is heard", v.Deadline()-now, 27*minute, 30*minute)
	v.Heard(now+10*minute, 0, schedule.Source{1})
	between(t, "somebody is heard again", v.Deadline()-now, 100*minute, 115*minute)
}

func TestAloneNobodyIsWaitedFor(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Last(0, 12*time.Hour)
	between(t, "restart among others listens first", v.Deadline(), minute, 3*minute)
	v.SetAlone(5*time.Second, true)
	between(t, "alone", v.Deadline(), 5*time.Second, 7*time.Second)
}

func TestARestartDoesNotPollWhatWasJustPolled(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Last(0, 10*minute)
	v.SetAlone(0, true)
	between(t, "alone", v.Deadline(), 17*minute, 20*minute)
}

func TestANewIntervalMovesTheNextPoll(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Polled(0, true)
	v.SetInterval(minute, 2*time.Hour)
	between(t, "longer", v.Deadline(), 108*minute, 120*minute)
}

func TestATakeoverKeepsItsDistanceFromTheOwnFetch(t *testing.T) {
	for seed := range uint64(50) {
		v := schedule.New(0, schedule.Config{Interval: interval}, rand.New(rand.NewPCG(seed, 2)))
		v.Heard(0, 29*minute, schedule.Source{1})
		v.Fetched(0)
		between(t, "takeover", v.Deadline(), 27*minute, 30*minute)
	}
}
