package schedule_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

const minute = time.Minute

var self = schedule.Source{9}

func newVolunteer(c schedule.Config) *schedule.Volunteer {
	c.Interval, c.Self = interval, self
	return schedule.New(0, c, rand.New(rand.NewPCG(1, 2)))
}

func between(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: due at %v, want between %v and %v", what, got, low, high)
	}
}

func due(t *testing.T, v *schedule.Volunteer, want schedule.Action) {
	t.Helper()
	if at := v.Deadline(); v.Due(at-1) != schedule.None || v.Due(at) != want {
		t.Errorf("due %v before and %v at the deadline, want %v", v.Due(at-1), v.Due(at), want)
	}
}

func TestTheFirstFetchIsAnnouncedNotRepeated(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Fetched(0)
	between(t, "announcement", v.Deadline(), 3*minute, 15*minute)
	due(t, v, schedule.Announce)
	at := v.Deadline()
	v.Announced(at)
	if !v.Active(at) {
		t.Error("who announced is not the volunteer")
	}
	between(t, "the next poll", v.Deadline(), at+30*minute, at+31*minute)
	due(t, v, schedule.Poll)
}

func TestWhoHearsSomebodyStaysSilent(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 9*minute, schedule.Source{1}) // from the catch-up after the join
	v.Heard(0, 15*minute, schedule.Source{2})
	v.Fetched(minute)
	if v.Active(minute) {
		t.Fatal("announced although a volunteer was heard in this interval")
	}
	due(t, v, schedule.Claim)
	between(t, "takeover", v.Deadline(), 31*minute, 36*minute)
	v.Heard(20*minute, 0, schedule.Source{2})
	between(t, "a claim to the turn after the next outcome", v.Deadline(), 47*minute, 50*minute)
	if n, crew := v.Outcomes(20*minute), v.Crew(); n != 2 || crew != 2 {
		t.Errorf("%d outcomes of %d heard in T, want that of 9 minutes before the start and the last one, of 2", n, crew)
	}
}

func TestAnOutcomeOfAnOlderIntervalIsNoReasonToWait(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 31*minute, schedule.Source{1})
	v.Fetched(0)
	due(t, v, schedule.Announce)
}

// Two share the polls of N = 1, so that each sees what the other said.
func TestTurnsAreTaken(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 0, schedule.Source{1})
	due(t, v, schedule.Claim)
	between(t, "the second one joins", v.Deadline(), 25*minute, 30*minute)
	at := v.Deadline()
	v.Claimed(at)
	due(t, v, schedule.Poll)
	between(t, "and polls in turn", v.Deadline(), 30*minute, 31*minute)
	v.Polled(31*minute, true)
	due(t, v, schedule.Claim)
	between(t, "the other's turn; after him", v.Deadline(), 61*minute, 63*minute)
	v.Heard(61*minute, 0, schedule.Source{1})
	due(t, v, schedule.Poll)
	between(t, "turn", v.Deadline(), 91*minute, 92*minute)
	v.Heard(91*minute, 0, schedule.Source{3})
	due(t, v, schedule.Claim)
	between(t, "whoever missed a turn claims the next", v.Deadline(), 118*minute, 121*minute)
}

func TestOneClaimIsEnough(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(0, 0, schedule.Source{1})
	v.Asking(25*minute, 0, schedule.Source{2})
	between(t, "after another's claim, until it asks", v.Deadline(), 31*minute, 35*minute)
	v.Heard(30*minute, 0, schedule.Source{2})
	between(t, "after another's claim", v.Deadline(), 50*minute, 62*minute)
	for _, c := range []struct {
		other schedule.Source
		stays bool
	}{{schedule.Source{2}, false}, {schedule.Source{200}, true}, {schedule.Source{1}, true}} { // 1 has just polled
		v := newVolunteer(schedule.Config{})
		v.Heard(0, 0, schedule.Source{1})
		at := v.Deadline()
		v.Claimed(at)
		v.Asking(at+time.Second, 0, c.other)
		if stays := v.Due(31*minute) == schedule.Poll; stays != c.stays {
			t.Errorf("a claim of %x and its own cross: it polls is %v", c.other[0], stays)
		}
	}
}

