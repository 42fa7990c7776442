package feedtree

import (
	"cmp"
	"slices"

	"github.com/feedtree/feedtree/overlay/kad"
)

const mostNeighbours = 256 // that a status names

// Neighbour is a node that is connected, and which feeds the two are next to each other
// for in a tree.
type Neighbour struct {
	kad.Neighbour
	Feeds []string `json:"feeds"` // by URL
}

// neighbours names those connected: who shares most feeds first, then with whom most
// was exchanged.
func neighbours(connected []kad.Neighbour, feeds []FeedStatus) []Neighbour {
	shared := map[string][]string{}
	for i := range feeds {
		f := &feeds[i]
		if f.Parent != "" {
			shared[f.Parent] = append(shared[f.Parent], f.URL)
		}
		for _, child := range f.Children {
			shared[child] = append(shared[child], f.URL)
		}
	}
	all := make([]Neighbour, len(connected))
	for i, c := range connected {
		all[i] = Neighbour{Neighbour: c, Feeds: shared[c.Peer]}
		if all[i].Feeds == nil {
			all[i].Feeds = []string{}
		}
	}
	slices.SortStableFunc(all, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(len(b.Feeds), len(a.Feeds)), cmp.Compare(b.Sent+b.Received, a.Sent+a.Received))
	})
	return all[:min(len(all), mostNeighbours)]
}
