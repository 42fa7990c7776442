package schedule

import (
	"math"
	"time"
)

// Terms are what a poll costs and what it is for. All are counted in lost items.
// The zero Terms take the defaults.
type Terms struct {
	Poll  float64 // the price of a poll; 0: 0.005
	Delay float64 // what it costs that an item waits an hour; 0: 0.005

	// Others is what all feeds together have shown, as a first guess for one that
	// has shown little.
	Others Crowd
	// Min and Max bound the interval; 0: unbounded, and a thousand hours.
	Min, Max time.Duration
}

const (
	pollPrice   = 0.005
	delayPrice  = 0.005
	longest     = 1000 // hours
	doubtShape  = 1.0  // weight of a rate's prior, in bursts
	growth      = 1.06 // steps of the search
	tolerance   = 1.3  // how much worse an interval may get before the search ends
	lookBeyond  = 26   // hours after the best so far within which a better may lie
	refinements = 8
)

func (t Terms) filled() Terms {
	if !(t.Poll > 0) {
		t.Poll = pollPrice
	}
	if !(t.Delay > 0) {
		t.Delay = delayPrice
	}
	if t.Max <= 0 || t.Max > longest*time.Hour {
		t.Max = longest * time.Hour
	}
	t.Min = min(max(t.Min, 0), t.Max)
	return t
}

// Next is when the feed is to be polled: where the cost of the poll and of what
// is expected to be lost and to wait until then is least, per item expected since
// the last poll. It lies between Min and Max after it. A feed that was never
// polled is due at once: its time is zero.
//
// With C(τ) = E[(N−S)⁺] + Delay·∫E[N], c its derivative and a steady rate, it is
// where the index τ·c(τ) − C(τ) reaches the price of a poll.
func (h *Habit) Next(t Terms) time.Time {
	if h.Polled.IsZero() {
		return time.Time{}
	}
	t = t.filled()
	p := h.plan(t)
	tau := p.search(t.Min.Hours(), t.Max.Hours())
	return h.Polled.Add(min(max(time.Duration(tau*float64(time.Hour)), t.Min), t.Max))
}

// plan is the search for one feed's next poll.
type plan struct {
	terms        Terms
	day          day
	rate         float64
	burst, doubt float64 // the forecast's variance is mean·(burst + mean·doubt)
	store        int
	rest         rest
	from, before float64 // the last poll, in hours and in weights of the profile
}

func (h *Habit) plan(t Terms) plan {
	burst := h.Burst(t.Others.Bursts)
	p := plan{terms: t, rate: h.Rate(), burst: burst, store: h.Store, from: hours(h.Polled)}
	p.doubt = burst / (h.Items + doubtShape*burst)
	p.rest = h.rest(t.Others.Gaps, p.rate)
	h.day(&p.day, burst)
	p.before = p.day.sum(p.from)
	return p
}

// mean is E[N] so many hours after the last poll.
func (p *plan) mean(tau float64) float64 { return p.steady(tau) + p.rest.mean*p.rest.share(tau) }

// steady is what the rate and the hours make of it, without the burst under way.
func (p *plan) steady(tau float64) float64 { return p.rate * (p.day.sum(p.from+tau) - p.before) }

// lost is E[(N−S)⁺].
func (p *plan) lost(at point) float64 {
	steady := p.steady(at.tau)
	f := p.rest.share(at.tau)
	lost, _ := forecast{at.mean, steady*(1+(p.burst-1)*p.rest.unfold(at.tau)+steady*p.doubt) + f*(f*p.rest.variance+(1-f)*p.rest.mean)}.overflow(p.store)
	return lost
}

// search finds the interval of least cost per item.
func (p *plan) search(least, most float64) float64 {
	tau := math.Sqrt(2*p.terms.Poll/(p.terms.Delay*p.rate)) / 32
	if p.store > 0 {
		tau = min(tau, float64(p.store)/p.rate/32)
	}
	tau = min(max(tau, least, 1.0/60), most)
	at := point{tau: tau, mean: p.mean(tau)}
	at.waited = at.mean * tau / 2
	best, before := at, at
	bestCost := p.cost(at)
	for last := at; last.tau < most; {
		next := p.step(last, min(max(last.tau*growth, last.tau+1.0/60), most))
		cost := p.cost(next)
		if cost < bestCost {
			best, before, bestCost = next, last, cost
		} else if cost > bestCost*tolerance || p.day.flat && p.rest.mean == 0 || next.tau > best.tau+lookBeyond {
			break
		}
		last = next
	}
	return p.refine(before, best, bestCost)
}

// refine looks around the best step of the search in smaller ones.
func (p *plan) refine(before, best point, bestCost float64) float64 {
	tau := best.tau
	width := max(best.tau*(growth-1), best.tau-before.tau) * 2 / refinements
	for at := before; at.tau < best.tau+width*refinements/2; {
		at = p.step(at, at.tau+max(width, 1e-4))
		if cost := p.cost(at); cost < bestCost && at.tau < best.tau*growth {
			tau, bestCost = at.tau, cost
		}
	}
	return tau
}

// point is an interval: the items expected in it, and the hours they will have
// waited together.
type point struct{ tau, mean, waited float64 }

func (p *plan) step(from point, tau float64) point {
	mean := p.mean(tau)
	return point{tau, mean, from.waited + (from.mean+mean)/2*(tau-from.tau)}
}

// cost is what an expected item of the interval costs. Not an hour: what an hour
// costs at the best is more where more is posted, so that an interval must not be
// judged by the quiet hours it happens to hold.
func (p *plan) cost(at point) float64 {
	return (p.terms.Poll + p.lost(at) + p.terms.Delay*at.waited) / max(at.mean, 1e-12)
}
