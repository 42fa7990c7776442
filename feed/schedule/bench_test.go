package schedule_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// BenchmarkPoll is all that scheduling does for one poll of one of 10,000 feeds: learn
// from it, find the next time, and plan. At a poll per feed and hour, 1 % of a core
// is 3.6 ms.
func BenchmarkPoll(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const feeds = 10000
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	habits := make([]schedule.Habit, feeds)
	volunteers := make([]*schedule.Volunteer, feeds)
	for i := range habits {
		at := start
		for range 50 {
			at = at.Add(time.Duration(1+rng.IntN(6)) * time.Hour)
			habits[i].Observe(schedule.Visit{At: at, Items: 15, New: rng.IntN(1 + i%4)})
		}
		volunteers[i] = schedule.New(0, schedule.Config{Interval: time.Hour}, rng)
	}
	terms := schedule.Terms{Poll: 0.001, Delay: 0.005, Min: time.Hour, Max: 6 * time.Hour}
	now := time.Duration(0)
	for i := 0; b.Loop(); i++ {
		h, v := &habits[i%feeds], volunteers[i%feeds]
		now += 360 * time.Millisecond
		h.Observe(schedule.Visit{At: h.Polled.Add(2 * time.Hour), Items: 15, New: i % 3})
		v.SetInterval(now, h.Next(terms).Sub(h.Polled), time.Hour)
		v.Polled(now, true)
		_ = v.Deadline()
	}
}
