package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// life is an agenda over feeds that post at random, for so many hours.
func life(budget schedule.Budget, feeds int, hours float64, seed uint64) (polls []time.Time, ids []int) {
	rng := rand.New(rand.NewPCG(seed, 5))
	a := schedule.NewAgenda(start, budget)
	last := make([]time.Time, feeds)
	for i := range feeds {
		a.Add(schedule.Habit{Polled: start, Store: 10, Span: 500, Items: float64(i % 50)}, 0, 0)
		last[i] = start
	}
	for {
		at, ok := a.Deadline()
		if !ok || at.Sub(start).Hours() > hours {
			return polls, ids
		}
		id, ok := a.Next(at)
		if !ok {
			continue
		}
		polls, ids = append(polls, at), append(ids, id)
		news := min(int(rng.ExpFloat64()*at.Sub(last[id]).Hours()*float64(id%50)/500), 10)
		a.Observe(id, schedule.Visit{At: at, Items: 10, New: news})
		last[id] = at
	}
}

func TestTheBudgetIsKeptAndUsed(t *testing.T) {
	const perDay, days = 240, 40
	polls, _ := life(schedule.Budget{Polls: perDay}, 300, days*24, 1)
	if n := len(polls); n < perDay*days*95/100 || n > perDay*(days+1) {
		t.Errorf("%d polls in %d days, want nearly %d", n, days, perDay*days)
	}
	for i := range polls {
		j, _ := slices.BinarySearchFunc(polls, polls[i].Add(24*time.Hour), time.Time.Compare)
		if j-i > 2*perDay+1 {
			t.Fatalf("%d polls in the day after %v, want at most two days' budget", j-i, polls[i])
		}
	}
}

func TestTheSameStoryHasTheSamePolls(t *testing.T) {
	p1, i1 := life(schedule.Budget{Polls: 100}, 50, 200, 3)
	p2, i2 := life(schedule.Budget{Polls: 100}, 50, 200, 3)
	if !slices.Equal(p1, p2) || !slices.Equal(i1, i2) || len(p1) == 0 {
		t.Errorf("two runs differ: %d and %d polls", len(p1), len(p2))
	}
}

func TestWithoutABudgetEachFeedHasItsOwnLimits(t *testing.T) {
	a := schedule.NewAgenda(start, schedule.Budget{Terms: schedule.Terms{Min: time.Hour, Max: 12 * time.Hour}})
	fast := a.Add(schedule.Habit{Polled: start, Store: 5, Span: 100, Items: 5000}, 0, 0)
	slow := a.Add(schedule.Habit{Polled: start, Store: 5, Span: 1e5}, 0, 0)
	own := a.Add(schedule.Habit{Polled: start, Store: 5, Span: 100, Items: 5000}, 3*time.Hour, 0)
	want := []struct {
		id int
		at float64
	}{{fast, 1}, {own, 3}, {slow, 12}}
	for _, w := range want {
		at, ok := a.Deadline()
		if id, due := a.Next(at); !ok || !due || id != w.id || !at.Equal(after(w.at)) {
			t.Fatalf("feed %d is due at %v (%v), want feed %d at %v", id, at, due, w.id, after(w.at))
		}
	}
	if _, ok := a.Deadline(); ok {
		t.Error("feeds that are being polled are due again")
	}
}

func TestNobodyIsPolledBeforeHisTime(t *testing.T) {
	a := schedule.NewAgenda(start, schedule.Budget{Polls: 1000})
	id := a.Add(schedule.Habit{}, 0, 0)
	a.NotBefore(id, after(50))
	if _, ok := a.Next(after(49.9)); ok {
		t.Fatal("polled before the time that the origin asked for")
	}
	if got, ok := a.Next(after(50)); !ok || got != id {
		t.Fatal("not polled at the time that the origin asked for")
	}
	a.Failed(id, after(90))
	if _, ok := a.Next(after(89.9)); ok {
		t.Error("polled again too soon after a failure")
	}
	if _, ok := a.Next(after(90)); !ok {
		t.Error("not polled again after a failure")
	}
}

