package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// grove is a node with two children below a parent and a top, whose subtrees are as large as told.
func grove(t *testing.T, top, parent uint32) (s *solo, edge uint64) {
	s = alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	edge = s.one("parent", tree.Join).Edge
	s.receive("parent", way(tree.Ack, edge, 1, top, parent))
	for i, id := range []overlay.ID{"a", "b"} {
		own := tree.Standing{Delay: 60 * time.Millisecond, Weight: 1, Room: 15, At: at(90)}
		s.receive(id, tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &own})
	}
	return s, edge
}

// way is the parent's word about its way to the top.
func way(what tree.Type, edge, ver uint64, top, parent uint32) tree.Message {
	return tree.Message{Type: what, Group: group, Edge: edge, Ver: ver, Path: []overlay.ID{"top", "parent"},
		Posts: []tree.Standing{{Weight: top, At: at(0)}, {Delay: 50 * time.Millisecond, Weight: parent, At: at(50)}}}
}

// A subtree that has grown much since its nodes were told draws a crowd: all below name its
// upper end as a light node. So they are told, though nothing else has changed.
func TestWhoHasOutgrownWhatWasToldSaysSo(t *testing.T) {
	s, _ := grove(t, 1000, 100)
	load := func(weight uint32) int {
		own := tree.Standing{Delay: 60 * time.Millisecond, Weight: weight, Room: 3, At: at(90)}
		s.receive("a", tree.Message{Type: tree.Load, Group: group, Edge: 1, Self: &own})
		return len(s.sent("b", tree.Path))
	}
	if load(8) != 0 {
		t.Error("ten nodes are no crowd")
	}
	if load(40) != 1 {
		t.Fatal("the other child was not told that there are four times as many below")
	}
	if p := s.one("b", tree.Path); p.Posts[2].Weight != 42 {
		t.Errorf("told %+v", p.Posts)
	}
	if load(60) != 0 {
		t.Error("told of half as many more")
	}
	if load(30)+load(60) != 0 {
		t.Error("told of fewer, or of as many as before")
	}
}

// Who is above tells how many are below to all who ask, so it has to hear of growth at
// once, also when it was to hear of something small a little later.
func TestGrowthIsToldToTheParentAtOnce(t *testing.T) {
	s, _ := grove(t, 1000, 100)
	load := func(weight uint32) {
		own := tree.Standing{Delay: 60 * time.Millisecond, Weight: weight, Room: 3, At: at(90)}
		s.receive("a", tree.Message{Type: tree.Load, Group: group, Edge: 1, Self: &own})
	}
	told := func(within time.Duration) (weight uint32) {
		s.pass(within)
		for _, m := range s.sent("parent", tree.Load) {
			weight = m.Self.Weight
		}
		return weight
	}
	load(98)
	if w := told(200 * time.Millisecond); w != 100 {
		t.Fatalf("the parent was told of %d nodes within 0.2 s, want 100", w)
	}
	load(118)
	if w := told(200 * time.Millisecond); w != 0 {
		t.Errorf("a fifth more was told at once: %d", w)
	}
	load(298)
	if w := told(200 * time.Millisecond); w != 300 {
		t.Errorf("the parent was told of %d nodes within 0.2 s, want 300", w)
	}
}

// What a node hears of those above it goes on to those below, who are asked about them.
func TestGrowthAboveIsPassedOn(t *testing.T) {
	s, edge := grove(t, 1000, 100)
	told := func(ver uint64, top, parent uint32) int {
		s.receive("parent", way(tree.Path, edge, ver, top, parent))
		return len(s.sent("a", tree.Path))
	}
	s.receive("parent", way(tree.Path, edge, 2, 1000, 100))
	if told(3, 1000, 150) != 0 {
		t.Error("half as many more are passed on")
	}
	if told(4, 1000, 600) != 1 {
		t.Fatal("four times as many are not passed on")
	}
	if p := s.one("a", tree.Path); p.Posts[1].Weight != 600 {
		t.Errorf("passed on %+v", p.Posts)
	}
	if told(5, 1000, 100) != 0 {
		t.Error("fewer are passed on")
	}
}

