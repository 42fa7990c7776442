package scenario

import (
	"fmt"
	"math"
	"slices"
	"time"
)

var groups = Scenario{
	Name: "groups", About: "1,500 feeds, sizes falling with rank^-1.25 from everybody to 11 (Scribe)",
	Nodes: 100_000, Targets: groupsTargets, warmUp: 3 * time.Minute,
	memory: func(c Config) uint64 {
		members := 0
		for _, n := range zipfSizes(c.Nodes) {
			members += n
		}
		return uint64(c.Nodes)*nodeBytes + uint64(members)*memberBytes
	},
	play: playGroups,
}

// zipfSizes are the sizes of Scribe's groups (§V-A): of nodes·rank^-1.25,
// rounded, for 1,500 groups of 100,000 nodes. Fewer nodes have fewer groups, as
// many as there are of 11 members and more.
func zipfSizes(nodes int) []int {
	sizes := make([]int, min(int(math.Ceil(1500*math.Pow(float64(nodes)/100_000, 0.8))), 1500))
	for i := range sizes {
		sizes[i] = max(int(float64(float64(nodes)*math.Pow(float64(i+1), -1.25))+0.5), 11)
	}
	return sizes
}

const (
	groupItems = 2
	groupEvery = 30 * time.Second
	smallGroup = 20
)

func playGroups(r *run) error {
	w, err := r.newWorld(r.cfg.Nodes, r.cfg.WarmUp+groupItems*groupEvery+judged, nil)
	defer r.close(w)
	if err != nil {
		return err
	}
	for i, size := range zipfSizes(r.cfg.Nodes) {
		w.feed(fmt.Sprintf("feed %d", i+1), w.draw(size))
	}
	defer func() {
		r.deliveries(w)
		r.warmth(w)
		all := w.sum()
		r.plot(penaltyFigure(all.rad, all.rmd, "groups"))
	}()
	if err := w.warmUp(); err != nil {
		return err
	}
	s := r.edges(w)
	r.plot(childrenFigure(s.children))
	trees, unicast := w.stress()
	clear(w.load.sends)
	small := w.smallNoise()
	err = w.items(groupItems, groupEvery)
	r.links(trees, unicast, groupItems)
	r.sends(w)
	r.set("noise_share_small", small())
	return err
}

// draw draws members for a feed of the given size.
func (w *world) draw(size int) []int32 {
	if size >= len(w.ids) {
		return w.everyone()
	}
	chosen := newBits(len(w.ids))
	members := make([]int32, 0, size)
	for len(members) < size {
		if m := w.rng.IntN(len(w.ids)); !chosen.has(m) {
			chosen.set(m)
			members = append(members, int32(m))
		}
	}
	slices.Sort(members)
	return members
}

// sends reports how evenly payloads are sent.
func (r *run) sends(w *world) {
	per := make(spread, len(w.load.sends))
	for i, n := range w.load.sends {
		per[i] = float64(n)
	}
	if mean := per.mean(); mean > 0 {
		r.set("sends_p99_to_mean", per.quantile(0.99)/mean)
	}
}

// smallNoise counts, from now on, the payload of small feeds that goes to nodes
// that are not members and are not asked to keep it near the root.
func (w *world) smallNoise() func() float64 {
	var noise, all uint64
	before := w.load.onPayload
	w.load.onPayload = func(from, to int32, f *feed, p payload) {
		if before != nil {
			before(from, to, f, p)
		}
		if len(f.members) > smallGroup {
			return
		}
		all += uint64(p.size)
		if !p.leased && f.place(to) < 0 {
			noise += uint64(p.size)
		}
	}
	return func() float64 {
		if all == 0 {
			return math.NaN() // there are no small feeds
		}
		return float64(noise) / float64(all)
	}
}
