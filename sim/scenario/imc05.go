package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/feedtree/feedtree/sim"
)

var imc05 = Scenario{
	Name: "imc05", About: "feeds as measured by Liu, Ramasubramanian and Sirer (IMC 2005): 55 % hourly, 25 % silent for days",
	Nodes: 2000, Targets: imc05Targets, warmUp: 3 * time.Minute, span: 3 * time.Hour,
	memory: func(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + 5*memberBytes) },
	play:   playIMC05,
}

// What the study found: more than half of the feeds change every hour, a
// quarter not within five days; most documents are below 10 KB, with a heavy
// tail; subscriptions follow a power law. Items of those that change less often
// come once a day in the mean.
const (
	hourly     = 0.55
	silentDays = 0.25
	bodyMedian = 2 << 10
	bodySigma  = 1.2     // of the logarithm: a tenth above 9.5 KB, one in a thousand above 80
	bodyMost   = 1 << 20 // what a node takes at all
)

func playIMC05(r *run) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+r.cfg.Span+judged, func(c *sim.TreesConfig) { c.TTL = time.Hour })
	defer r.close(w)
	if err != nil {
		return err
	}
	w.bodies = w.bodySize
	for i := range r.cfg.Nodes / 10 {
		size := max(int(float64(r.cfg.Nodes)*math.Pow(float64(i+1), -1.25)), 11)
		w.feed(fmt.Sprintf("feed %d", i+1), w.draw(size))
	}
	defer func() {
		r.deliveries(w)
		a := w.load.all().minus(w.load.warmUp)
		if past := w.Now() - r.cfg.WarmUp; past > 0 && a.deliveries > 0 {
			r.set("messages_per_item_member", float64(a.messages)/float64(a.deliveries))
			r.set("overhead_bytes", float64(a.bytes)/float64(a.delivered))
			r.set("bytes_per_node_hour", float64(a.bytes)/float64(len(w.ids))/past.Hours())
			r.set("control_msgs_per_node_s", float64(a.control)/float64(len(w.ids))/past.Seconds())
		}
		all := w.sum()
		r.plot(penaltyFigure(all.rad, all.rmd, "groups"))
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	for _, f := range w.feeds {
		mean := 24 * time.Hour
		switch u := w.rng.Float64(); {
		case u < silentDays:
			continue
		case u < silentDays+hourly:
			mean = time.Hour
		}
		w.posts(f, mean)
	}
	return w.advance("items", r.cfg.WarmUp+r.cfg.Span+judged)
}

// posts lets a feed publish, at random times, until the span is over.
func (w *world) posts(f *feed, mean time.Duration) {
	last := w.run.cfg.WarmUp + w.run.cfg.Span
	at := w.Now() + time.Duration(w.rng.ExpFloat64()*float64(mean))
	if at > last {
		return
	}
	w.At(at, func() {
		w.publish(f)
		w.posts(f, mean)
	})
}

// bodySize draws the size of an item.
func (w *world) bodySize() int {
	return min(int(bodyMedian*math.Exp(bodySigma*w.rng.NormFloat64())), bodyMost)
}
