package scenario

import (
	"fmt"
	"time"
)

var kill = Scenario{
	Name: "kill", About: "one feed; half of the nodes, then 70 % of others, die at once and two items follow",
	Nodes: 100_000, Targets: killTargets, warmUp: 3 * time.Minute, memory: oneFeed,
	play: playKill,
}

// gasp is how long after a death an item follows: nobody can have noticed.
const gasp = 100 * time.Millisecond

func playKill(r *run) error {
	r.parts = 2
	for _, percent := range []int{50, 70} {
		if err := r.killing(percent); err != nil {
			return err
		}
	}
	return nil
}

// killing plays a world in which that part of the nodes dies in silence. The
// publisher, drawn at random like everybody, is among the survivors.
func (r *run) killing(percent int) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+gasp+together+judged, nil)
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	if err := w.warmUp(); err != nil {
		return err
	}
	for _, i := range w.rng.Perm(len(w.ids))[:len(w.ids)*percent/100] {
		if int32(i) != f.publisher {
			w.crash(int32(i))
		}
	}
	w.pair(f, w.Now()+gasp)
	if err := w.advance("after the deaths", w.Now()+gasp+together+judged); err != nil {
		return err
	}
	name := fmt.Sprintf("kill%d", percent)
	r.set(name+"_within_10s", f.tally.cover.part(1))
	r.set(name+"_within_60s", f.tally.cover.part(2))
	r.set(name+"_last_s", f.tally.delays.max())
	fig := delayFigure(f.tally.delays, nil)
	fig.Name, fig.Title, fig.Y = name, fmt.Sprintf("Delay after %d %% of the nodes died at once", percent), "cumulative part of survivors reached"
	fig.Curves = fig.Curves[:1]
	r.plot(fig)
	return nil
}
