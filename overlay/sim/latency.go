package sim

import (
	"math"
	"time"
)

// Latency gives the one-way delay of one message between two places. draw is
// a uniform random number for what varies from message to message; with half
// of its range (1 << 63) the answer is the middle one, which RTT reports.
// A place is a number per node: the front of its key, unless Config.Place
// says otherwise.
type Latency func(from, to uint64, draw uint64) time.Duration

// Constant is the same delay between any two nodes.
func Constant(d time.Duration) Latency {
	return func(_, _, _ uint64) time.Duration { return d }
}

// Uniform draws each message's delay between low and high.
func Uniform(low, high time.Duration) Latency {
	return func(_, _, draw uint64) time.Duration { return low + span(draw, high-low) }
}

// Plane puts nodes on a square by their place and makes the delay grow with
// the distance: access at each end, across from corner to corner, and up to a
// tenth of the sum more by chance.
func Plane(access, across time.Duration) Latency {
	return func(from, to, draw uint64) time.Duration {
		x := float64(uint32(from>>32)) - float64(uint32(to>>32))
		y := float64(uint32(from)) - float64(uint32(to))
		far := math.Hypot(x, y) / (math.MaxUint32 * math.Sqrt2)
		d := 2*access + time.Duration(far*float64(across))
		return d + span(draw, d/10)
	}
}

// Matrix takes the delay from a square table of measured one-way delays, the
// place modulo its size choosing the row and the column, and adds the access
// delay of each end: of a node's own, from nothing to twice the given mean.
// Nodes of the same row have nothing but their access between them.
func Matrix(oneWay [][]time.Duration, access time.Duration) Latency {
	size := uint64(len(oneWay))
	own := func(place uint64) time.Duration {
		return span(mix(place, 1), 2*access+1)
	}
	return func(from, to, _ uint64) time.Duration {
		return oneWay[from%size][to%size] + own(from) + own(to)
	}
}
