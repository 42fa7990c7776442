package schedule

import "math"

// Shared is a feed that several nodes follow.
type Shared struct {
	Subscribers float64 // who would each poll it once in T
	Rate        float64 // items per hour
	Size        float64 // what a poll costs its origin, in any unit
	Most        float64 // polls in T that the origin's limits allow; 0: unbounded
}

// Pollers is how many polls each feed gets in T, all its subscribers together, so
// that items wait least for the load that the origins would have had anyway, each
// subscriber polling for himself: Corona's optimum (Ramasubramanian, Peterson and
// Sirer, NSDI'06, §3.1), n ∝ √(subscribers · rate / size). Where T is the interval
// of a [Volunteer], n is its N. No feed gets less than one poll or more than Most;
// what one cannot use goes to the others.
func Pollers(feeds []Shared) []float64 {
	n := make([]float64, len(feeds))
	load, top := 0.0, 0.0
	for _, f := range feeds {
		load += max(f.Subscribers, 1) * max(f.Size, 0)
		if w := f.weight(); w > 0 {
			top = max(top, 1/w)
		}
	}
	// The more of a price there is, the more polls; the load grows with it.
	spend := func(scale float64) (sum float64) {
		for i, f := range feeds {
			n[i] = max(scale*f.weight(), 1)
			if f.Most > 0 {
				n[i] = min(n[i], max(f.Most, 1))
			}
			sum += n[i] * max(f.Size, 0)
		}
		return sum
	}
	low, high := 0.0, top
	for range 64 {
		if spend(high) >= load || high == 0 {
			break
		}
		low, high = high, 2*high
	}
	for range 100 {
		if mid := (low + high) / 2; spend(mid) > load {
			high = mid
		} else {
			low = mid
		}
	}
	spend(low)
	return n
}

func (f Shared) weight() float64 {
	if !(f.Size > 0) || !(f.Rate > 0) {
		return 0
	}
	return math.Sqrt(max(f.Subscribers, 1) * f.Rate / f.Size)
}
