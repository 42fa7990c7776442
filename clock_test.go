package feedtree

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A clock that is a day off is told, with the way it is off and what to do.
func TestClockADayOff(t *testing.T) {
	for _, ahead := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		var c clock
		c.heard("a.example", noon.Add(-ahead), noon)
		c.heard("b.example", noon.Add(-ahead-time.Second), noon)
		got := c.fault(0)
		want := "24 hours ahead of what the sites a.example, b.example say"
		if ahead < 0 {
			want = "24 hours behind what"
		}
		if !strings.Contains(got, want) || !strings.Contains(got, "timedatectl") {
			t.Errorf("%v: %q", ahead, got)
		}
		if off, _ := c.off(); (off - ahead).Abs() > time.Minute {
			t.Errorf("%v off was taken for %v", ahead, off)
		}
	}
}

// One site with a wrong clock among several says nothing about this machine.
func TestOneSiteIsWrong(t *testing.T) {
	var c clock
	c.heard("wrong.example", noon.Add(-24*time.Hour), noon)
	for i := range 2 {
		c.heard(fmt.Sprintf("%d.example", i), noon.Add(-time.Second), noon)
	}
	if got := c.fault(7); got != "" {
		t.Error(got)
	}
}

// A cache may hand on a date of minutes ago: one site alone is believed about hours.
func TestOneSiteIsLate(t *testing.T) {
	var c clock
	c.heard("cached.example", noon.Add(-20*time.Minute), noon)
	if got := c.fault(0); got != "" {
		t.Error(got)
	}
	c.heard("another.example", noon.Add(-20*time.Minute), noon)
	if got := c.fault(0); !strings.Contains(got, "20 minutes ahead") {
		t.Errorf("two sites agree: %q", got)
	}
}

// A clock that is set forgets what was said of it before; seconds of drift do not.
func TestClockIsSet(t *testing.T) {
	var c clock
	start := noon
	c.look(0, start, noon)
	c.heard("a.example", noon.Add(-24*time.Hour), noon)
	c.look(time.Minute, start, noon.Add(time.Minute+time.Second))
	if c.fault(0) == "" {
		t.Fatal("a second of drift made it forget")
	}
	c.look(2*time.Minute, start, noon.Add(2*time.Minute-24*time.Hour))
	if got := c.fault(0); got != "" {
		t.Errorf("after it was set: %s", got)
	}
}

// Where no site has told the time, events from the future are a hint of it; where
// sites agree with this machine, it is the others'.
func TestEventsFromTheFuture(t *testing.T) {
	var c clock
	if got := c.fault(0); got != "" {
		t.Errorf("nothing known: %s", got)
	}
	if got := c.fault(3); !strings.Contains(got, "3 events") {
		t.Errorf("events from the future: %q", got)
	}
	c.heard("a.example", noon, noon)
	if got := c.fault(3); got != "" {
		t.Errorf("a site agrees: %s", got)
	}
}

func TestClockRemembersAFewSites(t *testing.T) {
	var c clock
	for i := range 10 * clockWitnesses {
		c.heard(fmt.Sprintf("%d.example", i), noon, noon)
	}
	if len(c.ahead) > clockWitnesses {
		t.Errorf("%d sites remembered", len(c.ahead))
	}
}
