package schedule_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// han are the feeds of Han's Examples 2 and 3.
var han = []schedule.Posting{{Rate: 30, Store: 15}, {Rate: 30, Store: 10}, {Rate: 10, Store: 10}, {Rate: 10, Store: 5}}

// Han, Table 1 and Example 2: M = 8, all weights 1, "the value of constant k is
// approximately 0.46".
func TestHanTable1(t *testing.T) {
	want := []string{"2.535898385", "2.535898385", "1.464101615", "1.464101615"}
	shares := schedule.MinDelayShares(8, han)
	for i, s := range shares {
		if got := fmt.Sprintf("%.9f", s); got != want[i] {
			t.Errorf("F%d: k√(λω) = %s, want %s", i+1, got, want[i])
		}
	}
	if k := fmt.Sprintf("%.2f", shares[0]/math.Sqrt(30)); k != "0.46" {
		t.Errorf("k = %s, want 0.46", k)
	}
	if m := schedule.MinDelay(8, han); !slices.Equal(m, []int{3, 3, 1, 1}) {
		t.Errorf("m = %v, want 3 3 1 1", m)
	}
	if m := schedule.Uniform(8, 4); !slices.Equal(m, []int{2, 2, 2, 2}) {
		t.Errorf("Example 2: uniform m = %v, want 2 for every feed", m)
	}
}

// Han, Table 2: polls and missing postings of the three policies.
func TestHanTable2(t *testing.T) {
	for _, policy := range []struct {
		name      string
		m         []int
		want      []int
		wantMiss  []float64
		wantTotal float64
	}{
		{"uniform", schedule.Uniform(8, 4), []int{2, 2, 2, 2}, []float64{0, 10, 0, 0}, 10},
		{"minimum delay", schedule.MinDelay(8, han), []int{3, 3, 1, 1}, []float64{0, 0, 0, 5}, 5},
		{"minimum missing", schedule.MinMissing(8, han), []int{2, 3, 1, 2}, []float64{0, 0, 0, 0}, 0},
	} {
		if !slices.Equal(policy.m, policy.want) {
			t.Errorf("%s: m = %v, want %v", policy.name, policy.m, policy.want)
		}
		total := 0.0
		for i, f := range han {
			missed := f.Missed(policy.m[i])
			total += missed
			if missed != policy.wantMiss[i] {
				t.Errorf("%s: F%d misses %v, want %v", policy.name, i+1, missed, policy.wantMiss[i])
			}
		}
		if total != policy.wantTotal {
			t.Errorf("%s misses %v in all, want %v", policy.name, total, policy.wantTotal)
		}
	}
}

// mᵢ ∝ √(λᵢωᵢ): a weight of 4 doubles a feed's share.
func TestWeightsCountLikeRates(t *testing.T) {
	shares := schedule.MinDelayShares(90, []schedule.Posting{{Rate: 5, Weight: 4}, {Rate: 5}})
	if math.Abs(shares[0]-60) > 1e-9 || math.Abs(shares[1]-30) > 1e-9 {
		t.Errorf("shares are %v, want 60 and 30", shares)
	}
}

func TestAllPollsAreGivenAway(t *testing.T) {
	feeds := []schedule.Posting{{Rate: 3.7, Store: 2}, {Rate: 0.1, Store: 60}, {Rate: math.NaN()}, {Rate: -4}, {Rate: 900, Store: 1}, {Rate: 1.5}}
	silent := make([]schedule.Posting, 3)
	for _, polls := range []int{0, 1, 7, 1000} {
		for name, m := range map[string][]int{
			"uniform": schedule.Uniform(polls, 6), "minimum delay": schedule.MinDelay(polls, feeds),
			"minimum missing": schedule.MinMissing(polls, feeds), "minimum delay, nobody posts": schedule.MinDelay(polls, silent),
			"minimum missing, nobody posts": schedule.MinMissing(polls, silent),
		} {
			sum := 0
			for _, n := range m {
				sum += n
			}
			if sum != polls || slices.Min(m) < 0 {
				t.Errorf("%s gives %v of %d polls", name, m, polls)
			}
		}
	}
	if m := schedule.MinMissing(5, nil); len(m) != 0 {
		t.Errorf("no feeds got %v", m)
	}
}

// printed is FeedEx §3.3 to the letter: "If f < ft, then t becomes halved or set
// to Tmin, whichever is the greater. Or if f > ft, then t becomes doubled".
func printed(a schedule.Adaptive, t time.Duration, news, items int) time.Duration {
	switch f := float64(news) / float64(items); {
	case f < a.Fresh:
		return max(t/2, a.Min)
	case f > a.Fresh:
		return min(2*t, a.Max)
	}
	return t
}

// FeedEx §3.3: "if fetching is too frequent, a fetched document contains few new
// entries. On the other hand, if fetching is too infrequent, most of the entries
// are likely to be new." A rule that answers this ends near the interval in which
// the wanted share of the document is new; the printed one runs to an end of its
// range: on a quick feed it loses items, on a slow one it polls for nothing.
func TestAdaptiveIntervalMeansTheIntent(t *testing.T) {
	const store = 20
	rule := schedule.Adaptive{Fresh: 0.5, Min: 10 * time.Minute, Max: 7 * 24 * time.Hour}
	for _, every := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
		want := time.Duration(rule.Fresh * store * float64(every))
		intent, literal := 4*time.Hour, 4*time.Hour
		for range 30 {
			intent = rule.Next(intent, min(int(intent/every), store), store)
			literal = printed(rule, literal, min(int(literal/every), store), store)
		}
		if intent < want/2 || intent > want*2 {
			t.Errorf("an item every %v: the interval settles at %v, want about %v", every, intent, want)
		}
		if literal != rule.Min && literal != rule.Max {
			t.Errorf("an item every %v: as printed the interval settles at %v: the paper is right after all", every, literal)
		}
	}
	if got := rule.Next(time.Hour, 0, 0); got != 2*time.Hour {
		t.Errorf("an empty document makes 1h into %v, want 2h", got)
	}
}

func TestAdaptiveIntervalStaysInRange(t *testing.T) {
	rule := schedule.Adaptive{Fresh: 0.5, Min: 10 * time.Minute, Max: time.Hour}
	if got := rule.Next(15*time.Minute, 20, 20); got != rule.Min {
		t.Errorf("all new after 15m: next in %v, want %v", got, rule.Min)
	}
	if got := rule.Next(45*time.Minute, 0, 20); got != rule.Max {
		t.Errorf("nothing new after 45m: next in %v, want %v", got, rule.Max)
	}
	if got := rule.Next(20*time.Minute, 10, 20); got != 20*time.Minute {
		t.Errorf("as fresh as wanted: %v became %v", 20*time.Minute, got)
	}
}
