package schedule

import (
	"math"
	"testing"
)

// binomial is P(N=n) of a negative binomial number by its definition.
func binomial(n int, mean, variance float64) float64 {
	r, q := mean*mean/(variance-mean), 1-mean/variance
	a, _ := math.Lgamma(float64(n) + r)
	b, _ := math.Lgamma(r)
	c, _ := math.Lgamma(float64(n) + 1)
	return math.Exp(a - b - c + r*math.Log(1-q) + float64(n)*math.Log(q))
}

func TestOverflowIsTheExpectedLoss(t *testing.T) {
	for _, f := range []forecast{{0.3, 0.4}, {3, 9}, {10, 11}, {40, 400}, {0.01, 0.06}} {
		for _, store := range []int{1, 2, 12, 60} {
			lost, chance := 0.0, 0.0
			for n := store; n < 20000; n++ {
				p := binomial(n, f.mean, f.variance)
				lost += p * float64(n-store)
				chance += p
			}
			gotLost, gotChance := f.overflow(store)
			if math.Abs(gotLost-lost) > 2e-5 || math.Abs(gotChance-chance) > 2e-5 {
				t.Errorf("%v, document of %d: lost %.6f chance %.6f, want %.6f and %.6f", f, store, gotLost, gotChance, lost, chance)
			}
		}
	}
}

// Items one by one: E[(N−1)⁺] = m − 1 + e^−m.
func TestOverflowOfAPoissonStream(t *testing.T) {
	for _, m := range []float64{0.1, 1, 5} {
		if got, _ := (forecast{m, m}).overflow(1); math.Abs(got-(m-1+math.Exp(-m))) > 2e-3 {
			t.Errorf("mean %v: %v lost, want %v", m, got, m-1+math.Exp(-m))
		}
	}
	if got, _ := (forecast{1e6, 1e9}).overflow(10); math.Abs(got-(1e6-10)) > 1 {
		t.Errorf("a flood loses %v, want nearly all", got)
	}
	if lost, chance := (forecast{}).overflow(10); lost != 0 || chance != 0 {
		t.Errorf("silence loses %v with chance %v", lost, chance)
	}
}
