package scenario

import (
	"time"
)

var repair = Scenario{
	Name: "repair", About: "one feed; parents die, in silence or closing, and items follow: until their orphans hold it",
	Nodes: 100_000, Targets: repairTargets, warmUp: 3 * time.Minute, memory: oneFeed,
	play: playRepair,
}

const (
	repairTimes = 3 // of each kind of death
	repairEvery = judged + 10*time.Second
	mourned     = 50 // of so many parents one dies
)

func playRepair(r *run) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+2*repairTimes*repairEvery+judged, nil)
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	var silent, closed spread
	orphaned := 0
	defer func() {
		r.deliveries(w)
		for _, s := range []struct {
			name string
			took *spread
		}{{"repair", &silent}, {"repair_closed", &closed}} {
			r.set(s.name+"_p50_s", s.took.median())
			r.set(s.name+"_p99_s", s.took.quantile(0.99))
			r.set(s.name+"_max_s", s.took.max())
		}
		r.set("orphans", float64(orphaned))
		r.plot(Figure{
			Name: "repair", Title: "An item published after a parent died, until its orphans hold it",
			X: "seconds after publishing", Y: "cumulative part of orphans", Unit: true,
			Curves: []Curve{cumulative("silent death", silent, 1), cumulative("connection seen to close", closed, 1)},
		})
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	for k := range 2 * repairTimes {
		die, took := w.crash, &silent
		if k%2 == 1 {
			die, took = w.hangUp, &closed
		}
		orphans := w.orphan(f, die)
		orphaned += len(orphans)
		w.onJudged = []func(*feed, *item){func(f *feed, it *item) {
			for _, o := range orphans {
				*took = append(*took, heldAfter(it, f.place(o)))
			}
		}}
		w.pair(f, w.Now()+gasp)
		if err := w.advance("deaths and items", w.Now()+repairEvery); err != nil {
			return err
		}
	}
	return nil
}

// heldAfter is how long a member took to hold an item, a minute if it does not.
func heldAfter(it *item, member int) float64 {
	if it.arrival[member] < 0 {
		return judged.Seconds()
	}
	return float64(it.arrival[member])
}

// orphan lets one in fifty of a feed's parents die, the publisher apart, and
// returns the children that live on.
func (w *world) orphan(f *feed, die func(int32)) []int32 {
	var parents []int32
	for _, m := range f.members {
		if st, ok := w.status(m, f); ok && len(st.Children) > 0 && m != f.publisher {
			parents = append(parents, m)
		}
	}
	w.rng.Shuffle(len(parents), func(i, j int) { parents[i], parents[j] = parents[j], parents[i] })
	dead := newBits(len(w.ids))
	parents = parents[:(len(parents)+mourned-1)/mourned]
	var orphans []int32
	for _, p := range parents {
		dead.set(int(p))
		st, _ := w.status(p, f)
		for _, c := range st.Children {
			orphans = append(orphans, index(c))
		}
	}
	for _, p := range parents {
		die(p)
	}
	alive := orphans[:0]
	for _, o := range orphans {
		if !dead.has(int(o)) && o != f.publisher {
			alive = append(alive, o)
		}
	}
	return alive
}
