package schedule

import (
	"math"
	"time"
)

// terms are today's prices. Were delay all that counts, polls at the price
// Delay/2·(Σ√λ/R)² would make just R an hour (each feed's interval is then
// √(2·Poll/(Delay·λ))). What the savings show of lost items and of error moves it.
func (a *Agenda) terms() Terms {
	t := a.budget.Terms
	t.Others = a.pool.crowd
	if a.budget.Polls == 0 {
		return t
	}
	per := a.pool.roots / a.perHr
	missing := 0.5 - a.money.saved/a.most()
	t.Poll = max(t.Delay/2*per*per*math.Exp(a.money.trend+steering*missing), 1e-9)
	return t
}

// most is how many polls can be saved.
func (a *Agenda) most() float64 { return max(a.perHr*savings, 1) }

// earn counts what time brings.
func (a *Agenda) earn(now time.Time) {
	passed := now.Sub(a.money.at).Hours()
	a.money.at = now
	if passed > 0 { // else the clock was set back: nothing was earned
		a.money.saved = min(a.money.saved+passed*a.perHr, a.most())
	}
}

// spend pays for a poll and moves the price toward the one at which half of what
// can be saved is.
func (a *Agenda) spend() {
	if a.budget.Polls == 0 {
		return
	}
	a.money.saved--
	rate := settling * min(1000/float64(a.Len()), 10)
	a.money.trend += rate * (0.5 - a.money.saved/a.most()) / 10
	a.money.trend = min(max(a.money.trend, -10), 10)
}