// A search asks above as well. What the answer says of the way up is what this node tells
// from then on, but for the delays: those come along the edges.
func TestASearchLearnsHowManyAreAboveNow(t *testing.T) {
	for _, same := range []bool{true, false} {
		s, _ := grove(t, 1000, 20)
		for asked := false; !asked; {
			if s.now > 10*time.Minute {
				t.Fatal("the parent was not asked")
			}
			s.pass(time.Second)
			asked = len(s.sent("parent", tree.Probe)) > 0
			for _, send := range s.out.Sends {
				if m := send.Msg; m.Type == tree.Ping {
					s.pong(send.To, m)
				}
			}
		}
		own := tree.Standing{Delay: 80 * time.Millisecond, Weight: 190, Height: 3, Room: 1, At: at(50)}
		m := tree.Message{Type: tree.Offer, Group: group, Self: &own, Path: []overlay.ID{"top"}, Posts: []tree.Standing{{Weight: 1100, At: at(0)}}}
		if !same { // it has moved: that comes by its own message
			m.Path = []overlay.ID{"other"}
		}
		s.receive("parent", m)
		s.receive("asker", tree.Message{Type: tree.Probe, Group: group})
		o := s.one("asker", tree.Offer)
		want := []uint32{1000, 20}
		if same {
			want = []uint32{1100, 190}
		}
		if o.Posts[0].Weight != want[0] || o.Posts[1].Weight != want[1] {
			t.Errorf("told of %d and %d nodes, want %v", o.Posts[0].Weight, o.Posts[1].Weight, want)
		}
		if o.Posts[1].Delay != 50*time.Millisecond {
			t.Errorf("told of a delay of %v, which the parent did not tell its children", o.Posts[1].Delay)
		}
	}
}

// Thousands who come to hang below somebody at once are told so, and those above it do not
// know yet: by what these told last they are light, and have room. Nobody of the crowd asks
// there all the same, nor do others who are told of the same way.
func TestNobodyIsLighterThanWhoHangsBelow(t *testing.T) {
	light, burdened := "above 3", uint32(4000)
	posts := func(last uint32) (at5 []tree.Standing) {
		for i, w := range []uint32{65536, 4096, 256, 2, last} {
			at5 = append(at5, tree.Standing{Delay: time.Duration(5*i) * time.Millisecond, Weight: w, Room: 10, At: at(int32(i))})
		}
		return at5
	}
	path := func(names string, last overlay.ID) []overlay.ID {
		id := func(i int) overlay.ID { return overlay.ID(fmt.Sprint(names, " ", i)) }
		return []overlay.ID{id(0), id(1), id(2), id(3), last}
	}
	stands := func(s *solo, names string, last uint32) {
		s.receive("parent", tree.Message{Type: tree.Path, Group: group, Edge: edgeOf(s), Ver: 2, Path: path(names, "parent"), Posts: posts(last)})
	}
	delays := []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 80 * time.Millisecond}
	asked := func(prepare func(s *solo), offer func(id overlay.ID) *tree.Message) (n int) {
		for seed := range uint64(60) {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, delays...)
			prepare(s)
			if slices.Contains(s.probes(5*time.Second, offer), overlay.ID(light)) {
				n++
			}
		}
		return n
	}
	own := func(last uint32) int {
		return asked(func(s *solo) { stands(s, "above", last) }, func(overlay.ID) *tree.Message { return nil })
	}
	told := func(last uint32) int {
		return asked(func(s *solo) {
			stands(s, "own", 2)
			s.link("friend")
		}, func(id overlay.ID) *tree.Message {
			if id != "friend" {
				return nil
			}
			self := tree.Standing{Delay: 90 * time.Millisecond, Weight: last, At: at(9)}
			return &tree.Message{Type: tree.Offer, Group: group, Self: &self, Path: path("above", "other"), Posts: posts(last)}
		})
	}
	for name, times := range map[string]func(uint32) int{"the own way": own, "one that is told": told} {
		if n := times(2); n < 10 {
			t.Errorf("%s: a light one with room was asked by %d of 60", name, n)
		}
		if n := times(burdened); n > 1 {
			t.Errorf("%s: one with %d nodes below it was asked by %d of 60", name, burdened, n)
		}
	}
}
