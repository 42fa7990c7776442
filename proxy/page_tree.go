package proxy

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/feedtree/feedtree"
)

// drawing is a feed's tree as this node sees it: who is above it, who below. It
// is drawn here, as SVG, so that the page needs no script for it.
type drawing struct {
	Text   string // the same in words
	Width  int
	Height int
	Boxes  []box
	Lines  []line
}

type box struct {
	X, Y, W     int
	Class, Name string
	Under       string // what it is
	Title       string // in full
}

// Mid and Base are where lines and words go.
func (b box) Mid() int   { return b.X + b.W/2 }
func (b box) Base() int  { return b.Y + boxHigh }
func (b box) Named() int { return b.Y + 21 }
func (b box) Says() int  { return b.Y + 38 }

type line struct {
	X1, Y1, X2, Y2 int
	Class          string
}

// Path bends a line so that it leaves and arrives upright.
func (l line) Path() string {
	mid := (l.Y1 + l.Y2) / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", l.X1, l.Y1, l.X1, mid, l.X2, mid, l.X2, l.Y2)
}

const (
	boxWide, boxHigh = 112, 50
	boxGap, rowGap   = 10, 34
	mostDrawn        = 4 // children
	drawingWide      = mostDrawn*boxWide + (mostDrawn-1)*boxGap + 2
)

// draw makes the drawing of a feed's tree.
func draw(f feedtree.FeedStatus) drawing {
	d := &drawing{Width: drawingWide}
	centre := (drawingWide - boxWide) / 2
	self := box{X: centre, W: boxWide, Class: "self", Name: "this node"}
	var above *box
	switch {
	case f.Role == feedtree.RoleLocal:
		self.Under, d.Text = "for you alone", "This feed stays on this machine: it has no tree."
	case f.Role == feedtree.RolePublisher && f.Root:
		self.Under, d.Text = "publisher and root", "This node publishes the feed and is the root of its tree"
	case f.Root:
		self.Under, d.Text = "root", "This node is the root of the feed’s tree"
	case f.Parent != "":
		above = &box{X: centre, W: boxWide, Class: "peer", Name: short(f.Parent), Under: "parent", Title: f.Parent}
		d.Text = "This node gets the feed’s news from " + short(f.Parent)
	default:
		above = &box{X: centre, W: boxWide, Class: "none", Name: "nobody yet", Under: "being looked for"}
		d.Text = "This node has no place in the feed’s tree yet"
	}
	if self.Under == "" {
		self.Under = "passes it on"
		if len(f.Children) == 0 {
			self.Under = "a leaf of the tree"
		}
	}
	if above != nil {
		if above.Class == "peer" {
			top := box{X: centre, W: boxWide, Class: "far", Name: "root", Under: "somewhere above"}
			d.put(top, nil, "far")
		}
		d.put(*above, d.last(), "far")
	}
	d.put(self, d.last(), map[bool]string{true: "far", false: "near"}[above != nil && above.Class == "none"])
	if polls(f) {
		site := box{X: 1, Y: d.last().Y, W: boxWide, Class: "site", Name: "the site", Under: "asked from here"}
		d.Boxes = append(d.Boxes, site)
		d.Lines = append(d.Lines, line{site.X + site.W, site.Y + boxHigh/2, centre, site.Y + boxHigh/2, "site"})
	}
	d.children(f.Children, *d.self())
	for _, b := range d.Boxes {
		d.Height = max(d.Height, b.Base())
	}
	d.Height += 2
	if f.Role != feedtree.RoleLocal {
		d.Text += passesOn(len(f.Children))
	}
	return *d
}

// polls reports whether this node asks the origin itself.
func polls(f feedtree.FeedStatus) bool {
	return f.Role == feedtree.RoleVolunteer || f.Role == feedtree.RoleLocal
}

func passesOn(children int) string {
	if children == 0 {
		return "."
	}
	return " and passes it on to " + plural(children, "other node", "other nodes") + "."
}

func (d *drawing) last() *box {
	if len(d.Boxes) == 0 {
		return nil
	}
	return &d.Boxes[len(d.Boxes)-1]
}

func (d *drawing) self() *box {
	for i := range d.Boxes {
		if d.Boxes[i].Class == "self" {
			return &d.Boxes[i]
		}
	}
	panic("proxy: a tree without this node")
}

// put adds a box in the row below another, with a line to it.
func (d *drawing) put(b box, under *box, class string) {
	b.Y = 1
	if under != nil {
		b.Y = under.Base() + rowGap
		d.Lines = append(d.Lines, line{under.Mid(), under.Base(), b.Mid(), b.Y, class})
	}
	d.Boxes = append(d.Boxes, b)
}

// children adds the nodes below this one.
func (d *drawing) children(ids []string, self box) {
	shown := ids
	if len(ids) > mostDrawn {
		shown = ids[:mostDrawn-1]
	}
	var row []box
	for _, id := range shown {
		row = append(row, box{W: boxWide, Class: "peer", Name: short(id), Under: "child", Title: id})
	}
	if more := len(ids) - len(shown); more > 0 {
		row = append(row, box{W: boxWide, Class: "far", Name: "and " + thousands(more), Under: "more"})
	}
	x := (drawingWide - len(row)*boxWide - (len(row)-1)*boxGap) / 2
	for _, b := range row {
		b.X, b.Y = x, self.Base()+rowGap
		d.Boxes = append(d.Boxes, b)
		d.Lines = append(d.Lines, line{self.Mid(), self.Base(), b.Mid(), b.Y, "near"})
		x += boxWide + boxGap
	}
}

var drawingTemplate = template.Must(template.New("tree").Parse(
	`<svg class="tree" viewBox="0 0 {{.Width}} {{.Height}}" width="{{.Width}}" height="{{.Height}}" role="img" aria-label="{{.Text}}">` +
		`{{range .Lines}}<path class="{{.Class}}" d="{{.Path}}"/>{{end}}` +
		`{{range .Boxes}}<g class="{{.Class}}">{{with .Title}}<title>{{.}}</title>{{end}}` +
		`<rect x="{{.X}}" y="{{.Y}}" width="{{.W}}" height="50" rx="8"/>` +
		`<text x="{{.Mid}}" y="{{.Named}}" class="name">{{.Name}}</text><text x="{{.Mid}}" y="{{.Says}}">{{.Under}}</text></g>{{end}}</svg>`))

// SVG is the drawing as markup, all text in it escaped.
func (d drawing) SVG() template.HTML {
	var out strings.Builder
	if err := drawingTemplate.Execute(&out, d); err != nil {
		panic("proxy: the drawing's template: " + err.Error())
	}
	return template.HTML(out.String())
}
