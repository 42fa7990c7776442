package polling

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Feed is one feed's history.
type Feed struct {
	Name   string
	Store  int       // items that its document holds
	Posts  []float64 // hours since the world's beginning, ascending
	Coarse []bool    // of which posts the item tells the day alone; nil: of none
}

// World is what one replay runs over: feeds, and the times that divide it.
type World struct {
	Name  string
	Feeds []Feed
	Train float64 // hours in which every policy sees the feeds every two hours
	End   float64 // hours
}

// dailyPosts a feed, Han §3: 1,083 postings a day from 1,000 feeds.
const dailyPosts = 1.083

// Workload is what a synthetic world is made of.
type Workload struct {
	Name  string
	Sigma float64 // of the logarithm of the feeds' rates
	Burst float64 // mean number of items in a burst; up to 1: one by one
	Gap   float64 // mean hours between the items of a burst
	Focus float64 // how close to its hour of the day a feed posts (von Mises κ); 0: at any
}

// Workloads are the synthetic ones, by their names on the command line.
func Workloads() []Workload {
	return []Workload{
		{Name: "smooth", Sigma: 2},
		{Name: "hours", Sigma: 2, Focus: 2},
		{Name: "bursty", Sigma: 2, Burst: 4, Gap: 1},
		{Name: "bursty-hours", Sigma: 2, Burst: 4, Gap: 1, Focus: 2},
	}
}

// Synthesize makes a world of so many feeds; the same seed makes the same.
func Synthesize(w Workload, feeds int, train, test float64, seed uint64) *World {
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	world := &World{Name: w.Name, Train: train, End: train + test}
	rates := make([]float64, feeds)
	sum := 0.0
	for i := range rates {
		rates[i] = math.Exp(w.Sigma * rng.NormFloat64())
		sum += rates[i]
	}
	for i := range rates {
		perHour := rates[i] * dailyPosts * float64(feeds) / sum / 24
		world.Feeds = append(world.Feeds, Feed{Store: capacity(rng), Posts: posts(w, perHour, world.End, rng)})
	}
	return world
}

// capacity draws from Han's Figure 12: 83 % of the feeds hold 10 to 15 items, the
// others 1 to 60.
func capacity(rng *rand.Rand) int {
	if rng.Float64() < 0.83 {
		return 10 + rng.IntN(6)
	}
	return 1 + rng.IntN(60)
}

func posts(w Workload, perHour, end float64, rng *rand.Rand) []float64 {
	var at []float64
	burst := max(w.Burst, 1)
	peak := 14 + 4*rng.NormFloat64()
	for t := 0.0; ; {
		t += rng.ExpFloat64() / perHour * burst
		if t >= end {
			break
		}
		// The hour of the day is drawn anew, so that the rate stays.
		u := t
		if w.Focus > 0 {
			u = math.Floor(t/24)*24 + math.Mod(vonMises(rng, w.Focus)*12/math.Pi+peak+48, 24)
		}
		for {
			if u < end {
				at = append(at, u)
			}
			if rng.Float64() >= 1-1/burst {
				break
			}
			u += rng.ExpFloat64() * w.Gap
		}
	}
	slices.Sort(at)
	return at
}

// vonMises draws an angle around 0 (Best & Fisher 1979).
func vonMises(rng *rand.Rand, kappa float64) float64 {
	tau := 1 + math.Sqrt(1+4*kappa*kappa)
	rho := (tau - math.Sqrt(2*tau)) / (2 * kappa)
	r := (1 + rho*rho) / (2 * rho)
	for {
		z := math.Cos(math.Pi * rng.Float64())
		f := (1 + r*z) / (r + z)
		c := kappa * (r - f)
		if u := rng.Float64(); c*(2-c) > u || math.Log(c/u)+1-c >= 0 {
			return math.Copysign(math.Acos(f), rng.Float64()-0.5)
		}
	}
}

// between is the first post in (from, to], and how many there are.
func (f *Feed) between(from, to float64) (first, n int) {
	first = after(f.Posts, from)
	return first, after(f.Posts, to) - first
}

func after(posts []float64, t float64) int {
	i, _ := slices.BinarySearchFunc(posts, t, func(p, t float64) int {
		if p <= t {
			return -1
		}
		return cmp.Compare(p, t)
	})
	return i
}
