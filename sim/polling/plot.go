//go:build !noplot

package polling

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Plot writes for every workload what is lost and how long items wait over the
// budget, a line per policy, like Han's Figures 14 and 15: the files
// missing-WORKLOAD and delay-WORKLOAD in dir, as PNG and SVG. It makes dir if
// there is none.
func (r Result) Plot(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a place for the plots: %w", err)
	}
	means := r.mean()
	var workloads []string
	for _, m := range means {
		if !slices.Contains(workloads, m.Workload) {
			workloads = append(workloads, m.Workload)
		}
	}
	for _, w := range workloads {
		figures := []struct {
			name, title, unit string
			value             func(Row) float64
		}{
			{"missing", "Items lost", "% of the items posted", func(r Row) float64 { return 100 * r.Missing }},
			{"delay", "Mean delay", "hours", func(r Row) float64 { return r.Delay }},
		}
		for _, f := range figures {
			p, err := figure(means, w, f.value)
			if err != nil {
				return err
			}
			p.Title.Text = f.title + ": " + w + " feeds"
			p.Y.Label.Text = f.unit
			for _, ext := range []string{".png", ".svg"} {
				path := filepath.Join(dir, f.name+"-"+w+ext)
				if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, path); err != nil {
					return fmt.Errorf("cannot write a plot: %w", err)
				}
			}
		}
	}
	return nil
}

// figure is one plot: a line per policy over the budgets.
func figure(means []Row, workload string, value func(Row) float64) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text = "M, polls per three weeks and 1,000 feeds"
	p.Y.Min = 0
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	var lines []any
	for _, policy := range Policies() {
		var points plotter.XYs
		for _, m := range means {
			if m.Workload == workload && m.Policy == policy {
				points = append(points, plotter.XY{X: float64(m.Budget), Y: value(m)})
			}
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X - b.X) })
		if len(points) > 0 {
			lines = append(lines, policy, points)
		}
	}
	return p, plotutil.AddLinePoints(p, lines...)
}
