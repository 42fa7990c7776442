package feedtree

import (
	"testing"
	"time"
)

// A feed that posts once a day for a week, followed by a node that polls it 14
// times in that time while others do the rest. Who polls alone, hourly, asks 168
// times and transfers seven documents.
func TestWhatAWeekSaves(t *testing.T) {
	const document, event, hour = 50_000, 900, time.Hour
	var a account
	start := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	for h := range 7 * 24 {
		now := time.Duration(h+1) * hour
		m := moment{now: now, wall: start.Add(now - time.Second), shared: true, interval: hour}
		switch {
		case h%24 == 0: // news, which the tree brings, in two parts
			a.heard(m, event, true)
			a.heard(m, event, true)
		case h%24 == 5: // somebody polls: nothing new
			a.heard(m, event, false)
		case h%24 == 12, h%24 == 18:
			a.asked(m, 1, 0)
		default:
			a.pass(m)
		}
		if h == 0 {
			a.whole = document
		}
	}
	got := a.week(start.Add(7*24*hour - time.Second))
	// The first day's news came before any document was seen: nobody knows its size.
	want := Week{Requests: 14, Bytes: 0, TreeBytes: 7 * 3 * event, AloneRequests: 168, AloneBytes: 6 * document}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Without others, or where the origin wants to be left alone, nothing is saved.
func TestNothingIsSavedAlone(t *testing.T) {
	var a account
	wall := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for h := range 10 {
		now := time.Duration(h) * time.Hour
		a.asked(moment{now: now, wall: wall, interval: 30 * time.Minute}, 2, 1000)
	}
	if got, want := a.week(wall), (Week{Requests: 20, Bytes: 10_000, AloneRequests: 20, AloneBytes: 10_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A volunteer asks more often than it would alone: the account shows it.
func TestVolunteeringCosts(t *testing.T) {
	var a account
	wall := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for q := range 12 {
		a.asked(moment{now: time.Duration(q+1) * 15 * time.Minute, wall: wall, shared: true, interval: time.Hour}, 1, 100)
	}
	if got, want := a.week(wall), (Week{Requests: 12, Bytes: 1200, AloneRequests: 3, AloneBytes: 300}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAWeekEnds(t *testing.T) {
	var a account
	wall := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a.asked(moment{wall: wall}, 1, 10)
	for days, want := range map[int]int{0: 1, 6: 1, 7: 0, 700: 0, -1: 0} {
		if got := a.week(wall.AddDate(0, 0, days)).Requests; got != want {
			t.Errorf("after %d days: %d requests, want %d", days, got, want)
		}
	}
	a.asked(moment{wall: wall.AddDate(0, 0, 7)}, 1, 10)
	if got := a.week(wall.AddDate(0, 0, 7)).Requests; got != 1 {
		t.Errorf("the day a week later: %d requests", got)
	}
}
