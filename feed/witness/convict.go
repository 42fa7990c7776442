package witness

import "slices"

// convict finds the liars among those whose statements are about the same document
// as a new one.
func (p *Panel) convict(h *held, c *changes) (liars []Liar) {
	var suspects []Source
	for i := range p.latest {
		if o := &p.latest[i]; !o.Own && same(h, o) {
			suspects = append(suspects, o.By) // h itself among them
		}
	}
	for _, by := range suspects {
		i := slices.IndexFunc(p.latest, func(o held) bool { return !o.Own && o.By == by })
		if i < 0 {
			continue // caught meanwhile
		}
		if own, lies := p.lies(&p.latest[i]); lies {
			liars = append(liars, Liar{By: by, Own: own})
			p.expel(by, c)
		}
	}
	return liars
}

// lies reports whether others contradict a statement so that its source is to blame,
// and whether this node itself does.
func (p *Panel) lies(x *held) (own, lies bool) {
	var about []*held // the same document
	var mine *held
	for i := range p.latest {
		switch o := &p.latest[i]; {
		case !same(x, o):
		case o.Own:
			mine = o
		case o.By != x.By:
			about = append(about, o)
		}
	}
	if mine != nil {
		backed := slices.ContainsFunc(about, func(o *held) bool { return agree(o, mine) })
		return true, !agree(x, mine) && (x.Body == mine.Body || backed)
	}
	for _, o := range about {
		if agree(o, x) {
			continue
		}
		var with voices
		for _, other := range about {
			if agree(o, other) {
				with.add(other.voice)
			}
		}
		if with.independent(p.cfg.K) >= p.cfg.K {
			return false, true
		}
	}
	return false, false
}

// expel forgets what a source said, and remembers that it is not to be heard.
func (p *Panel) expel(by Source, c *changes) {
	if !p.liars[by] {
		p.liars[by] = true
		p.jailed = append(p.jailed, by)
	}
	if len(p.jailed) > mostLiars {
		delete(p.liars, p.jailed[0])
		p.jailed = p.jailed[1:]
	}
	said, _ := p.take(by, false)
	for _, it := range p.order {
		d := p.docket[it]
		listed := d.pro.has(by) || has(said.Items, it)
		if !listed && !d.contra.has(by) && !d.refuted.has(by) {
			continue
		}
		c.at(it)
		d.tainted = d.tainted || listed
		gone := voice{by: by}
		d.pro.drop(gone)
		d.contra.drop(gone)
		d.refuted.drop(gone)
	}
}
