package scenario

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Figure is a plot as data.
type Figure struct {
	Name       string // of its file, behind the scenario's
	Title      string
	X, Y       string // what the axes show, with units
	LogX, LogY bool
	Unit       bool // Y is a part: it goes from Low to 1
	Low        float64
	Curves     []Curve
	Marks      []Mark
}

// Curve is one line of a figure.
type Curve struct {
	Name   string
	Points [][2]float64
	Style  Style
}

// A Mark is a vertical line that something stands beside, such as an anchor.
type Mark struct {
	Name string
	X    float64
}

// Style says how a curve is drawn.
type Style uint8

// The styles.
const (
	Line  Style = iota // straight from point to point
	Steps              // as a cumulative distribution
	Bars               // a bar for each point
)

func (f Figure) empty() bool {
	return !slices.ContainsFunc(f.Curves, func(c Curve) bool { return len(c.Points) > 0 })
}

// points of a curve at most: more would not be seen.
const points = 800

// cumulative is a curve's points of a distribution: which part is at most x,
// x being scaled.
func cumulative(name string, of spread, scale float64) Curve {
	of = slices.Clone(of)
	slices.Sort(of)
	c := Curve{Name: name, Style: Steps}
	for k, n := 0, min(len(of), points); k < n; k++ {
		at := (k+1)*len(of)/n - 1
		c.Points = append(c.Points, [2]float64{of[at] * scale, float64(at+1) / float64(len(of))})
	}
	return c
}

// penaltyFigure is Scribe's figure 4: delay penalty relative to unicast,
// cumulative over groups.
func penaltyFigure(rad, rmd spread, over string) Figure {
	return Figure{
		Name: "delay-penalty", Title: "Delay penalty relative to unicast",
		X: "delay penalty", Y: "cumulative part of " + over, Unit: true,
		Curves: []Curve{cumulative("RAD (mean delay)", rad, 1), cumulative("RMD (largest delay)", rmd, 1)},
		Marks:  []Mark{{"Scribe, median RAD", 1.68}},
	}
}

// delayFigure shows the delays of single members.
func delayFigure(tree, unicast spread) Figure {
	return Figure{
		Name: "delay", Title: "Delay from publishing to delivery",
		X: "delay (ms)", Y: "cumulative part of members", Unit: true,
		Curves: []Curve{cumulative("tree", tree, 1000), cumulative("unicast from the publisher", unicast, 1000)},
	}
}

// childrenFigure is Scribe's figure 5: how many nodes have how many children.
func childrenFigure(children []uint32) Figure {
	count := map[uint32]int{}
	for _, c := range children {
		count[c]++
	}
	c := Curve{Name: "nodes", Style: Bars}
	for k := uint32(0); int(k) <= most(children); k++ {
		if count[k] > 0 {
			c.Points = append(c.Points, [2]float64{float64(k), float64(count[k])})
		}
	}
	return Figure{
		Name: "children", Title: "Children per node, over all groups",
		X: "children", Y: "nodes", LogY: true, Curves: []Curve{c},
	}
}

// stressFigure shows, as Scribe's figure 7 does, how unevenly links are used:
// how many carry so many messages or more.
func stressFigure(trees, unicast spread) Figure {
	return Figure{
		Name: "link-stress", Title: "Link stress",
		X: "messages over a link, one item of each feed", Y: "links that carry as many or more", LogX: true, LogY: true,
		Curves: []Curve{atLeastSo("tree", trees), atLeastSo("unicast from each publisher", unicast)},
	}
}

// atLeastSo is a curve of how many figures are x or more.
func atLeastSo(name string, of spread) Curve {
	of = slices.Clone(of)
	slices.Sort(of)
	c := Curve{Name: name}
	for k, x := range of {
		if x > 0 && (k == 0 || of[k-1] < x) {
			c.Points = append(c.Points, [2]float64{x, float64(len(of) - k)})
		}
	}
	return c
}

// gathered takes items published within a second for one, as slow as the
// slowest.
func gathered(history []moment) []moment {
	var all []moment
	for _, m := range history {
		if n := len(all); n > 0 && m.at-all[n-1].at < time.Second {
			last := &all[n-1]
			last.cover.plus(m.cover)
			last.p50, last.p99 = math.Max(last.p50, m.p50), math.Max(last.p99, m.p99)
			continue
		}
		all = append(all, m)
	}
	return all
}

// timeFigure shows which part of the due had each item when.
func timeFigure(history []moment) Figure {
	f := Figure{
		Name: "delivery", Title: "Delivery over time",
		X: "time (min)", Y: "part of the due that had the item", Unit: true,
	}
	history = gathered(history)
	for i := len(horizons) - 1; i >= 0; i-- {
		c := Curve{Name: fmt.Sprintf("within %g s", horizons[i].Seconds())}
		for _, m := range history {
			if m.cover.due > 0 {
				c.Points = append(c.Points, [2]float64{m.at.Minutes(), m.cover.part(i)})
			}
		}
		f.Curves = append(f.Curves, c)
	}
	least := 1.0
	for _, c := range f.Curves {
		for _, at := range c.Points {
			least = min(least, at[1])
		}
	}
	f.Low = max(0, 1-1.3*max(1-least, 0.0001))
	return f
}

// lagFigure shows how long each item took.
func lagFigure(history []moment) Figure {
	history = gathered(history)
	half, almost := Curve{Name: "half of the due"}, Curve{Name: "99 % of the due"}
	for _, m := range history {
		half.Points = append(half.Points, [2]float64{m.at.Minutes(), 1000 * m.p50})
		if !math.IsNaN(m.p99) {
			almost.Points = append(almost.Points, [2]float64{m.at.Minutes(), 1000 * m.p99})
		}
	}
	return Figure{
		Name: "lag", Title: "How long items took",
		X: "time (min)", Y: "delay (ms)", LogY: true, Curves: []Curve{half, almost},
	}
}

// settlingFigure shows how the tree found its shape.
func settlingFigure(penalties []float64) Figure {
	c := Curve{Name: "along the edges"}
	for i, p := range penalties {
		c.Points = append(c.Points, [2]float64{float64(i), p})
	}
	return Figure{
		Name: "settling", Title: "Delay penalty while the tree settles",
		X: "rounds of 5 s since all have joined", Y: "RAD", Curves: []Curve{c},
	}
}