// Those whose claims cross may each take the other's to count, while nodes have not
// heard the same yet. Then nobody asks, and the turn must not be lost for that.
func TestAClaimThatComesToNothing(t *testing.T) {
	const turn = 60 * minute
	v := newVolunteer(schedule.Config{})
	v.Polled(0, true)
	v.Heard(30*minute, 0, schedule.Source{1}) // now this node is the first of the crew
	for i, at := range []time.Duration{57 * minute, 57*minute + time.Second, 57*minute + 2*time.Second} {
		v.Asking(at, 0, schedule.Source{byte(2 + i)})
	}
	due(t, v, schedule.Poll)
	between(t, "the turn of the crew's first", v.Deadline(), turn+30*time.Second, turn+90*time.Second)
	v.Asking(turn+time.Second, 0, schedule.Source{2}) // it did ask, and was refused
	between(t, "after a refusal", v.Deadline(), turn+30*minute, turn+32*minute)
	v.Asking(turn+3*time.Second, 0, schedule.Source{3}) // so was another in the same turn
	between(t, "after two in one turn", v.Deadline(), turn+30*minute, turn+32*minute)
	v.Asking(turn+31*minute, 0, schedule.Source{3}) // and again in the next
	between(t, "after two turns of the same one", v.Deadline(), turn+91*minute, turn+94*minute)
}

// Nobody gets all turns by asking first, or last.
func TestWhoPolledLatelyDoesNotTakeTheTurn(t *testing.T) {
	for name, c := range map[string]struct {
		by    schedule.Source
		at    time.Duration // after this node's claim, or before its time for it
		yield bool
	}{
		"polled last, asks first":            {schedule.Source{1}, -minute, false},
		"polled last, asks at once":          {schedule.Source{1}, time.Second, false},
		"polled last, asks when all is set":  {schedule.Source{1}, 4 * time.Minute, false},
		"never polled, asks first":           {schedule.Source{2}, -minute, true},
		"never polled, asks when all is set": {schedule.Source{2}, 10 * time.Second, false},
	} {
		v := newVolunteer(schedule.Config{})
		v.Heard(0, 0, schedule.Source{1})
		at := v.Deadline()
		if c.at > 0 {
			v.Claimed(at)
		}
		v.Asking(at+c.at, 0, c.by)
		if c.at < 0 {
			if yields := v.Deadline() != at; yields != c.yield {
				t.Errorf("%s: it yields is %v", name, yields)
			}
		} else if polls := v.Due(31*minute) == schedule.Poll; polls == c.yield {
			t.Errorf("%s: it polls is %v", name, polls)
		}
	}
}

// Whoever polls more often than others would keeps them from their turns, but for one
// now and then: they see for themselves, and nothing they hear meanwhile stops them.
func TestWhoPollsTooOftenIsCheckedNowAndThen(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	own := 0
	var now time.Duration
	for now = 0; now < 40*interval; now += 20 * minute { // outcomes of two keys, each before this node's turn
		v.Heard(now, 0, schedule.Source{1 + byte(now/(20*minute))%2})
		for v.Deadline() < now+20*minute {
			at := v.Deadline()
			if v.Due(at) == schedule.Claim {
				v.Claimed(at)
				v.Asking(at+time.Second, 0, schedule.Source{2})
				v.Heard(at+2*time.Second, 0, schedule.Source{1})
				continue
			}
			v.Polled(at, true)
			own++
		}
	}
	if own < 5 || own > 10 {
		t.Errorf("%d polls of its own in 40 intervals, want one in about four", own)
	}
}

func TestALivePublisherSilencesEverybody(t *testing.T) {
	v := newVolunteer(schedule.Config{Overload: 3})
	v.Polled(0, true)
	v.Published(minute, 0, 15*minute)
	if v.Active(minute) || !v.Live(30*minute) || v.Live(31*minute) {
		t.Error("live for 2·TTL after its last word, and no volunteer meanwhile")
	}
	between(t, "takeover from a silent publisher", v.Deadline(), 31*minute, 33*minute)
	v.Published(20*minute, 0, 15*minute)
	between(t, "moved by a heartbeat", v.Deadline(), 50*minute, 52*minute)
	due(t, v, schedule.Claim)
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
	between(t, "the first poll after it", v.Deadline(), 30*minute, 37*minute)
}

