package schedule_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/feedtree/feedtree/feed/schedule"
)

var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func after(h float64) time.Time { return start.Add(time.Duration(h * float64(time.Hour))) }

// taught is a habit after polls every two hours of a feed that posts at times.
func taught(store int, days int, posts []float64) *schedule.Habit {
	h := &schedule.Habit{Polled: start, Store: store}
	next := 0
	for at := 2.0; at <= float64(days)*24; at += 2 {
		v := schedule.Visit{At: after(at), Items: store}
		for next < len(posts) && posts[next] <= at {
			v.Dates = append(v.Dates, after(posts[next]))
			next++
		}
		v.New = min(len(v.Dates), store)
		v.Dates = v.Dates[len(v.Dates)-v.New:]
		h.Observe(v)
	}
	return h
}

// poisson are posts at a rate per hour, bursts of several at once.
func poisson(perHour float64, days, burst int, seed uint64) (posts []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for t := 0.0; ; {
		if t += rng.ExpFloat64() / perHour * float64(burst); t > float64(days)*24 {
			return posts
		}
		for range burst {
			posts = append(posts, t)
		}
	}
}

func wait(h *schedule.Habit, t schedule.Terms) float64 { return h.Next(t).Sub(h.Polled).Hours() }

// Sia & Cho: where nothing is lost, the interval of least cost is
// √(2·price/(delay·λ)), so that twice as many polls go to a feed four times as fast.
func TestIntervalsFollowTheRootOfTheRate(t *testing.T) {
	terms := schedule.Terms{Poll: 0.1, Delay: 0.01}
	for _, rate := range []float64{0.01, 0.1, 1, 4} {
		h := schedule.Habit{Polled: start, Store: 10000, Span: 1e5 - 48, Items: 1e5*rate - 0.5}
		want := math.Sqrt(2 * terms.Poll / (terms.Delay * rate))
		if got := wait(&h, terms); math.Abs(got-want) > 0.02*want {
			t.Errorf("%v items an hour: polled after %.2f h, want %.2f", rate, got, want)
		}
	}
}

func TestASmallStoreIsPolledSooner(t *testing.T) {
	terms := schedule.Terms{Poll: 0.1, Delay: 0.001}
	last := 0.0
	for _, store := range []int{1, 5, 20, 200} {
		got := wait(taught(store, 40, poisson(1, 40, 1, 3)), terms)
		if got <= last {
			t.Errorf("a document of %d items is polled after %.1f h, a smaller one after %.1f", store, got, last)
		}
		if got > 1.5*float64(store) && store < 20 {
			t.Errorf("a document that fills in %d h is polled only after %.1f h", store, got)
		}
		last = got
	}
}

func TestBurstsArePolledSooner(t *testing.T) {
	terms := schedule.Terms{Poll: 1, Delay: 0.001}
	steady, bursty := taught(40, 60, poisson(1, 60, 1, 4)), taught(40, 60, poisson(1, 60, 8, 4))
	if b := steady.Burst(schedule.Scatter{}); b > 2 {
		t.Errorf("items that come one by one scatter by %.1f, want about 1", b)
	}
	if b := bursty.Burst(schedule.Scatter{}); b < 4 {
		t.Errorf("items that come by eights scatter by %.1f, want about 8", b)
	}
	bursty.Latest = time.Time{} // no burst under way
	bursty.Span, bursty.Items = steady.Span, steady.Items
	if s, b := wait(steady, terms), wait(bursty, terms); b > 0.8*s {
		t.Errorf("the bursty feed is polled after %.1f h, the steady one of the same rate after %.1f", b, s)
	}
}

func TestABurstUnderWayIsPolledSooner(t *testing.T) {
	var posts []float64
	for day := range 60 {
		for i := range 12 {
			posts = append(posts, float64(day*72)+float64(i)*0.7)
		}
	}
	h := taught(10, 60, posts[:20*12])
	terms := schedule.Terms{Poll: 0.5, Delay: 0.01}
	h.Latest = h.Polled.Add(-40 * time.Hour)
	quiet := wait(h, terms)
	h.Latest = h.Polled.Add(-10 * time.Minute)
	if hot := wait(h, terms); hot > quiet/2 {
		t.Errorf("polled after %.1f h in a burst, after %.1f h outside", hot, quiet)
	}
}

