package kad

import (
	"testing"
	"time"
)

// A node that stays alone asks ever less often, and one with company not at all.
func TestMeetingsAreBounded(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	visits := func(peers int, where func(time.Duration) string) (asked, told int) {
		m := meetings{ask: start.Add(askFirst)}
		for d := time.Duration(0); d < 24*time.Hour; d += askFirst {
			now := start.Add(d)
			ask, tell := m.due(now, peers, where(d))
			if ask || tell {
				m.asked(now)
			}
			if ask {
				asked++
			}
			if tell {
				told++
				m.told, m.where = now, where(d)
			}
		}
		return asked, told
	}
	nowhere := func(time.Duration) string { return "" }
	here := func(time.Duration) string { return "here" }
	flapping := func(d time.Duration) string { return d.String() }
	if asked, told := visits(0, nowhere); asked < 24 || asked > 32 || told != 0 {
		t.Errorf("alone for a day: asked %d times, told %d; want about one an hour, and nothing to tell", asked, told)
	}
	if asked, told := visits(company, here); asked != 0 || told != 2 {
		t.Errorf("in company: asked %d times, told %d; want none and two", asked, told)
	}
	if _, told := visits(company, flapping); told > 24*6+1 {
		t.Errorf("with addresses that change all the time it told %d times", told)
	}
}

func TestAWakeAsksSoon(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := meetings{ask: now}
	for range 10 {
		m.asked(now)
	}
	now = now.Add(10 * time.Minute)
	m.wake(now)
	if ask, _ := m.due(now.Add(askFirst), 0, ""); !ask {
		t.Error("it does not ask after a wake")
	}
	m.asked(now.Add(askFirst))
	m.wake(now.Add(askFirst))
	if ask, _ := m.due(now.Add(30*time.Second), 0, ""); ask {
		t.Error("it asks at every wake")
	}
	if ask, _ := m.due(now.Add(2*time.Minute), 0, ""); !ask {
		t.Error("a second wake is forgotten")
	}
}

// The key is part of the protocol: nodes of any version must come to the same.
func TestTheMeetingPointStays(t *testing.T) {
	if got := meetingPoint("main").String(); got != "bafkreif7t5mb3osr7pnfbkneuy32e65avpdqpgrmp45f4l4v4fcszutwdu" {
		t.Errorf("%s", got)
	}
	if meetingPoint("main") == meetingPoint("other") {
		t.Error("two networks meet at one point")
	}
}
