package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// sound is a root r with the child a, which has the child b.
func sound() map[overlay.ID]*stand {
	return map[overlay.ID]*stand{
		"r": {status: tree.GroupStatus{Member: true, Root: true, Attached: true, Children: []overlay.ID{"a"}}},
		"a": {status: tree.GroupStatus{Attached: true, Parent: "r", Children: []overlay.ID{"b"}, Path: []overlay.ID{"r"}}},
		"b": {status: tree.GroupStatus{Member: true, Attached: true, Parent: "a", Path: []overlay.ID{"r", "a"}}},
	}
}

func forestOf(stands map[overlay.ID]*stand) *forest {
	f := &forest{children: 16, allChildren: 256}
	for id, s := range stands {
		s.id = id
		f.stands = append(f.stands, *s)
	}
	slices.SortFunc(f.stands, func(a, b stand) int { return strings.Compare(string(a.id), string(b.id)) })
	return f
}

// Each fault is found where it is made, and a sound tree has none.
func TestFaults(t *testing.T) {
	many := make([]overlay.ID, 17)
	for _, tc := range []struct {
		name  string
		spoil func(map[overlay.ID]*stand)
		want  []string
	}{
		{"nothing", func(map[overlay.ID]*stand) {}, nil},
		{"second root", func(s map[overlay.ID]*stand) {
			s["x"] = &stand{status: tree.GroupStatus{Member: true, Root: true, Attached: true}}
		}, []string{"2 roots: r, x"}},
		{"second root across a cut", func(s map[overlay.ID]*stand) {
			s["x"] = &stand{side: 1, status: tree.GroupStatus{Member: true, Root: true, Attached: true}}
		}, nil},
		{"no root", func(s map[overlay.ID]*stand) { s["r"].status.Root = false },
			[]string{"no root for 2 members", "r is attached, has no parent and is no root"}},
		{"detached", func(s map[overlay.ID]*stand) { s["x"] = &stand{status: tree.GroupStatus{Member: true}} },
			[]string{"x is a member and not attached"}},
		{"parent gone", func(s map[overlay.ID]*stand) { delete(s, "a") },
			[]string{"b has the parent a, which is gone", "r has the child a, which has another parent or is gone"}},
		{"parent across a cut", func(s map[overlay.ID]*stand) { s["b"].side = 1 },
			[]string{"b has the parent a, which is gone", "no root for 1 members"}},
		{"parent does not know", func(s map[overlay.ID]*stand) { s["a"].status.Children = nil },
			[]string{"b has the parent a, which does not know"}},
		{"child has another parent", func(s map[overlay.ID]*stand) {
			s["r"].status.Children = append(s["r"].status.Children, "b")
		}, []string{"r has the child b, which has another parent or is gone"}},
		{"stale path", func(s map[overlay.ID]*stand) { s["b"].status.Path = []overlay.ID{"a"} },
			[]string{"b has the path [a], its parent's makes it [r a]"}},
		{"root with a path", func(s map[overlay.ID]*stand) { s["r"].status.Path = []overlay.ID{"a"} },
			[]string{"r has no parent and the path [a]", "a has the path [r], its parent's makes it [a r]"}},
		{"root with a parent", func(s map[overlay.ID]*stand) {
			s["b"].status.Children = []overlay.ID{"r"}
			s["r"].status.Parent, s["r"].status.Path = "b", []overlay.ID{"r", "a", "b"}
			s["a"].status.Path, s["b"].status.Path = []overlay.ID{"r", "a", "b", "r"}, []overlay.ID{"r", "a", "b", "r", "a"}
		}, []string{"r has the path [r a b], its parent's makes it [r a b r a b]", "r is root and has the parent b", "going up from a comes back after 3 edges"}},
		{"too many here", func(s map[overlay.ID]*stand) {
			for i := range many {
				id := overlay.ID("c" + string(rune('a'+i)))
				s[id] = &stand{status: tree.GroupStatus{Attached: true, Parent: "b", Path: []overlay.ID{"r", "a", "b"}}}
				s["b"].status.Children = append(s["b"].status.Children, id)
			}
		}, []string{"b has 17 children here and 0 in all"}},
		{"too many in all", func(s map[overlay.ID]*stand) { s["b"].total = 257 },
			[]string{"b has 0 children here and 257 in all"}},
	} {
		stands := sound()
		tc.spoil(stands)
		got := forestOf(stands).faults()
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestDraw(t *testing.T) {
	stands := sound()
	stands["c"] = &stand{status: tree.GroupStatus{Member: true, Attached: true, Parent: "gone"}}
	stands["d"] = &stand{status: tree.GroupStatus{Member: true}}
	stands["x"] = &stand{status: tree.GroupStatus{Member: true, Attached: true, Parent: "y"}}
	stands["y"] = &stand{status: tree.GroupStatus{Attached: true, Parent: "x"}}
	const want = `  r root
    (a)
      b
  d detached
  below gone, which is gone:
    c
  in a loop:
    x
      (y)
        x again: a loop
`
	if got := forestOf(stands).draw(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDoubled(t *testing.T) {
	var cfg TreesConfig
	cfg.Nodes = 2
	w := NewTrees(cfg)
	g := w.GroupNamed("news")
	s := multicast.Stamp{Source: SourceOf("n0"), Epoch: 1, Seq: 1}
	r := w.Record(g, "n1")
	r.Joins = 2
	r.Deliveries = []Delivered{{Stamp: s, Join: 1}, {Stamp: s, Join: 2}}
	if h := w.Doubled(g); h != nil {
		t.Errorf("once per join is not doubled: %v", h)
	}
	r.Deliveries = append(r.Deliveries, Delivered{Stamp: s, Join: 2}, Delivered{Stamp: s, Join: 2})
	if h := w.Doubled(g); len(h) != 1 || h[0].Member != "n1" || h[0].Times != 3 {
		t.Errorf("three times in one join: %v", h)
	}
}

// The cursor a restart joins from is that of the last deliveries, line by line,
// and never goes back.
func TestCursor(t *testing.T) {
	var cfg TreesConfig
	cfg.Nodes = 3
	w := NewTrees(cfg)
	g := w.GroupNamed("news")
	w.Join(g, w.IDs()...)
	w.RunFor(10 * time.Second)
	for _, id := range []overlay.ID{"n0", "n0", "n1"} {
		w.Publish(g, id, 0)
		w.RunFor(time.Second)
	}
	r := w.Record(g, "n2")
	r.advance(multicast.Stamp{Source: SourceOf("n0"), Epoch: 1, Seq: 1})
	want := []multicast.Stamp{{Source: SourceOf("n0"), Epoch: 1, Seq: 2}, {Source: SourceOf("n1"), Epoch: 1, Seq: 1}}
	if !slices.Equal(r.cursor, want) {
		t.Errorf("cursor %v, want %v", r.cursor, want)
	}
}

func TestSize(t *testing.T) {
	small := Size(&tree.Message{Type: tree.Ping})
	event := &multicast.Event{Body: make([]byte, 4096)}
	data := Size(&tree.Message{Type: tree.Data, Group: multicast.Group{1}, Event: event})
	path := Size(&tree.Message{Type: tree.Path, Path: []overlay.ID{"a", "b"}})
	if small > 20 || data < 4096+64 || data > 4096+400 || path-small != 2*idBytes {
		t.Errorf("ping %d, data %d, path of two %d bytes", small, data, path)
	}
	stamp := multicast.Stamp{Source: multicast.Source{1}, Epoch: 1, Seq: 1}
	held := Size(&tree.Message{Type: tree.Held, Span: &tree.Span{Stamp: stamp}})
	pull := Size(&tree.Message{Type: tree.Pull, Span: &tree.Span{Stamp: stamp, From: 1, To: 2}})
	if held-small != headBytes || pull-held != 2*numberBytes {
		t.Errorf("ping %d, receipt %d, pull %d bytes", small, held, pull)
	}
}
