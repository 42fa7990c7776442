package scenario

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// Scribe §V-B: RAD is the ratio of the mean delays, RMD that of the largest,
// whoever has them. They are not means of ratios.
func TestPenalty(t *testing.T) {
	var p penalty
	p.add(30*time.Millisecond, 10*time.Millisecond)
	p.add(50*time.Millisecond, 40*time.Millisecond)
	p.add(40*time.Millisecond, 30*time.Millisecond)
	if got := p.rad(); got != 1.5 {
		t.Errorf("120 ms over 80 ms: RAD %v", got)
	}
	if got := p.rmd(); got != 1.25 {
		t.Errorf("50 ms over 40 ms: RMD %v", got)
	}
	var nobody penalty
	if !math.IsNaN(nobody.rad()) || !math.IsNaN(nobody.rmd()) {
		t.Error("nobody reached is no penalty of zero")
	}
}

func TestQuantile(t *testing.T) {
	s := spread{5, 1, 3, 2, 4}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.99: 5, 1: 5} {
		if got := s.quantile(q); got != want {
			t.Errorf("the part %v of 1 to 5 is at most %v, not %v", q, want, got)
		}
	}
	hundred := make(spread, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	if got := hundred.quantile(0.99); got != 99 {
		t.Errorf("P99 of 1 to 100 is 99, not %v", got)
	}
	if s.mean() != 3 || s.max() != 5 || !math.IsNaN((&spread{}).median()) {
		t.Error("mean, maximum or the median of nothing")
	}
}

func TestCover(t *testing.T) {
	var c cover
	c.hold(4 * time.Second)
	c.hold(10 * time.Second)
	c.hold(59 * time.Second)
	c.hold(61 * time.Second)
	c.miss()
	for i, want := range []float64{0.2, 0.4, 0.6} {
		if got := c.part(i); got != want {
			t.Errorf("within %v: %v of five due, want %v", horizons[i], got, want)
		}
	}
	sum := c
	sum.plus(c)
	if sum.due != 10 || sum.held != 8 || sum.part(2) != 0.6 {
		t.Errorf("twice the same: %+v", sum)
	}
}

// Convergence is the first round from which on nothing is worse than 5 % above
// the end; a better moment before a worse one does not count.
func TestSettled(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   int
	}{
		{nil, 0}, {[]float64{2}, 0}, {[]float64{4, 2, 1.05, 1, 1.04, 1}, 2},
		{[]float64{1, 3, 1}, 2}, {[]float64{3, 1, 1.06, 1}, 3}, {[]float64{0.5, 0.9, 1}, 0},
	} {
		if got := settled(tc.values); got != tc.want {
			t.Errorf("%v has settled at %d, not %d", tc.values, tc.want, got)
		}
	}
}

func TestBetween(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	a := []hop{{7, 0}, {3, ms(10)}, {1, ms(30)}}
	for _, tc := range []struct {
		name string
		b    []hop
		want time.Duration
		ok   bool
	}{
		{"sibling", []hop{{8, 0}, {3, ms(5)}, {1, ms(25)}}, ms(15), true},
		{"cousin", []hop{{9, 0}, {4, ms(1)}, {1, ms(2)}}, ms(32), true},
		{"parent", []hop{{3, 0}, {1, ms(20)}}, ms(10), true},
		{"itself", a, 0, true},
		{"another tree", []hop{{9, 0}, {2, ms(1)}}, 0, false},
	} {
		if got, ok := between(a, tc.b); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %v %v, want %v %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
}

// Scribe §V-A: 1,500 groups over 100,000 nodes; the largest has all nodes, the
// smallest 11.
func TestZipfSizes(t *testing.T) {
	sizes := zipfSizes(100_000)
	if len(sizes) != 1500 || sizes[0] != 100_000 || sizes[1499] != 11 {
		t.Errorf("%d groups from %d to %d", len(sizes), sizes[0], sizes[len(sizes)-1])
	}
	for _, nodes := range []int{40, 600, 2000, 10_000} {
		if s := zipfSizes(nodes); s[0] != nodes || s[len(s)-1] < 11 || s[len(s)-1] > 12 {
			t.Errorf("%d nodes: %d groups from %d to %d", nodes, len(s), s[0], s[len(s)-1])
		}
	}
	if !slices.IsSortedFunc(sizes, func(a, b int) int { return b - a }) {
		t.Error("a later rank is larger")
	}
	// 100,000 · 16^-1.25 = 100,000 / 32
	if sizes[15] != 3125 {
		t.Errorf("rank 16 has %d, want 3125", sizes[15])
	}
}

// What an event weighs where bodies differ, and its place among the members.
func TestFeed(t *testing.T) {
	some := &feed{members: []int32{2, 5, 9}}
	all := &feed{members: []int32{0, 1, 2, 3}}
	for _, tc := range []struct {
		f    *feed
		node int32
		want int
	}{{some, 2, 0}, {some, 9, 2}, {some, 0, -1}, {some, 10, -1}, {all, 3, 3}, {all, 4, -1}} {
		if got := tc.f.place(tc.node); got != tc.want {
			t.Errorf("node %d of %v has place %d, want %d", tc.node, tc.f.members, got, tc.want)
		}
	}
}

// A time until a part held an item counts those who never did.
func TestPartHeld(t *testing.T) {
	lags := spread{1, 2, 3, 4, 5}
	if got := partHeld(lags, 10, 0.5); got != 5 {
		t.Errorf("five of ten took %v, want 5", got)
	}
	if got := partHeld(lags, 10, 0.51); !math.IsNaN(got) {
		t.Errorf("half and more of ten never held it, not after %v", got)
	}
	if got := partHeld(lags, 5, 0.2); got != 1 {
		t.Errorf("one of five took %v, want 1", got)
	}
}

// One message between two nodes puts one on each link of its way, and the mean
// is over all links there are.
func TestStress(t *testing.T) {
	topology := oversim.NewTransitStub(1)
	w := &world{spot: []uint64{11, 22, 33}}
	s := newStress(topology, 3)
	s.carry(w, 0, 1)
	s.carry(w, 1, 0)
	way := topology.AppendRoute(nil, 11, 22)
	loaded, mean := s.counts()
	if garbage := testing.AllocsPerRun(100, func() { s.carry(w, 1, 0) }); garbage > 0 {
		t.Errorf("a message that is counted leaves %v pieces of garbage", garbage)
	}
	if len(loaded) != len(way) || loaded.quantile(0) != 2 || loaded.max() != 2 {
		t.Errorf("twice %d links: %v", len(way), loaded)
	}
	if want := 2 * float64(len(way)) / float64(len(topology.Links())+3); math.Abs(mean-want) > 1e-12 {
		t.Errorf("mean %v, want %v", mean, want)
	}
}

func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		target Target
		figure float64
		met    bool
		says   string
	}{
		{atMost("x", 1.2), 1.2, true, "≤ 1.2"}, {atMost("x", 1.2), 1.2001, false, "≤ 1.2"},
		{atLeast("x", 0.9999), 0.99989, false, "≥ 0.9999"}, {atLeast("x", 1), 1, true, "≥ 1"},
		{atMost("x", 1), math.NaN(), false, "≤ 1"}, {atLeast("x", 1), math.NaN(), false, "≥ 1"},
	} {
		if got := tc.target.Met(tc.figure); got != tc.met || tc.target.String() != tc.says {
			t.Errorf("%v %v is met: %v", tc.figure, tc.target, got)
		}
	}
}

