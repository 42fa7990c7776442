package schedule

import (
	"slices"
	"testing"
)

// Han, Table 3: targets (TP) and what a poll brings (PPA) before each of the
// eight polls, and the polls given after it. Printed feeds are F1 to F4.
func TestHanTable3(t *testing.T) {
	table := []struct {
		tp, ppa [4]float64
		m       []int
	}{
		{[4]float64{30, 30, 10, 10}, [4]float64{15, 10, 10, 5}, []int{1, 0, 0, 0}},
		{[4]float64{15, 30, 10, 10}, [4]float64{15, 10, 10, 5}, []int{2, 0, 0, 0}},
		{[4]float64{0, 30, 10, 10}, [4]float64{0, 10, 10, 5}, []int{2, 1, 0, 0}},
		{[4]float64{0, 20, 10, 10}, [4]float64{0, 10, 10, 5}, []int{2, 2, 0, 0}},
		{[4]float64{0, 10, 10, 10}, [4]float64{0, 10, 10, 5}, []int{2, 3, 0, 0}},
		{[4]float64{0, 0, 10, 10}, [4]float64{0, 0, 10, 5}, []int{2, 3, 1, 0}},
		{[4]float64{0, 0, 0, 10}, [4]float64{0, 0, 0, 5}, []int{2, 3, 1, 1}},
		{[4]float64{0, 0, 0, 5}, [4]float64{0, 0, 0, 5}, []int{2, 3, 1, 2}},
	}
	a := newAllotment([]Posting{{Rate: 30, Store: 15}, {Rate: 30, Store: 10}, {Rate: 10, Store: 10}, {Rate: 10, Store: 5}})
	for row, want := range table {
		for i := range want.tp {
			if a.target[i] != want.tp[i] || a.brings(i) != want.ppa[i] {
				t.Errorf("row %d, F%d: TP %v PPA %v, want %v and %v", row+1, i+1, a.target[i], a.brings(i), want.tp[i], want.ppa[i])
			}
		}
		a.step()
		if !slices.Equal(a.polls, want.m) {
			t.Errorf("row %d: m = %v, want %v", row+1, a.polls, want.m)
		}
	}
}

// Figure 8, lines 6 to 10: once every feed is empty all targets are full again.
func TestMinMissingBeginsAnotherRound(t *testing.T) {
	a := newAllotment([]Posting{{Rate: 30, Store: 15}, {Rate: 10, Store: 5}})
	for range 4 {
		a.step()
	}
	if a.full != 0 || !slices.Equal(a.polls, []int{2, 2}) {
		t.Fatalf("after one round: %d feeds are not empty, polls %v", a.full, a.polls)
	}
	a.step()
	if a.target[0] != 15 || a.target[1] != 10 || !slices.Equal(a.polls, []int{3, 2}) {
		t.Errorf("the second round begins with targets %v and polls %v", a.target, a.polls)
	}
}
