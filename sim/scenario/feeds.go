package scenario

import (
	"fmt"
	"slices"
	"time"
)

var feeds = Scenario{
	Name: "feeds", About: "one node in 5,000 feeds, twenty others in each",
	Nodes: 2000, Targets: feedsTargets, warmUp: 3 * time.Minute, span: 10 * time.Minute,
	memory: func(c Config) uint64 {
		return uint64(c.Nodes)*nodeBytes + uint64(c.Feeds*(ownAudience+1))*memberBytes
	},
	play: playFeeds,
}

// playFeeds: node 0 is in every feed. Each publishes once within the span. With more feeds
// than neighbours node 0 stays apart from some, which it would poll: what comes to it is
// counted by itself, and coverage is that of the others.
func playFeeds(r *run) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+r.cfg.Span+judged, nil)
	defer r.close(w)
	if err != nil {
		return err
	}
	heavy := newBits(r.cfg.Nodes)
	heavy.set(0)
	for i := range r.cfg.Feeds {
		members := w.draw(ownAudience)
		if !slices.Contains(members, 0) {
			members = append([]int32{0}, members...)
		}
		w.feed(fmt.Sprintf("feed %d", i+1), members).exempt = heavy
	}
	var got cover
	w.onJudged = append(w.onJudged, func(f *feed, it *item) {
		if f.publisher == 0 {
			return
		}
		if it.arrival[0] >= 0 {
			got.hold(time.Duration(heldAfter(it, 0) * float64(time.Second)))
		} else {
			got.miss()
		}
	})
	defer func() {
		r.deliveries(w)
		r.set("heavy_coverage", got.part(len(horizons)-1))
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	s := r.edges(w)
	r.set("heavy_feeds", float64(len(w.feeds)))
	r.set("heavy_children", float64(s.children[0]))
	r.set("heavy_neighbours", float64(s.neighbours[0]))
	r.set("heavy_apart", float64(s.apart[0]))
	r.plot(childrenFigure(s.children))
	w.load.perNode = make([]uint32, len(w.ids))
	err = w.items(1, r.cfg.Span)
	if past := w.Now() - r.cfg.WarmUp; past > 0 {
		r.set("heavy_control_per_s", float64(w.load.perNode[0])/past.Seconds())
		sent := w.load.all().minus(w.load.warmUp)
		r.set("control_msgs_per_node_s", float64(sent.control)/float64(len(w.ids))/past.Seconds())
	}
	return err
}
