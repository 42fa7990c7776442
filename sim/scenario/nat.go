package scenario

import (
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

var nat = Scenario{
	Name: "nat", About: "one feed; four nodes in five cannot be dialled, and seven in ten of those can by punching a hole",
	Nodes: 10_000, Targets: natTargets, warmUp: longestWarmUp / 2, memory: oneFeed,
	play: playNAT,
}

const (
	hiddenOf10  = 8 // nodes in ten behind a NAT
	punchableOf = 7 // of ten of those, whose NAT lets holes be punched
)

func natTargets(Config) []Target {
	return []Target{
		atLeast("coverage", 1), atLeast("coverage_5s", 0.999), atMost("detached", 0), atMost("hidden_roots", 0),
		atMost("children_group_max", 16),
	}
}

// playNAT: whoever is behind a NAT knows it, serves no routing table, and is
// reached only through holes.
func playNAT(r *run) error {
	hidden := func(id overlay.ID) bool { return index(id)%10 < hiddenOf10 }
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+stillItems*stillEvery+judged, func(c *sim.TreesConfig) {
		c.Unreachable = hidden
		c.Net.Punches = func(id overlay.ID) bool { return index(id)/10%10 < punchableOf }
	})
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	defer r.deliveries(w)
	if err := w.warmUp(); err != nil {
		return err
	}
	err = w.items(stillItems, stillEvery)
	r.edges(w)
	roots, parents := 0, 0
	for _, id := range w.ids {
		if st, ok := w.Node(id).Status(f.group); ok && hidden(id) {
			roots += count(st.Root || st.Meets)
			parents += count(len(st.Children) > 0)
		}
	}
	r.set("hidden_roots", float64(roots))
	r.set("hidden_parents", float64(parents))
	return err
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