// A feed that posts from eight to ten is asked when it is done, not before.
func TestPollsComeAfterTheFeedsHours(t *testing.T) {
	var posts []float64
	for day := range 60 {
		for i := range 4 {
			posts = append(posts, float64(day*24)+8.2+float64(i)*0.5)
		}
	}
	h := taught(100, 60, posts)
	next := h.Next(schedule.Terms{Poll: 0.2, Delay: 0.01})
	if hour := next.Hour(); hour < 9 || hour > 12 {
		t.Errorf("polled at %v, want soon after ten", next)
	}
}

func TestNextStaysWithinItsBounds(t *testing.T) {
	h := taught(10, 20, poisson(0.5, 20, 1, 9))
	if got := wait(h, schedule.Terms{Poll: 1e-7, Min: 30 * time.Minute}); got != 0.5 {
		t.Errorf("a poll that costs nothing is made after %v h, want Min", got)
	}
	if got := wait(h, schedule.Terms{Poll: 1e7, Delay: 1e-9, Max: 6 * time.Hour}); got != 6 {
		t.Errorf("a poll that costs all is made after %v h, want Max", got)
	}
	if next := (&schedule.Habit{}).Next(schedule.Terms{}); !next.IsZero() {
		t.Errorf("a feed never polled is due at %v, want at once", next)
	}
}

// Who writes midnight knows the day alone; and an item that the last poll did not
// show was not there, whatever its date.
func TestDatesAreBelievedWithinReason(t *testing.T) {
	for name, date := range map[string]time.Time{"the day alone": after(24), "before the last poll": after(1.5), "the future": after(400.5)} {
		h := schedule.Habit{Polled: after(12), Store: 10}
		h.Observe(schedule.Visit{At: after(36), Items: 10, New: 3, Dates: []time.Time{date, date, date}})
		for hour, n := range h.Hours {
			if math.Abs(float64(n)-3.0/24) > 1e-3 {
				t.Errorf("a date that says %s puts %v items into hour %d, want them spread evenly", name, n, hour)
				break
			}
		}
		if !h.Latest.IsZero() {
			t.Errorf("a date that says %s is taken for when the newest item came", name)
		}
	}
	h := schedule.Habit{Polled: after(12), Store: 10}
	h.Observe(schedule.Visit{At: after(36), Items: 10, New: 1, Dates: []time.Time{after(15.5)}})
	if h.Hours[15] != 1 || !h.Latest.Equal(after(15.5)) {
		t.Errorf("a good date is not believed: %v, latest %v", h.Hours, h.Latest)
	}
}

func TestTheFirstDocumentTellsTheRate(t *testing.T) {
	var h schedule.Habit
	v := schedule.Visit{At: after(100), Items: 11, New: 11}
	for i := range 11 {
		v.Dates = append(v.Dates, after(float64(i)*10))
	}
	h.Observe(v)
	if h.Items != 10 || h.Span != 100 || h.Store != 11 {
		t.Errorf("11 items over 100 h give %v items in %v h and a document of %d", h.Items, h.Span, h.Store)
	}
}

// When nothing of the last visit is left, more may have been lost than is seen.
func TestAFullDocumentMeansMore(t *testing.T) {
	h := schedule.Habit{Polled: start, Store: 10, Span: 1000, Items: 1000}
	h.Observe(schedule.Visit{At: after(24), Items: 10, New: 10})
	if got := h.Items - 1000*math.Exp(-24.0/1440); got < 20 || got > 30 {
		t.Errorf("an item an hour, 24 h, a full document of 10: counted as %.1f items", got)
	}
}

func TestAClockSetBackTeachesNothing(t *testing.T) {
	h := taught(10, 20, poisson(0.5, 20, 1, 9))
	before := *h
	h.Observe(schedule.Visit{At: h.Polled.Add(-24 * time.Hour), Items: 10, New: 9})
	if h.Span != before.Span || h.Items != before.Items || !h.Polled.Before(before.Polled) {
		t.Errorf("after a day back: %v items in %v h, polled %v", h.Items, h.Span, h.Polled)
	}
	if next := h.Next(schedule.Terms{}); next.Before(h.Polled) {
		t.Errorf("the next poll is before the last")
	}
}

// What is stored is all there is.
func TestAHabitIsPlainDataOfBoundedSize(t *testing.T) {
	h := taught(10, 20, poisson(0.5, 20, 1, 9))
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back schedule.Habit
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if a, b := h.Next(schedule.Terms{}), back.Next(schedule.Terms{}); !a.Equal(b) {
		t.Errorf("stored and read again, it is due at %v instead of %v", b, a)
	}
	if size := unsafe.Sizeof(back); size > 400 {
		t.Errorf("a habit takes %d bytes, want at most 400", size)
	}
}
