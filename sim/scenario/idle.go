package scenario

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/sim"
)

var idle = Scenario{
	Name: "idle", About: "every node in 1, 100 or 5,000 feeds and nothing is published: what that costs",
	Nodes: 200, Targets: idleTargets, warmUp: 10 * time.Minute, span: 5 * time.Minute,
	memory: func(c Config) uint64 { return uint64(c.Nodes) * (nodeBytes + uint64(c.Feeds)*memberBytes) },
	play:   playIdle,
}

// An audience is who subscribes to what in an idle world.
type audience struct {
	name     string
	feeds    int // per node
	disjoint bool
}

const ownAudience = 20 // members of a feed where audiences are disjoint

func playIdle(r *run) error {
	some, many := min(100, r.cfg.Feeds), r.cfg.Feeds
	all := []audience{
		{"control_1_feed", 1, false}, {"control_100_feeds", some, false}, {"control_100_disjoint", some, true},
		{"control_5000_feeds", many, false}, {"control_5000_disjoint", many, true},
	}
	r.parts = len(all)
	for _, a := range all {
		if err := r.idling(a); err != nil {
			return err
		}
	}
	r.set("control_growth", max(r.result.Measures["control_100_feeds"], r.result.Measures["control_5000_feeds"])/
		r.result.Measures["control_1_feed"])
	return nil
}

// idling plays one world in which nothing is published: not even heartbeats
// are due.
func (r *run) idling(a audience) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+r.cfg.Span, func(c *sim.TreesConfig) { c.TTL = 24 * time.Hour })
	defer r.close(w)
	if err != nil {
		return err
	}
	groups := a.feeds
	if a.disjoint {
		groups = max(1, a.feeds*r.cfg.Nodes/ownAudience)
	}
	for g := range groups {
		members := w.everyone()
		if a.disjoint {
			members = w.draw(ownAudience)
		}
		w.feed(fmt.Sprintf("feed %d", g+1), members)
	}
	if err := w.warmUp(); err != nil {
		return err
	}
	err = w.advance("idle", r.cfg.WarmUp+r.cfg.Span)
	sent := w.load.all().minus(w.load.warmUp)
	if past := w.Now() - r.cfg.WarmUp; past > 0 {
		r.set(a.name, float64(sent.control)/float64(len(w.ids))/past.Seconds())
	}
	s := w.shape()
	name := "neighbours_max"
	if a.disjoint {
		name = "neighbours_disjoint_max"
	}
	r.set(name, max(r.result.Measures[name], float64(most(s.neighbours))))
	return err
}
