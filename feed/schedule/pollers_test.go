package schedule_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/feedtree/feedtree/feed/schedule"
)

// waitOf is Σ subscribers·rate/n, which the mean wait of items is proportional to.
func waitOf(feeds []schedule.Shared, n []float64) (sum float64) {
	for i, f := range feeds {
		sum += f.Subscribers * f.Rate / n[i]
	}
	return sum
}

func loadOf(feeds []schedule.Shared, n []float64) (sum float64) {
	for i, f := range feeds {
		sum += f.Size * n[i]
	}
	return sum
}

// Corona (NSDI'06) §3.1: the optimum under the load of those who poll alone. No
// shift of load between two feeds shortens the wait.
func TestPollersWaitLeastForTheSameLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var feeds []schedule.Shared
	alone := []float64{}
	for range 50 {
		f := schedule.Shared{Subscribers: math.Ceil(1000 / (1 + 100*rng.Float64())), Rate: rng.Float64(), Size: 1 + 50*rng.Float64()}
		if rng.IntN(3) == 0 {
			f.Most = 4
		}
		feeds, alone = append(feeds, f), append(alone, f.Subscribers)
	}
	n := schedule.Pollers(feeds)
	if got, want := loadOf(feeds, n), loadOf(feeds, alone); got > want*1.0001 || got < want*0.999 {
		t.Errorf("a load of %v, want %v", got, want)
	}
	best := waitOf(feeds, n)
	for i := range feeds {
		for j := range feeds {
			m := append([]float64(nil), n...)
			shift := 0.01 * min(m[i]*feeds[i].Size, m[j]*feeds[j].Size)
			m[i] -= shift / feeds[i].Size
			m[j] += shift / feeds[j].Size
			if m[i] >= 1 && (feeds[j].Most == 0 || m[j] <= feeds[j].Most) && waitOf(feeds, m) < best*(1-1e-9) {
				t.Fatalf("less of feed %d and more of %d is better", i, j)
			}
		}
	}
	for i, f := range feeds {
		if n[i] < 1 || f.Most > 0 && n[i] > f.Most {
			t.Errorf("feed %d: %v polls, at most %v allowed", i, n[i], f.Most)
		}
	}
}

// Four times the subscribers are twice the polls, and a document four times as
// long is half as many.
func ExamplePollers() {
	n := schedule.Pollers([]schedule.Shared{
		{Subscribers: 100, Rate: 1, Size: 10},
		{Subscribers: 400, Rate: 1, Size: 10},
		{Subscribers: 400, Rate: 1, Size: 40},
	})
	fmt.Printf("%.2f %.2f\n", n[1]/n[0], n[2]/n[1])
	// Output: 2.00 0.50
}
