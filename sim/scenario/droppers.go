package scenario

import (
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

var droppers = Scenario{
	Name: "droppers", About: "one feed; a fifth of the nodes, the root among them, answer and forward nothing",
	Nodes: 100_000, Targets: droppersTargets, warmUp: 3 * time.Minute, memory: oneFeed,
	play: playDroppers,
}

const (
	shirking     = 5 // one node in so many
	dropperItems = 5
	dropperEvery = 10 * time.Second
)

// playDroppers: nothing is due at droppers, and the publisher is none.
func playDroppers(r *run) error {
	r.parts = 2
	if err := r.randomDroppers(); err != nil {
		return err
	}
	return r.interiorDroppers()
}

// interiorDroppers plays a world in which every node that has children begins to
// drop when the tree has grown.
func (r *run) interiorDroppers() error {
	shirks := newBits(r.cfg.Nodes)
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+dropperItems*dropperEvery+judged, func(c *sim.TreesConfig) {
		c.Dropper = func(id overlay.ID) bool { return shirks.has(int(index(id))) }
	})
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	f.exempt = shirks
	if err := w.warmUp(); err != nil {
		return err
	}
	n := 0
	for i, id := range w.ids {
		if st, _ := w.Node(id).Status(f.group); len(st.Children) > 0 && int32(i) != f.publisher {
			shirks.set(i)
			n++
		}
	}
	for _, i := range w.rng.Perm(len(w.ids)) {
		if n < r.cfg.Nodes/shirking && !shirks.has(i) && int32(i) != f.publisher {
			shirks.set(i)
			n++
		}
	}
	err = w.items(dropperItems, dropperEvery)
	for i, name := range []string{"interior_within_5s", "interior_within_10s", "interior_within_60s"} {
		r.set(name, f.tally.cover.part(i))
	}
	return err
}

func (r *run) randomDroppers() error {
	shirks := newBits(r.cfg.Nodes)
	order := newRand(r.cfg.Seed).Perm(r.cfg.Nodes)
	for _, i := range order[:r.cfg.Nodes/shirking] {
		shirks.set(i)
	}
	shirks.set(int(rootOf(sim.NewTrees(sim.TreesConfig{}).GroupNamed("news"), r.cfg.Nodes)))
	publisher := order[len(order)-1]
	for k := len(order) - 2; shirks.has(publisher); k-- {
		publisher = order[k]
	}
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+dropperItems*dropperEvery+judged, func(c *sim.TreesConfig) {
		c.Dropper = func(id overlay.ID) bool { return shirks.has(int(index(id))) }
	})
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feedBy(int32(publisher), "news", w.everyone())
	f.exempt = shirks
	defer func() {
		r.deliveries(w)
		for i, name := range []string{"random_within_5s", "random_within_10s", "random_within_60s"} {
			r.set(name, f.tally.cover.part(i))
		}
		r.plot(delayFigure(f.tally.delays, w.unicast(f)))
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	return w.items(dropperItems, dropperEvery)
}

// rootOf returns the node nearest to a group's key.
func rootOf(g multicast.Group, nodes int) int32 {
	best := int32(0)
	key, at := g.Key(), named(0).Key()
	for i := int32(1); int(i) < nodes; i++ {
		if k := named(i).Key(); key.Closer(k, at) {
			best, at = i, k
		}
	}
	return best
}
