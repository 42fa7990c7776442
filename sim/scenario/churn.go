package scenario

import (
	"math"
	"time"
)

var churn = Scenario{
	Name: "churn", About: "one feed; nodes go, half of them in silence, and come back: after an hour in the median, or --session",
	Nodes: 100_000, Targets: churnTargets, warmUp: 3 * time.Minute, span: time.Hour, memory: manyLives,
	play: playChurn,
}

const (
	churnEvery = time.Minute
	// away is how long a node is gone in the mean, in mean sessions.
	away = 0.1
)

func playChurn(r *run) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+r.cfg.Span+judged, nil)
	defer r.close(w)
	if err != nil {
		return err
	}
	f := w.feed("news", w.everyone())
	deaths := 0
	defer func() {
		r.deliveries(w)
		r.warmth(w)
		r.set("deaths", float64(deaths))
		r.plot(timeFigure(f.tally.history))
		r.plot(lagFigure(f.tally.history))
	}()
	w.At(joined(len(w.ids)), func() {
		for i := range w.ids {
			w.live(int32(i), &deaths)
		}
	})
	if err := w.warmUp(); err != nil {
		return err
	}
	for at := w.Now(); at < r.cfg.WarmUp+r.cfg.Span; at += churnEvery {
		w.pair(f, at)
	}
	return w.advance("items", r.cfg.WarmUp+r.cfg.Span+judged)
}

// together is how far apart two items of a pair are.
const together = 50 * time.Millisecond

// pair publishes two items at once, as feeds do: who missed the first must find
// it in a buffer behind the second.
func (w *world) pair(f *feed, at time.Duration) {
	w.At(at, func() { w.publish(f) })
	w.At(at+together, func() { w.publish(f) })
}

// live lets a node go and come back for ever, after times drawn from
// exponential distributions. Publishers stay: only what they publish is asked
// after.
func (w *world) live(i int32, deaths *int) {
	for _, f := range w.feeds {
		if f.publisher == i {
			return
		}
	}
	mean := float64(w.run.cfg.Session) / math.Ln2
	stay := time.Duration(w.rng.ExpFloat64() * mean)
	w.At(w.Now()+stay, func() {
		*deaths++
		if w.rng.IntN(2) == 0 {
			w.crash(i)
		} else {
			w.shut(i)
		}
		w.At(w.Now()+time.Duration(w.rng.ExpFloat64()*mean*away), func() {
			w.up.set(int(i))
			w.Restart(w.ids[i])
			w.live(i, deaths)
		})
	})
}

// crash takes a node away in silence.
func (w *world) crash(i int32) {
	w.went(i)
	w.Crash(w.ids[i])
}

// shut takes a node away in order: its neighbours are told.
func (w *world) shut(i int32) {
	w.went(i)
	w.Shut(w.ids[i])
}

// hangUp lets a node die so that its peers see their connections close.
func (w *world) hangUp(i int32) {
	w.went(i)
	w.Net.Close(w.ids[i])
}

func (w *world) went(i int32) {
	w.up.unset(int(i))
	for _, f := range w.feeds {
		for _, it := range f.open {
			if m := f.place(i); m >= 0 {
				it.stayed.unset(m)
			}
		}
	}
}