func TestAPublishersOldWordIsNoPromise(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Published(0, 40*minute, 15*minute)
	if v.Live(0) {
		t.Error("live 40 minutes after a word with a TTL of 15")
	}
}

func TestFailuresHandOver(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Heard(-interval, 0, schedule.Source{1})
	v.Polled(0, true)
	v.Polled(60*minute, false) // nobody was reached: nobody else knows
	if v.Active(60 * minute) {
		t.Error("still the volunteer after a failed poll")
	}
	if v.Deadline() < 60*minute+150*time.Second {
		t.Errorf("tries again after %v", v.Deadline()-60*minute)
	}
	v.Asked(60 * minute) // the origin refused: that was everybody's turn
	between(t, "after one refusal", v.Deadline(), 85*minute, 97*minute)
	v.Asking(90*minute, 0, schedule.Source{2})
	between(t, "after two in a row", v.Deadline(), 145*minute, 157*minute)
	v.NotBefore(90*minute, 8*time.Hour)
	between(t, "Retry-After", v.Deadline(), 8*time.Hour, 8*time.Hour)
}

func TestOffPollsOnlyForItself(t *testing.T) {
	v := newVolunteer(schedule.Config{Off: true})
	v.Fetched(0)
	between(t, "fallback", v.Deadline(), 90*minute, 105*minute)
	v.Polled(100*minute, true)
	if v.Active(100 * minute) {
		t.Error("off, but active")
	}
	due(t, v, schedule.Poll)
	between(t, "while nobody is heard", v.Deadline(), 130*minute, 131*minute)
	v.Heard(110*minute, 0, schedule.Source{1})
	between(t, "somebody is heard again", v.Deadline(), 200*minute, 215*minute)
	v.SetOff(111*minute, false)
	between(t, "switched on", v.Deadline(), 130*minute, 142*minute)
}

func TestAloneNobodyIsWaitedFor(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Last(0, 12*time.Hour)
	between(t, "restart among others listens first", v.Deadline(), minute, 5*minute)
	v.SetAlone(5*time.Second, true)
	between(t, "alone", v.Deadline(), 0, 7*time.Second)
	due(t, v, schedule.Poll)
	v.Polled(10*time.Second, false)
	between(t, "a server that was not reached", v.Deadline(), 2*minute, 4*minute)
	v.Polled(3*minute, true)
	between(t, "one that was", v.Deadline(), 33*minute, 34*minute)
}

func TestARestartDoesNotPollWhatWasJustPolled(t *testing.T) {
	v := newVolunteer(schedule.Config{})
	v.Last(0, 10*minute)
	v.SetAlone(0, true)
	between(t, "alone", v.Deadline(), 20*minute, 21*minute)
}

func TestANewIntervalMovesTheNextPoll(t *testing.T) {
	v := newVolunteer(schedule.Config{Overload: 2})
	v.Polled(0, true)
	between(t, "T/N", v.Deadline(), 15*minute, 16*minute)
	v.SetInterval(minute, 2*time.Hour, 0)
	between(t, "longer", v.Deadline(), 60*minute, 62*minute)
	v.SetInterval(minute, 2*time.Hour, 3*time.Hour)
	between(t, "not faster than one client may", v.Deadline(), 3*time.Hour, 184*minute)
}

func TestATakeoverKeepsItsDistanceFromTheOwnFetch(t *testing.T) {
	for seed := range uint64(50) {
		v := schedule.New(0, schedule.Config{Interval: interval, Self: self}, rand.New(rand.NewPCG(seed, 2)))
		v.Heard(0, 29*minute, schedule.Source{1})
		v.Fetched(0)
		if at := v.Deadline(); at < 30*minute {
			t.Errorf("takeover after %v", at)
		}
	}
}
