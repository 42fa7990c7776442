package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// Dump draws the trees of all groups as indented text, the same for the same
// world: roots first, children by name. A node that only forwards stands in
// parentheses; what hangs below nobody stands at the end.
func (w *Trees) Dump() string {
	var b strings.Builder
	for _, l := range w.groups {
		fmt.Fprintf(&b, "%s\n%s", l.name, w.Tree(l.id))
	}
	return b.String()
}

// Tree draws one group.
func (w *Trees) Tree(g multicast.Group) string {
	f := w.forest(g)
	return f.draw()
}

func (f *forest) draw() string {
	slices.SortFunc(f.stands, func(a, b stand) int { return strings.Compare(string(a.id), string(b.id)) })
	below := map[overlay.ID][]*stand{}
	for i := range f.stands {
		p := f.stands[i].status.Parent
		below[p] = append(below[p], &f.stands[i])
	}
	var b strings.Builder
	drawn := map[overlay.ID]bool{}
	var draw func(s *stand, depth int)
	draw = func(s *stand, depth int) {
		name := string(s.id)
		if !s.status.Member {
			name = "(" + name + ")"
		}
		fmt.Fprintf(&b, "%*s%s", 2*depth+2, "", name)
		switch {
		case drawn[s.id]:
			b.WriteString(" again: a loop\n")
			return
		case s.status.Root:
			b.WriteString(" root")
		case !s.status.Attached:
			b.WriteString(" detached")
		}
		b.WriteString("\n")
		drawn[s.id] = true
		for _, c := range below[s.id] {
			draw(c, depth+1)
		}
	}
	tops := slices.Clone(below[""])
	slices.SortStableFunc(tops, func(a, b *stand) int { return rank(a) - rank(b) })
	for _, s := range tops {
		draw(s, 0)
	}
	for i := range f.stands {
		s := &f.stands[i]
		p := s.status.Parent
		if gone := p != "" && !slices.ContainsFunc(f.stands, func(o stand) bool { return o.id == p }); gone {
			fmt.Fprintf(&b, "  below %s, which is gone:\n", p)
			draw(s, 1)
		}
	}
	for i := range f.stands {
		if s := &f.stands[i]; !drawn[s.id] {
			b.WriteString("  in a loop:\n")
			draw(s, 1)
		}
	}
	return b.String()
}

func rank(s *stand) int {
	if s.status.Root {
		return 0
	}
	return 1
}
