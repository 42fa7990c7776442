package scenario

import "slices"

// sum adds the tallies of all feeds.
func (w *world) sum() tally {
	all := tally{worst: 1}
	for _, f := range w.feeds {
		t := &f.tally
		if t.judged > 0 {
			all.worst = min(all.worst, t.worst)
		}
		all.judged += t.judged
		all.published += t.published
		all.cover.plus(t.cover)
		all.delays = append(all.delays, t.delays...)
		all.hops = max(all.hops, t.hops)
		if len(w.feeds) == 1 {
			all.rad, all.rmd = slices.Clone(t.rad), slices.Clone(t.rmd)
			continue
		}
		all.rad.add(t.rad.mean())
		all.rmd.add(t.rmd.mean())
	}
	return all
}

// deliveries reports how the items judged so far reached their members.
func (r *run) deliveries(w *world) {
	t := w.sum()
	if t.judged == 0 {
		return
	}
	r.set("rad_median", t.rad.median())
	r.set("rad_max", t.rad.max())
	r.set("rmd_median", t.rmd.median())
	r.set("rmd_max", t.rmd.max())
	r.set("delay_p50_s", t.delays.median())
	r.set("delay_p99_s", t.delays.quantile(0.99))
	r.set("delay_max_s", t.delays.max())
	r.set("hops_max", float64(t.hops))
	r.set("items", float64(t.judged))
	r.set("due", float64(t.cover.due))
	r.set("coverage_5s", t.cover.part(0))
	r.set("coverage_10s", t.cover.part(1))
	r.set("coverage", t.cover.part(2))
	r.set("coverage_worst_item", t.worst)
	r.payloads(w)
}

// payloads reports what was sent since the warm-up.
func (r *run) payloads(w *world) {
	a := w.load.all().minus(w.load.warmUp)
	if a.deliveries == 0 {
		return
	}
	r.set("redundant_copies", float64(a.toMembers)/float64(a.deliveries)-1)
	r.set("noise_share", ratio(a.noise, a.payload))
}

// warmth reports what the warm-up took, once it is over.
func (r *run) warmth(w *world) {
	nodes := float64(len(w.ids))
	s := &w.settling
	if w.load.warmUp.messages == 0 {
		return // nobody knows yet what it ends at
	}
	if k := settled(s.penalties); k < len(s.penalties) {
		r.set("warmup_rounds", float64(k))
		r.set("messages_per_node_warmup", float64(s.sent[k])/nodes)
	}
	r.set("messages_per_node_warmup_all", float64(w.load.warmUp.messages)/nodes)
	r.set("busiest_requests_per_round", float64(w.load.busiest))
}

// edges reports the shape of the trees as they are now.
func (r *run) edges(w *world) shape {
	s := w.shape()
	r.set("children_max", float64(most(s.children)))
	r.set("children_group_max", float64(s.childrenGroup))
	r.set("neighbours_max", float64(most(s.neighbours)))
	r.set("roots", float64(s.roots))
	r.set("detached", float64(s.detached))
	var some spread
	for _, n := range s.children {
		if n > 0 {
			some.add(float64(n))
		}
	}
	r.set("children_mean", some.mean())
	return s
}

// links reports the stress of links, for one item of each feed.
func (r *run) links(trees, unicast *stress, perFeed int) {
	if trees == nil || perFeed == 0 {
		return
	}
	loaded, mean := trees.counts()
	naive, _ := unicast.counts()
	for i := range loaded {
		loaded[i] /= float64(perFeed)
	}
	for i := range naive {
		naive[i] /= float64(perFeed)
	}
	r.set("link_stress_mean", mean/float64(perFeed))
	r.set("link_stress_max", loaded.max())
	r.set("link_stress_unicast_max", naive.max())
	r.plot(stressFigure(loaded, naive))
}
