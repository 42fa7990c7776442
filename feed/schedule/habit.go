package schedule

import (
	"math"
	"time"
)

const (
	memory     = 60 * 24 // hours after which an observation counts 1/e
	priorItems = 3.0     // a feed nobody knows has posted three items
	priorSpan  = 72      // in three days: until it has shown less, it is worth asking
	settled    = 7 * 24  // hours watched before a rate says what to expect
	window     = 24      // hours over which bursts are measured
	profile    = 60.0    // sessions after which a feed's hours are believed half
	priorBurst = 3       // items per burst, weighted by size, before any was seen
	trustBurst = 100.0   // items after which a feed's own bursts are believed half
)

// Habit is how one feed posts, as its polls have shown: a rate, a profile of the
// hours of the day (UTC), and how much the numbers scatter. Older polls count
// less, with a time constant of sixty days. The zero Habit is a feed nobody knows;
// it is plain data, some 300 bytes, to be stored as it is.
type Habit struct {
	Polled time.Time   // the last poll that was answered
	Store  int         // items in the document
	Span   float64     // hours watched
	Items  float64     // items posted in them
	Hours  [24]float32 // and the hour of the day they were posted in
	Bursts Scatter     // how far the numbers are from their expectation
	Open   Window      // what is not in Bursts yet
	Latest time.Time   // when the newest item was posted, if that is known
	Gaps   Gaps        // how soon an item follows another
}

// Scatter compares numbers of items with what was expected, over a day or more
// each. Its quotient is the variance of the number of items over its mean: 1 if
// items come one by one, k if they come in bursts of k.
type Scatter struct {
	Square   float64 // Σ (items − expected)²
	Expected float64 // Σ expected
}

// Window is the number of items since some time, and how many were expected.
type Window struct {
	Items, Expected, Span float64 // Span in hours
}

// Visit is what one answered poll found.
type Visit struct {
	At    time.Time
	Items int         // in the document; 0: the origin said that nothing changed
	New   int         // of them, not seen before
	Dates []time.Time // when the new ones say that they were posted, as far as they do
}

func hours(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Hour) }

// Observe learns from a poll. Dates are believed only between the last poll and
// this one, and not if they are the beginning of a day: who writes that knows the
// day alone. An item without a believable date was posted at any time between.
//
// The first visit learns from the dates alone: a document tells how long it took
// to fill.
func (h *Habit) Observe(v Visit) {
	if v.Items > 0 {
		h.Store = v.Items
	}
	if h.Polled.IsZero() {
		h.first(v)
		return
	}
	from, span := h.Polled, v.At.Sub(h.Polled).Hours()
	if span <= 0 { // the clock was set back: nothing can be learned
		h.Polled = v.At
		return
	}
	mean := h.Mean(v.At)
	n := float64(max(v.New, 0))
	if v.New >= v.Items && v.New > 0 { // nothing left of the last visit: more may have been there
		lost, chance := forecast{mean, priorBurst * mean}.overflow(v.New)
		n += min(lost/max(chance, 1e-6), 2*n)
	}
	keep := math.Exp(-span / memory)
	h.fade(keep)
	h.Span += span
	h.Items += n
	h.place(from, v, n)
	if h.Span >= settled {
		h.scatter(n, mean, span)
	}
	h.gaps(from, v)
	h.Polled = v.At
}

func (h *Habit) fade(keep float64) {
	h.Span *= keep
	h.Items *= keep
	h.Bursts.Square *= keep
	h.Bursts.Expected *= keep
	for i := range h.Hours {
		h.Hours[i] *= float32(keep)
	}
	h.Gaps.fade(keep)
}