// A part that is not all must not look like all.
func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		1: "1", 0.9999999: "0.999999", 0.99995: "0.99995", 1234567: "1,234,567", 0.5: "0.5", -1000: "-1,000", 1.23456: "1.235", 12345.6: "12,346",
	} {
		if got := number(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}

func TestTargetsNameMeasures(t *testing.T) {
	for _, s := range All() {
		for _, cfg := range []Config{{Nodes: 100_000, Latency: "matrix"}, {Nodes: 1_000_000, Latency: "transit-stub"}} {
			for _, target := range s.Targets(cfg) {
				known := slices.ContainsFunc(measures, func(m measure) bool { return m.name == target.Measure })
				if !known {
					t.Errorf("%s has a target for %q, which nobody measures", s.Name, target.Measure)
				}
				if none := []string{"noise_share_small", "detached", "hidden_roots"}; target.Bound == 0 && !slices.Contains(none, target.Measure) {
					t.Errorf("%s: %s has no bound", s.Name, target.Measure)
				}
			}
		}
	}
}

// Items' sizes have IMC'05's shape: most below 10 KB, with a heavy tail.
func TestBodySizes(t *testing.T) {
	w := &world{rng: newRand(1)}
	small, large := 0, 0
	for range 10_000 {
		switch n := w.bodySize(); {
		case n < 10<<10:
			small++
		case n > 30<<10:
			large++
		}
	}
	if small < 8500 || large < 50 {
		t.Errorf("of 10,000 bodies %d are below 10 KB and %d above 30 KB", small, large)
	}
}

func TestFigures(t *testing.T) {
	c := cumulative("x", spread{3, 1, 2, 4}, 10)
	if want := [][2]float64{{10, 0.25}, {20, 0.5}, {30, 0.75}, {40, 1}}; !slices.Equal(c.Points, want) {
		t.Errorf("distribution of 1 to 4: %v", c.Points)
	}
	if c := cumulative("x", make(spread, 10*points), 1); len(c.Points) != points || c.Points[points-1][1] != 1 {
		t.Errorf("%d points, the last at %v", len(c.Points), c.Points[len(c.Points)-1])
	}
	if c := atLeastSo("x", spread{1, 1, 2, 5}); !slices.Equal(c.Points, [][2]float64{{1, 4}, {2, 2}, {5, 1}}) {
		t.Errorf("links by load 1 1 2 5: %v", c.Points)
	}
	bars := childrenFigure([]uint32{0, 0, 16, 0, 2}).Curves[0].Points
	if !slices.Equal(bars, [][2]float64{{0, 3}, {2, 1}, {16, 1}}) {
		t.Errorf("nodes by children: %v", bars)
	}
}

func TestMemoryError(t *testing.T) {
	text := MemoryError{Needs: 20 << 30, Has: 3 << 29}.Error()
	if !strings.Contains(text, "20.0 GiB") || !strings.Contains(text, "1.5 GiB") {
		t.Error(text)
	}
}

// Two items of one moment are one in a figure over time, as slow as the slower.
func TestGathered(t *testing.T) {
	pair := []moment{
		{at: time.Minute, cover: cover{due: 2, held: 2}, p50: 1, p99: 2},
		{at: time.Minute + together, cover: cover{due: 2, held: 1}, p50: 0.5, p99: math.NaN()},
		{at: 2 * time.Minute, cover: cover{due: 1}},
	}
	got := gathered(pair)
	if len(got) != 2 || got[0].cover.due != 4 || got[0].cover.held != 3 || got[0].p50 != 1 || !math.IsNaN(got[0].p99) || got[1].cover.due != 1 {
		t.Errorf("%+v", got)
	}
}
