package scenario

import (
	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// A stress counts the messages that cross each physical link of a transit–stub
// network (Scribe, §V-C).
type stress struct {
	topology *oversim.Topology
	routers  int
	links    map[[2]int]uint32 // between routers, the lower first
	lans     []uint32          // of nodes
	route    []oversim.Link    // of the message that is counted
}

func newStress(t *oversim.Topology, nodes int) *stress {
	return &stress{topology: t, routers: len(t.Links()), links: map[[2]int]uint32{}, lans: make([]uint32, nodes)}
}

// carry counts one message. It leaves no garbage: an item of a million nodes is two million
// ways, and each left several pieces where it was a list of its own.
func (s *stress) carry(w *world, from, to int32) {
	s.lans[from]++
	s.lans[to]++
	s.route = s.topology.AppendRoute(s.route[:0], w.spot[from], w.spot[to])
	for _, l := range s.route {
		if l.From != oversim.End && l.To != oversim.End {
			s.links[[2]int{min(l.From, l.To), max(l.From, l.To)}]++
		}
	}
}

// counts lists the messages of each link that carried any, the highest, and the
// mean over all links there are, the LAN of every node included.
func (s *stress) counts() (loaded spread, mean float64) {
	var sum float64
	for _, n := range s.links {
		loaded.add(float64(n))
	}
	for _, n := range s.lans {
		if n > 0 {
			loaded.add(float64(n))
		}
	}
	for _, n := range loaded {
		sum += n
	}
	return loaded, sum / float64(s.routers+len(s.lans))
}

// stress counts, from now on, what the payloads put on links. It returns two
// counts, of the trees and of unicast by the publishers; nil without routers.
func (w *world) stress() (trees, unicast *stress) {
	t := w.run.latency.topology
	if t == nil {
		return nil, nil
	}
	trees, unicast = newStress(t, len(w.ids)), newStress(t, len(w.ids))
	w.load.onPayload = func(from, to int32, _ *feed, _ payload) { trees.carry(w, from, to) }
	w.onJudged = append(w.onJudged, func(f *feed, _ *item) {
		for _, m := range f.members {
			if m != f.publisher {
				unicast.carry(w, f.publisher, m)
			}
		}
	})
	return trees, unicast
}
