package scenario

import (
	"time"

	"github.com/feedtree/feedtree/sim"
)

var static = Scenario{
	Name: "static", About: "one feed that every node subscribes to, and nobody goes",
	Nodes: 100_000, Targets: staticTargets, warmUp: 150 * time.Second, memory: oneFeed,
	play: func(r *run) error { return r.still(nil) },
}

var serial = Scenario{
	Name: "serial", About: "the same with 4 KB copies that leave in turn at 20 Mbit/s",
	Nodes: 100_000, Targets: serialTargets, warmUp: 150 * time.Second, memory: oneFeed,
	play: func(r *run) error { return r.still(func(c *sim.TreesConfig) { c.Net.Upload = 20_000_000 }) },
}

const (
	stillItems = 10
	stillEvery = 5 * time.Second
)

// still plays one feed of everybody.
func (r *run) still(change func(*sim.TreesConfig)) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+(stillItems+1)*stillEvery, change)
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	defer func() {
		r.deliveries(w)
		r.warmth(w)
		r.plot(settlingFigure(w.settling.penalties))
		if f.tally.judged > 0 {
			r.plot(delayFigure(f.tally.delays, w.unicast(f)))
		}
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	s := r.edges(w)
	r.plot(childrenFigure(s.children))
	trees, unicast := w.stress()
	err = w.allHeld(stillItems, stillEvery)
	r.links(trees, unicast, f.tally.judged)
	return err
}

// unicast lists the delays of messages straight from a feed's publisher to a
// sample of its members, in seconds.
func (w *world) unicast(f *feed) spread {
	var direct spread
	step := max(1, len(f.members)/sampled)
	for i := 0; i < len(f.members); i += step {
		if m := f.members[i]; m != f.publisher {
			direct.add(w.run.latency.direct(w.spot[f.publisher], w.spot[m]).Seconds())
		}
	}
	return direct
}