// first learns from a document whose last visit was before anybody's memory.
func (h *Habit) first(v Visit) {
	h.Polled = v.At
	oldest := v.At
	for _, d := range v.Dates {
		if d.Before(oldest) && v.At.Sub(d).Hours() < memory {
			oldest = d
		}
	}
	span := v.At.Sub(oldest)
	if span < time.Hour {
		return
	}
	n := -1.0 // the interval begins with an item
	for _, d := range v.Dates {
		if !d.Before(oldest) && !d.After(v.At) {
			n++
			if !wholeDay(d) {
				h.Hours[d.UTC().Hour()]++
			}
		}
	}
	h.Span, h.Items = span.Hours(), max(n, 0)
}

// place tells the hours of the day in which n items were posted.
func (h *Habit) place(from time.Time, v Visit, n float64) {
	dated := 0.0
	for _, d := range v.Dates {
		if dated < n && d.After(from) && !d.After(v.At) && !wholeDay(d) {
			h.Hours[d.UTC().Hour()]++
			dated++
		}
	}
	if n <= dated {
		return
	}
	// The rest lies anywhere in between: weight by the time spent in each hour.
	share := (n - dated) / v.At.Sub(from).Hours()
	if days := math.Floor(v.At.Sub(from).Hours() / 24); days > 0 {
		for i := range h.Hours {
			h.Hours[i] += float32(share * days)
		}
		from = from.Add(time.Duration(days) * 24 * time.Hour)
	}
	for from.Before(v.At) {
		end := from.Truncate(time.Hour).Add(time.Hour)
		if end.After(v.At) {
			end = v.At
		}
		h.Hours[from.UTC().Hour()] += float32(share * end.Sub(from).Hours())
		from = end
	}
}

func wholeDay(t time.Time) bool { return t.Equal(t.Truncate(24 * time.Hour)) }

// scatter compares n items with the mean expected, a day or more at a time: over
// less, one burst would look like several small ones.
func (h *Habit) scatter(n, mean, span float64) {
	w := &h.Open
	w.Items += n
	w.Expected += mean
	w.Span += span
	if w.Span < window {
		return
	}
	h.Bursts.Square += (w.Items - w.Expected) * (w.Items - w.Expected)
	h.Bursts.Expected += w.Expected
	*w = Window{}
}

// Rate is the expected number of items per hour, averaged over the day.
func (h *Habit) Rate() float64 { return (h.Items + priorItems) / (h.Span + priorSpan) }

// Mean is the number of items expected from the last poll until then.
func (h *Habit) Mean(until time.Time) float64 {
	var d day
	h.day(&d, priorBurst)
	from := hours(h.Polled)
	return h.Rate() * max(d.sum(hours(until))-d.sum(from), 0)
}

// Burst is the variance of the number of items over its mean, with what other
// feeds show as the assumption to begin with.
func (h *Habit) Burst(others Scatter) float64 {
	prior := (others.Square + priorBurst*trustBurst) / (others.Expected + trustBurst)
	return max((h.Bursts.Square+prior*trustBurst)/(h.Bursts.Expected+trustBurst), 1)
}

// day is a profile of the hours: before[i] is the weight of the day before hour i,
// before[24] = 24.
type day struct {
	before [25]float64
	flat   bool
}

// day makes the profile. Items of one burst are one piece of evidence.
func (h *Habit) day(d *day, burst float64) {
	total := 0.0
	for _, n := range h.Hours {
		total += float64(n)
	}
	prior := profile * burst / 24
	d.flat = total == 0
	scale := 24 / (total + 24*prior)
	for i := range h.Hours {
		// An hour learns from the ones beside it.
		near := float64(h.Hours[(i+23)%24]+2*h.Hours[i]+h.Hours[(i+1)%24]) / 4
		d.before[i+1] = d.before[i] + (near+prior)*scale
	}
}

// sum is the weight from the epoch to a time in hours.
func (d *day) sum(t float64) float64 {
	days := math.Floor(t / 24)
	in := t - 24*days
	i := min(int(in), 23)
	return 24*days + d.before[i] + (in-float64(i))*(d.before[i+1]-d.before[i])
}
