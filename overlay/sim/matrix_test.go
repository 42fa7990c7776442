package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/sim"
)

func TestReadMatrix(t *testing.T) {
	table, err := sim.ReadMatrix(strings.NewReader("0,12.5, 7\n12.5,0,3\r\n7,3,0\n"))
	if err != nil || len(table) != 3 || table[0][1] != 12500*time.Microsecond || table[2][0] != 7*time.Millisecond {
		t.Fatalf("%v, %v", table, err)
	}
	if d := sim.Matrix(table, 0)(1, 2, 0); d != 3*time.Millisecond {
		t.Errorf("from place 1 to 2 it takes %v", d)
	}
}

// A damaged table is refused with the line and what should stand there.
func TestReadMatrixRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "empty, expected a line"},
		{"short line", "0,1\n1\n", "line 2: 1 numbers, expected 2"},
		{"long line", "0,1\n1,0,4\n", "line 2: 3 numbers, expected 2"},
		{"lines missing", "0,1,2\n1,0,2\n", "2 lines of 3 numbers, expected as many"},
		{"no number", "0,1\nx,0\n", `line 2, number 1: "x", expected a one-way delay`},
		{"hole", "0,\n1,0\n", `line 1, number 2: "", expected`},
		{"negative", "0,1\n1,-2\n", `line 2, number 2: "-2"`},
		{"not finite", "0,NaN\n1,0\n", `line 1, number 2: "NaN"`},
		{"endless", "0,1e9\n1,0\n", `line 1, number 2: "1e9"`},
		{"torn quote", "0,\"1\n1,0\n", "latency table: "},
		{"heading", "a,b\n0,1\n1,0\n", `line 1, number 1: "a"`},
	} {
		if _, err := sim.ReadMatrix(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// The made-up table looks like the Internet: symmetric, some tens of
// milliseconds in the middle, no more than light needs twice around the
// Earth, and detours that are faster.
func TestSmallMatrix(t *testing.T) {
	table := sim.SmallMatrix()
	var all []time.Duration
	detours, pairs := 0, 0
	for i := range table {
		for j := range i {
			d := table[i][j]
			if table[j][i] != d || d <= 0 {
				t.Fatalf("%d to %d %v, back %v", i, j, d, table[j][i])
			}
			all = append(all, d)
			pairs++
			if slices.ContainsFunc(table, func(via []time.Duration) bool { return via[i]+via[j] < d }) {
				detours++
			}
		}
		if table[i][i] != 0 {
			t.Errorf("%d to itself %v", i, table[i][i])
		}
	}
	slices.Sort(all)
	if median, last := all[pairs/2], all[pairs-1]; median < 30*time.Millisecond || median > 90*time.Millisecond || last > 250*time.Millisecond {
		t.Errorf("median %v, longest %v", median, last)
	}
	if detours < pairs/5 {
		t.Errorf("a detour is faster for %d of %d pairs", detours, pairs)
	}
}
