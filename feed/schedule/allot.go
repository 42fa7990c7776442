package schedule

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Posting is what the policies that plan a whole period ahead know of a feed.
// Rates that are negative or not a number count as 0.
type Posting struct {
	Rate   float64 // λ: items per period
	Weight float64 // ω: importance; 0: 1
	Store  int     // S: items that the document holds; 0: unlimited
}

func (p Posting) rate() float64 {
	if p.Rate > 0 {
		return p.Rate
	}
	return 0
}

func (p Posting) weight() float64 {
	if p.Weight > 0 {
		return p.Weight
	}
	return 1
}

func (p Posting) store() float64 {
	if p.Store > 0 {
		return float64(p.Store)
	}
	return math.Inf(1)
}

// Missed is how many items of a period are lost if the feed is polled so often in
// it and every poll finds the document as full as it can be (Han, MP(F) in §2.2).
func (p Posting) Missed(polls int) float64 {
	if polls <= 0 {
		return p.rate()
	}
	return max(p.rate()-float64(polls)*p.store(), 0)
}

// Uniform gives every one of n feeds the same number of a period's polls; the
// first ones get what cannot be divided (Han §2).
func Uniform(polls, n int) []int {
	m := make([]int, max(n, 0))
	for i := range m {
		m[i] = max(polls, 0) / n
		if i < max(polls, 0)%n {
			m[i]++
		}
	}
	return m
}

// MinDelayShares divides a period's polls so that items wait least on average:
// mᵢ = k·√(λᵢωᵢ), with k such that the shares add up to polls (Sia & Cho; Han
// §2.1). If no feed posts, all shares are equal.
func MinDelayShares(polls int, feeds []Posting) []float64 {
	shares := make([]float64, len(feeds))
	sum := 0.0
	for i, f := range feeds {
		shares[i] = math.Sqrt(f.rate() * f.weight())
		sum += shares[i]
	}
	for i := range shares {
		if sum > 0 {
			shares[i] *= float64(polls) / sum
		} else {
			shares[i] = float64(polls) / float64(len(feeds))
		}
	}
	return shares
}

// MinDelay is MinDelayShares in whole polls that add up to polls: each feed gets
// its share rounded down, and the largest remainders one more, the first of
// equals first.
func MinDelay(polls int, feeds []Posting) []int {
	polls = max(polls, 0)
	shares := MinDelayShares(polls, feeds)
	m, order := make([]int, len(feeds)), make([]int, len(feeds))
	left := polls
	for i, s := range shares {
		m[i] = int(s)
		left -= m[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(shares[b]-float64(m[b]), shares[a]-float64(m[a]))
	})
	for _, i := range order[:min(max(left, 0), len(order))] {
		m[i]++
	}
	return m
}

// MinMissing divides a period's polls so that fewest items are lost: one after
// another goes to the feed where it brings most, and when every feed is empty,
// the next round begins (Han, Figure 8). The first of equals is first. If no feed
// posts, the polls are divided evenly, which the figure leaves open.
//
// It costs O(polls · log feeds).
func MinMissing(polls int, feeds []Posting) []int {
	a := newAllotment(feeds)
	if a.full == 0 {
		return Uniform(polls, len(feeds))
	}
	for range polls {
		a.step()
	}
	return a.polls
}

// allotment is Figure 8 between two rounds of its loop.
type allotment struct {
	feeds  []Posting
	polls  []int     // m
	target []float64 // TP: what the feed has left to poll
	heap   []int     // feeds, the one with the largest PPA on top
	full   int       // feeds with TP > 0
}

func newAllotment(feeds []Posting) *allotment {
	a := &allotment{feeds: feeds, polls: make([]int, len(feeds)), target: make([]float64, len(feeds))}
	for i := range feeds {
		a.heap = append(a.heap, i)
	}
	a.refill()
	return a
}

// refill is lines 2 and 6 to 10.
func (a *allotment) refill() {
	for i, f := range a.feeds {
		a.target[i] = f.rate()
		if a.target[i] > 0 {
			a.full++
		}
	}
	heap.Init(a)
}

// brings is PPA: what the feed's next poll collects (lines 13 to 16).
func (a *allotment) brings(i int) float64 { return min(a.target[i], a.feeds[i].store()) }

// step gives one poll away (lines 6 to 22).
func (a *allotment) step() {
	if a.full == 0 {
		a.refill()
	}
	i := a.heap[0]
	a.polls[i]++
	a.target[i] -= a.brings(i)
	if a.target[i] <= 0 {
		a.full--
	}
	heap.Fix(a, 0)
}

func (a *allotment) Len() int { return len(a.heap) }
func (a *allotment) Less(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	if px, py := a.brings(x), a.brings(y); px != py {
		return px > py
	}
	return x < y
}
func (a *allotment) Swap(i, j int) { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *allotment) Push(any)      { panic("schedule: an allotment has all its feeds") }
func (a *allotment) Pop() any      { panic("schedule: an allotment keeps all its feeds") }
