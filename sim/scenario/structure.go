package scenario

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
)

// A settling is how the first feed's tree came to its shape.
type settling struct {
	penalties []float64 // RAD along the edges, once a round, since all have joined
	sent      []uint64  // messages by then
}

const watched = 1000 // members whose way is looked at

// watch looks at a feed's tree once a round until the warm-up is over.
func (w *world) watch(f *feed) {
	some := slices.Clone(f.members)
	w.rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	some = some[:min(len(some), watched)]
	for at := joined(len(w.ids)); at <= w.run.cfg.WarmUp; at += Round {
		w.At(at, func() {
			p := w.along(f, some)
			w.settling.penalties = append(w.settling.penalties, p.rad())
			w.settling.sent = append(w.settling.sent, w.load.all().messages)
		})
	}
}

// along measures the ways from the publisher to members along the edges as
// they are now.
func (w *world) along(f *feed, members []int32) penalty {
	var p penalty
	ways := map[int32][]hop{}
	source := w.way(f, f.publisher, ways)
	for _, m := range members {
		if m == f.publisher {
			continue
		}
		if d, ok := between(source, w.way(f, m, ways)); ok {
			p.add(d, w.run.latency.direct(w.spot[f.publisher], w.spot[m]))
		}
	}
	return p
}

// A hop is a node on a way up, and the delay from where the way begins.
type hop struct {
	node  int32
	after time.Duration
}

// way returns the nodes from one up to its top, itself first.
func (w *world) way(f *feed, node int32, known map[int32][]hop) []hop {
	if way, ok := known[node]; ok {
		return way
	}
	way := []hop{{node: node}}
	for len(way) <= maxWay {
		last := way[len(way)-1]
		st, ok := w.status(last.node, f)
		if !ok || st.Parent == "" {
			break
		}
		up := index(st.Parent)
		way = append(way, hop{up, last.after + w.run.latency.direct(w.spot[last.node], w.spot[up])})
	}
	known[node] = way
	return way
}

const maxWay = 100 // longer ones are loops that are being broken

// between returns the delay along two ways up to where they meet, false if they
// do not.
func between(a, b []hop) (time.Duration, bool) {
	for _, x := range a {
		if i := slices.IndexFunc(b, func(y hop) bool { return y.node == x.node }); i >= 0 {
			return x.after + b[i].after, true
		}
	}
	return 0, false
}

// A shape is what the edges of all feeds look like.
type shape struct {
	children      []uint32 // by node, over all feeds
	childrenGroup int      // most of one node in one feed
	neighbours    []uint32 // by node: peers with an edge or a lazy link
	apart         []uint32 // by node: feeds that none of its neighbours is in, and that it polls
	roots         int      // of the first feed
	detached      int      // members that are up and have no way to the top
}

// shape looks at every node and feed.
func (w *world) shape() shape {
	s := shape{children: make([]uint32, len(w.ids)), neighbours: make([]uint32, len(w.ids)), apart: make([]uint32, len(w.ids))}
	var st tree.GroupStatus // one for all, who may be a million
	peers := map[string]bool{}
	for i := range w.ids {
		n := w.Node(w.ids[i])
		if n == nil {
			continue
		}
		clear(peers)
		for _, g := range n.Groups() {
			n.StatusInto(&st, g)
			s.children[i] += uint32(len(st.Children))
			s.childrenGroup = max(s.childrenGroup, len(st.Children))
			if st.Root && g == w.feeds[0].group {
				s.roots++
			}
			switch {
			case st.Apart:
				s.apart[i]++
			case st.Member && !st.Attached:
				s.detached++
			}
			meet(peers, &st)
		}
		s.neighbours[i] = uint32(len(peers))
	}
	return s
}

func meet(peers map[string]bool, st *tree.GroupStatus) {
	if st.Parent != "" {
		peers[string(st.Parent)] = true
	}
	for _, c := range st.Children {
		peers[string(c)] = true
	}
	for _, c := range st.Lazy {
		peers[string(c)] = true
	}
}

func most(counts []uint32) int {
	if len(counts) == 0 {
		return 0
	}
	return int(slices.Max(counts))
}
