package scenario

import (
	"math"
	"slices"
	"time"
)

// A spread is a set of figures of which means and quantiles are asked.
type spread []float64

// quantile returns the smallest figure that at least the part q of all does
// not exceed, NaN of an empty spread.
func (s *spread) quantile(q float64) float64 {
	if len(*s) == 0 {
		return math.NaN()
	}
	if !slices.IsSorted(*s) {
		slices.Sort(*s)
	}
	at := int(math.Ceil(q*float64(len(*s)))) - 1
	return (*s)[min(max(at, 0), len(*s)-1)]
}

func (s *spread) median() float64 { return s.quantile(0.5) }
func (s *spread) max() float64    { return s.quantile(1) }

func (s spread) mean() float64 {
	var sum float64
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

func (s *spread) add(x float64) {
	if !math.IsNaN(x) {
		*s = append(*s, x)
	}
}

// A penalty compares the delays of one event with those of unicast.
type penalty struct {
	reached      int
	sum, most    time.Duration // from publishing to delivery
	alone, apart time.Duration // the same for a message from the publisher straight to each
}

func (p *penalty) add(delay, direct time.Duration) {
	p.reached++
	p.sum += delay
	p.most = max(p.most, delay)
	p.alone += direct
	p.apart = max(p.apart, direct)
}

// rad is the relative average delay penalty: the mean delay over the mean
// unicast delay (Scribe, §V-B). NaN if nobody was reached.
func (p *penalty) rad() float64 { return float64(p.sum) / float64(p.alone) }

// rmd is the relative maximum delay penalty: the largest delay over the
// largest unicast delay, whoever has them.
func (p *penalty) rmd() float64 { return float64(p.most) / float64(p.apart) }

// A cover counts who had an event when, of those it was due at.
type cover struct {
	due, held int
	within    [len(horizons)]int
}

// horizons are the times after publishing at which coverage is told. The last
// is when an item is judged.
var horizons = [...]time.Duration{5 * time.Second, 10 * time.Second, time.Minute}

const judged = time.Minute

func (c *cover) miss() { c.due++ }

func (c *cover) hold(after time.Duration) {
	c.due++
	c.held++
	for i, h := range horizons {
		if after <= h {
			c.within[i]++
		}
	}
}

func (c *cover) plus(o cover) {
	c.due += o.due
	c.held += o.held
	for i := range c.within {
		c.within[i] += o.within[i]
	}
}

// part returns the part of the due that had the event within horizon i.
func (c *cover) part(i int) float64 { return float64(c.within[i]) / float64(c.due) }

// settled returns the index from which on all values are within a twentieth
// of the last one, len(values) if there are none.
func settled(values []float64) int {
	if len(values) == 0 {
		return 0
	}
	at := len(values)
	for last := values[at-1]; at > 0 && values[at-1] <= 1.05*last; at-- {
	}
	return at
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bits) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bits) unset(i int)    { b[i>>6] &^= 1 << (i & 63) }

// ratio is a/b, and 0 of nothing.
func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
