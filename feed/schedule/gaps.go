package schedule

import (
	"math"
	"slices"
	"time"
)

// ages divides the hours after an item.
var ages = [...]float64{0, 0.25, 0.5, 1, 2, 4, 8, 16, 32}

const nAges = len(ages) - 1

const trustGaps = 12.0 // items after which a feed's own gaps are believed half

// Gaps are how soon an item followed another, by the hours since: how long nothing
// came at that age, and how often something did.
type Gaps struct {
	Watched, Next [nAges]float64 // hours; items
}

// Crowd is what many feeds have shown together. In its gaps, Next counts only the
// items that the feeds' rates do not explain.
type Crowd struct {
	Bursts Scatter
	Gaps   Gaps
}

func (g *Gaps) fade(keep float64) {
	for i := range g.Next {
		g.Watched[i] *= keep
		g.Next[i] *= keep
	}
}

// add sums up what others show. Next becomes what their rates do not explain.
func (g *Gaps) add(h *Gaps, rate, sign float64) {
	for i := range g.Next {
		g.Watched[i] += sign * h.Watched[i]
		g.Next[i] += sign * (h.Next[i] - rate*h.Watched[i])
	}
}

// gap counts one.
func (g *Gaps) gap(hours float64) {
	for i := range nAges {
		if hours < ages[i+1] {
			g.Watched[i] += hours - ages[i]
			g.Next[i]++
			return
		}
		g.Watched[i] += ages[i+1] - ages[i]
	}
}

// gaps learns from the dates of a visit.
func (h *Habit) gaps(from time.Time, v Visit) {
	if v.New >= v.Items && v.New > 0 {
		h.Latest = time.Time{} // something may have been between
	}
	dates := make([]time.Time, 0, 16)
	for _, d := range v.Dates {
		if d.After(from) && !d.After(v.At) && !wholeDay(d) {
			dates = append(dates, d)
		}
	}
	if len(dates) < v.New {
		h.Latest = time.Time{}
		return
	}
	slices.SortFunc(dates, time.Time.Compare)
	for _, d := range dates {
		if !h.Latest.IsZero() {
			h.Gaps.gap(d.Sub(h.Latest).Hours())
		}
		h.Latest = d
	}
}

// rest is what is expected of a burst that may be under way.
type rest struct {
	mean, variance float64 // items
	hours          float64 // the time in which most of it comes
}

// share is how much of it has come.
func (r *rest) share(tau float64) float64 {
	if r.mean == 0 {
		return 0
	}
	return 1 - math.Exp(-tau/r.hours)
}

// unfold is how much of the scatter of whole bursts shows within so many hours.
func (r *rest) unfold(tau float64) float64 {
	if r.hours == 0 {
		return 1
	}
	x := tau / r.hours
	return 1 - (1-math.Exp(-x))/x
}

// rest expects that an item follows the last one with the hazard that gaps show
// beyond the feed's rate, and so on.
func (h *Habit) rest(others Gaps, rate float64) rest {
	age := math.Inf(1)
	if !h.Latest.IsZero() && !h.Latest.After(h.Polled) {
		age = h.Polled.Sub(h.Latest).Hours()
	}
	whole, left, first := 0.0, 0.0, 0.0
	for i := range nAges {
		width := ages[i+1] - ages[i]
		trust := trustGaps * width
		prior := 0.0
		if others.Watched[i] > 0 {
			prior = max(others.Next[i], 0) / (others.Watched[i] + trust)
		}
		own := h.Gaps.Next[i] - rate*h.Gaps.Watched[i]
		hazard := max((own+trust*prior)/(h.Gaps.Watched[i]+trust), 0)
		first += math.Exp(-whole) * (1 - math.Exp(-hazard*width)) * (ages[i] + ages[i+1]) / 2
		whole += hazard * width
		left += hazard * min(max(ages[i+1]-age, 0), width)
	}
	again := min(1-math.Exp(-whole), 0.95)
	goesOn := min(1-math.Exp(-left), 0.95)
	if again < 1e-3 {
		return rest{}
	}
	r := rest{mean: goesOn / (1 - again), hours: max(first/again/(1-again), 0.1)}
	r.variance = goesOn*(1+again)/((1-again)*(1-again)) - r.mean*r.mean
	return r
}
