package schedule

import "math"

// forecast is how many items a feed posts until some time, as far as it is known:
// a negative binomial number of that mean and variance. With the variance
// proportional to the mean it is a stream of bursts of logarithmic sizes; the part
// that grows with the square of the mean is doubt about the rate.
type forecast struct{ mean, variance float64 }

// overflow is E[(N−S)⁺], the items that a document of S items will have lost, and
// P(N≥S), the chance that the next item pushes one out that nobody saw.
func (f forecast) overflow(store int) (lost, chance float64) {
	if f.mean <= 0 || store <= 0 {
		return 0, 0
	}
	s := float64(store)
	if f.far(s) {
		return 0, 0
	}
	spread := max(f.variance/f.mean, 1.001)
	r := f.mean / (spread - 1)
	q := 1 - 1/spread
	p := math.Exp(-r * math.Log(spread)) // P(N=0)
	left, below := s*p, p
	for n := range store - 1 {
		p *= q * (r + float64(n)) / float64(n+1)
		left += (s - float64(n+1)) * p
		below += p
	}
	return max(f.mean-s+left, 0), min(max(1-below, 0), 1)
}

// far reports whether the store is so large that its tail does not matter: below
// a millionth of an item by Chernoff's bound on the tail,
// P(N≥s) ≤ exp(−θs + log E[exp θN]) with θ half way to where the moment ends.
func (f forecast) far(s float64) bool {
	if s < 2*f.mean {
		return false
	}
	spread := max(f.variance/f.mean, 1.001)
	r := f.mean / (spread - 1)
	q := 1 - 1/spread
	// The best θ has exp θ = s / (q(r+s)).
	z := s / (q * (r + s))
	return z > 1 && -s*math.Log(z)+r*math.Log((1-q)/(1-q*z)) < -14-math.Log(s)
}