// All feeds are due at once: only what the budget has saved goes out, and a clock
// set back takes nothing of it away.
func TestDueFeedsWaitForTheBudget(t *testing.T) {
	a := schedule.NewAgenda(start, schedule.Budget{Polls: 24})
	for range 100 {
		a.Add(schedule.Habit{}, 0, 0)
	}
	take := func(h float64) (n int) {
		for n < 100 {
			if _, ok := a.Next(after(h)); !ok {
				break
			}
			n++
		}
		return n
	}
	if first, second := take(0), take(1); first != 12 || second != 1 {
		t.Errorf("half a day's budget of 24 and an hour's gave %d and %d polls", first, second)
	}
	if _, ok := a.Next(after(49)); !ok {
		t.Fatal("a day's savings are worth no poll")
	}
	if _, ok := a.Next(after(1)); !ok {
		t.Error("a clock set back two days took the savings")
	}
}

// A budget that cannot be used up does not press a feed under its own minimum.
func TestSavingsDoNotOverrideAFeedsMinimum(t *testing.T) {
	polls, _ := life(schedule.Budget{Polls: 10000, Terms: schedule.Terms{Min: 2 * time.Hour}}, 3, 100, 1)
	if len(polls) > 3*51 {
		t.Errorf("%d polls of 3 feeds in 100 h, with at least 2 h between", len(polls))
	}
}

func TestFeedsComeAndGo(t *testing.T) {
	a := schedule.NewAgenda(start, schedule.Budget{})
	x, y := a.Add(schedule.Habit{}, 0, 0), a.Add(schedule.Habit{}, 0, 0)
	a.Remove(x)
	a.Remove(x)
	a.Observe(x, schedule.Visit{At: after(1)})
	a.Failed(-1, after(1))
	if id, ok := a.Next(after(1)); !ok || id != y || a.Len() != 1 {
		t.Errorf("after a feed left, feed %d of %d is due, want %d", id, a.Len(), y)
	}
	if _, ok := a.Next(after(1)); ok {
		t.Error("a feed that left is due")
	}
	if z := a.Add(schedule.Habit{}, 0, 0); z != x {
		t.Errorf("the free number %d is not used again: %d", x, z)
	}
}

func TestAnAgendaSurvivesClockJumps(t *testing.T) {
	a := schedule.NewAgenda(start, schedule.Budget{Polls: 24})
	id := a.Add(schedule.Habit{Polled: start, Store: 5, Span: 100, Items: 50}, 0, 0)
	spent := 0
	for _, h := range []float64{0, 24, 0, 24, 0, 24, 0, 24} {
		for {
			if _, ok := a.Next(after(h)); !ok {
				break
			}
			spent++
			a.Observe(id, schedule.Visit{At: after(h), Items: 5, New: 1})
			if spent > 200 {
				t.Fatal("a clock that jumps makes polls without end")
			}
		}
	}
}

func BenchmarkAgenda(b *testing.B) {
	a := schedule.NewAgenda(start, schedule.Budget{Polls: 10000 * 24})
	for i := range 10000 {
		a.Add(schedule.Habit{Polled: start, Store: 15, Span: 500, Items: float64(i % 97), Latest: start}, 0, 0)
	}
	for b.Loop() {
		at, _ := a.Deadline()
		if id, ok := a.Next(at); ok {
			a.Observe(id, schedule.Visit{At: at, Items: 15, New: id % 2})
		}
	}
}

// Two feeds share two polls a day. The one that posts more gets more of them.
func ExampleAgenda() {
	begin := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	agenda := schedule.NewAgenda(begin, schedule.Budget{Polls: 2})
	busy := agenda.Add(schedule.Habit{Polled: begin, Store: 10, Span: 240, Items: 90}, 0, 0)
	quiet := agenda.Add(schedule.Habit{Polled: begin, Store: 10, Span: 240, Items: 2}, 0, 0)
	polls := map[int]int{}
	for {
		at, _ := agenda.Deadline()
		if at.After(begin.Add(30 * 24 * time.Hour)) {
			break
		}
		if id, ok := agenda.Next(at); ok {
			polls[id]++
			agenda.Observe(id, schedule.Visit{At: at, Items: 10, New: 1 - id})
		}
	}
	fmt.Println("the busy one more often:", polls[busy] > 2*polls[quiet])
	fmt.Println("the quiet one not never:", polls[quiet] > 0)
	// Output:
	// the busy one more often: true
	// the quiet one not never: true
}
