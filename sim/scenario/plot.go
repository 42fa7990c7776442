//go:build !noplot

package scenario

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Plot writes each figure as a PNG into a directory, which is made if need be,
// and returns the files' names.
func (r Result) Plot(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var files []string
	for _, f := range r.Figures {
		file := filepath.Join(dir, r.Scenario+"-"+f.Name+".png")
		note := fmt.Sprintf("%s, %s nodes, %s, seed %d", r.Scenario, grouped(int64(r.Nodes)), r.Latency, r.Seed)
		if r.Partial {
			note += ", PARTIAL"
		}
		if err := f.write(file, note); err != nil {
			return files, fmt.Errorf("%s: %w", file, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// Colours that people who see fewer of them can tell apart (Okabe and Ito).
var colours = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x55, 0x55, 0x55, 0xff},
}

func (f Figure) write(file, note string) error {
	p := plot.New()
	f.Curves = slices.Clone(f.Curves)
	f.extend()
	f.frame(p, note)
	for i, c := range f.Curves {
		if err := f.draw(p, c, i); err != nil {
			return err
		}
	}
	f.scale(p)
	if err := f.marks(p); err != nil {
		return err
	}
	img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(18*vg.Centimeter, 11.5*vg.Centimeter), vgimg.UseDPI(160))}
	p.Draw(draw.Crop(draw.New(img), 8, -14, 6, -8))
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := img.WriteTo(out); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// frame sets titles, fonts and the grid.
func (f Figure) frame(p *plot.Plot, note string) {
	sans := func(s *text.Style, size vg.Length) {
		s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	}
	p.Title.Text = f.Title + "\n" + note
	sans(&p.Title.TextStyle, 11)
	p.Title.Padding = 8
	p.X.Label.Text, p.Y.Label.Text = f.X, f.Y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		sans(&a.Label.TextStyle, 10)
		sans(&a.Tick.Label, 9)
		a.Label.Padding = 4
	}
	sans(&p.Legend.TextStyle, 9)
	p.Legend.Padding = 3
	p.Legend.ThumbnailWidth = 18
	p.Legend.Top = !f.Unit
	p.Legend.XOffs, p.Legend.YOffs = -8, 8
	if p.Legend.Top {
		p.Legend.YOffs = -8
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
}

// spot is where a point is drawn. Logarithms are taken here, not by the axes:
// those of the library leave room for their names in the wrong place.
func (f Figure) spot(at [2]float64) plotter.XY {
	if f.LogX {
		at[0] = math.Log10(at[0])
	}
	if f.LogY {
		at[1] = math.Log10(at[1])
	}
	return plotter.XY{X: at[0], Y: at[1]}
}

func (f Figure) draw(p *plot.Plot, c Curve, number int) error {
	xys := make(plotter.XYs, 0, len(c.Points))
	for _, at := range c.Points {
		if (f.LogX && at[0] <= 0) || (f.LogY && at[1] <= 0) || math.IsNaN(at[1]) {
			continue
		}
		xys = append(xys, f.spot(at))
	}
	if len(xys) == 0 {
		return nil
	}
	style := draw.LineStyle{Color: colours[number%len(colours)], Width: 1.6}
	if number%2 == 1 && c.Style != Bars {
		style.Dashes = []vg.Length{5, 2}
	}
	switch c.Style {
	case Bars:
		p.Add(bars{xys, style.Color})
	default:
		if c.Style == Steps && f.Unit {
			xys = append(plotter.XYs{{X: xys[0].X, Y: 0}}, xys...)
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		l.LineStyle = style
		if c.Style == Steps {
			l.StepStyle = plotter.PostStep
		}
		p.Add(l)
		p.Legend.Add(c.Name, l)
	}
	return nil
}

// scale chooses the axes' ends and ticks once all curves are there.
func (f Figure) scale(p *plot.Plot) {
	p.X.Tick.Marker, p.Y.Tick.Marker = rounds{}, rounds{}
	if f.Unit {
		p.Y.Min, p.Y.Max = f.Low, 1
	} else if !f.LogY {
		p.Y.Min = 0
		p.Y.Max *= 1.08
	}
	if f.LogY {
		p.Y.Tick.Marker = decades{}
		p.Y.Min, p.Y.Max = math.Max(p.Y.Min, 0)-0.1, p.Y.Max+0.2
	}
	if f.LogX {
		p.X.Tick.Marker = decades{}
		p.X.Min, p.X.Max = p.X.Min-0.1, p.X.Max+0.1
	} else if p.X.Min > 0 && p.X.Min < p.X.Max/2 {
		p.X.Min = 0
	}
	for _, m := range f.Marks {
		p.X.Max = math.Max(p.X.Max, m.X*1.05)
	}
}

// extend draws cumulative curves on to the right end: they stay at their last
// height.
func (f Figure) extend() {
	end := math.Inf(-1)
	for _, c := range f.Curves {
		for _, at := range c.Points {
			end = math.Max(end, at[0])
		}
	}
	for _, m := range f.Marks {
		end = math.Max(end, m.X*1.05)
	}
	for i, c := range f.Curves {
		if n := len(c.Points); c.Style == Steps && !f.LogX && n > 0 {
			f.Curves[i].Points = append(c.Points[:n:n], [2]float64{end, c.Points[n-1][1]})
		}
	}
}

// marks draws the vertical lines, with their names beside them.
func (f Figure) marks(p *plot.Plot) error {
	for _, m := range f.Marks {
		l, err := plotter.NewLine(plotter.XYs{{X: m.X, Y: p.Y.Min}, {X: m.X, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		l.LineStyle = draw.LineStyle{Color: color.Gray{0x88}, Width: 1, Dashes: []vg.Length{2, 2}}
		p.Add(l)
		p.Legend.Add(m.Name, l)
	}
	return nil
}

// bars draws a bar from the axis to each point.
type bars struct {
	plotter.XYs
	color color.Color
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := (x(1) - x(0)) * 0.4
	half = min(max(half, 0.5), 8)
	for _, at := range b.XYs {
		low, high, top := x(at.X)-half, x(at.X)+half, y(at.Y)
		c.FillPolygon(b.color, c.ClipPolygonXY([]vg.Point{
			{X: low, Y: c.Min.Y}, {X: low, Y: top}, {X: high, Y: top}, {X: high, Y: c.Min.Y},
		}))
	}
}

// DataRange implements plot.DataRanger: half a bar more on both sides.
func (b bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(b.XYs)
	return xmin - 0.6, xmax + 0.6, math.Min(ymin, 0), ymax
}

// rounds ticks an axis at round numbers, five to eight of them.
type rounds struct{}

// Ticks implements plot.Ticker.
func (rounds) Ticks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, by := range []float64{2, 2.5, 2} {
		if (high-low)/step > 8 {
			step *= by
		}
	}
	var ticks []plot.Tick
	for k := int(math.Ceil(low/step - 1e-9)); float64(k)*step <= high*(1+1e-9); k++ {
		at := float64(k) * step
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(at, 'g', 8, 64)})
	}
	return ticks
}

// decades ticks an axis of decimal logarithms: names for powers of ten, as
// people write them, and small ticks between, which have names where there is
// room.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(low); power <= high; power++ {
		for k := 1.0; k < 10; k++ {
			at := power + math.Log10(k)
			if at < low || at > high {
				continue
			}
			t := plot.Tick{Value: at}
			if k == 1 || high-low < 1.5 && (k == 2 || k == 5) || high-low < 0.7 {
				t.Label = number(k * math.Pow(10, power))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
