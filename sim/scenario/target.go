package scenario

import (
	"fmt"
	"math"
	"strconv"
)

// Target is a bound that a measure is to keep.
type Target struct {
	Measure string
	Bound   float64
	AtLeast bool // the measure may not be below the bound; otherwise not above
}

func atMost(measure string, bound float64) Target  { return Target{Measure: measure, Bound: bound} }
func atLeast(measure string, bound float64) Target { return Target{measure, bound, true} }

// Met reports whether a figure keeps the bound. NaN keeps none.
func (t Target) Met(figure float64) bool {
	if t.AtLeast {
		return figure >= t.Bound
	}
	return figure <= t.Bound
}

func (t Target) String() string {
	if t.AtLeast {
		return "≥ " + number(t.Bound)
	}
	return "≤ " + number(t.Bound)
}

// number writes a figure with as many digits as a reader wants: parts of one
// near one are told to the last node in a million.
func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x == math.Trunc(x) && math.Abs(x) < 1e9:
		return grouped(int64(x))
	case x > 0.99 && x < 1:
		return strconv.FormatFloat(math.Floor(x*1e6)/1e6, 'g', 7, 64) // never rounded up to all
	case math.Abs(x) >= 1000:
		return grouped(int64(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// grouped writes a number with a comma after every three digits.
func grouped(x int64) string {
	if x < 0 {
		return "-" + grouped(-x)
	}
	if x < 1000 {
		return strconv.FormatInt(x, 10)
	}
	return fmt.Sprintf("%s,%03d", grouped(x/1000), x%1000)
}
