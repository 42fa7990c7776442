package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// tall and low are ways to the top of a tree of a million nodes, and of one of sixty
// thousand, by what their tops say.
var (
	tall = []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 40 * time.Millisecond}
	low  = tall[:4]
)

// nameTo is how the node names somebody to an asker next to it with so many nodes below.
func (s *solo) nameTo(whom overlay.ID, weight uint32) (tree.Standing, bool) {
	own := tree.Standing{Delay: time.Second, Weight: weight, At: at(12)}
	s.receive("asker", tree.Message{Type: tree.Probe, Group: group, Self: &own})
	o := s.one("asker", tree.Offer)
	i := slices.Index(o.Peers, whom)
	if i < 0 {
		return tree.Standing{}, false
	}
	return o.Posts[len(o.Path)+i], true
}

// In a large tree a member is named with how many it said that it has below it. Nothing of
// its place is told with that.
func TestANameComesWithAWeight(t *testing.T) {
	for _, c := range []struct {
		way  []time.Duration
		want uint32
	}{{tall, 2}, {low, 0}} {
		net := &chart{rtt: time.Millisecond}
		s := searching(t, net, 1, c.way...)
		s.link("member")
		s.probes(10*time.Minute, func(id overlay.ID) *tree.Message {
			if id == "near" {
				return net.from(12, stands(nil)) // 2 nodes, itself included
			}
			return net.from(90, stands([]overlay.ID{"near"}, tree.Standing{At: at(12)}))
		})
		got, ok := s.nameTo("near", 1)
		if want := (tree.Standing{At: at(12), Weight: c.want}); !ok || got != want {
			t.Errorf("in a tree of depth %d it is named with %+v, want %+v", len(c.way), got, want)
		}
	}
}

// Who is said to have many below it by somebody who is not its parent is asked by few, is
// not taken for a place, and not named to others before it said so itself.
func TestARumourIsNoPlace(t *testing.T) {
	const heavy = 1000
	asks := func(weight uint32) (asked int, named bool) {
		for seed := range uint64(10) {
			net := &chart{rtt: time.Millisecond}
			s := searching(t, net, seed, tall...)
			s.link("member")
			for _, id := range s.probes(time.Minute, func(id overlay.ID) *tree.Message {
				if id == "near" {
					return nil
				}
				return net.from(90, stands([]overlay.ID{"near"}, tree.Standing{At: at(12), Weight: weight}))
			}) {
				if id == "near" {
					asked++
				}
			}
			if _, ok := s.nameTo("near", heavy); ok {
				named = true
			}
		}
		return asked, named
	}
	few, named := asks(heavy)
	if many, _ := asks(0); few*5 > many || many < 10 {
		t.Errorf("with many below, as is said, it was asked %d times, else %d", few, many)
	}
	if named {
		t.Error("what was only said is said on")
	}
}
