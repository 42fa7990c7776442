package witness

import (
	"slices"
	"time"
)

// State is how an item stands.
type State uint8

// The states, as the package comment has them.
const (
	Unconfirmed State = iota
	Corroborated
	Disputed
	Contradicted
)

// String returns the state's name in lower case.
func (s State) String() string {
	if s > Contradicted {
		return "unknown state"
	}
	return [...]string{"unconfirmed", "corroborated", "disputed", "contradicted"}[s]
}

// State returns how an item stands; unconfirmed also if nobody spoke of it.
func (p *Panel) State(it Item) State {
	if d := p.docket[it]; d != nil {
		return d.state(p.cfg.K)
	}
	return Unconfirmed
}

// Seen reports whether this node saw an item at the origin itself.
func (p *Panel) Seen(it Item) bool {
	d := p.docket[it]
	return d != nil && d.own
}

// Tainted reports whether a liar listed an item.
func (p *Panel) Tainted(it Item) bool {
	d := p.docket[it]
	return d != nil && d.tainted
}

// docket is one item and who says what of it.
type docket struct {
	first   uint64    // number of the statement that listed it first
	arrived time.Time // of that statement
	taken   time.Time // the earliest answer that held it
	own     bool      // this node saw it
	tainted bool      // a liar listed it
	pro     voices
	contra  voices // asked later and did not see it
	refuted voices // were given the same document, and it is not in it
}

func (d *docket) state(k int) State {
	switch {
	case d.own:
		return Unconfirmed
	case d.refuted.own() || d.refuted.independent(k) >= k:
		return Contradicted
	case len(d.refuted) > 0 || len(d.contra) > 0 || d.tainted && len(d.pro) == 0:
		return Disputed
	case d.pro.independent(k) >= k:
		return Corroborated
	}
	return Unconfirmed
}

// changes notes the states of items before they change.
type changes struct {
	p     *Panel
	was   map[Item]State
	order []Item
}

// at is called before anything is noted about an item.
func (c *changes) at(it Item) {
	if _, noted := c.was[it]; !noted {
		c.was[it] = c.p.State(it)
		c.order = append(c.order, it)
	}
}

func (c *changes) list() (changed []Item) {
	for _, it := range c.order {
		if c.p.State(it) != c.was[it] {
			changed = append(changed, it)
		}
	}
	return changed
}

// list enters the items of a statement, and returns those that nobody listed before.
func (p *Panel) list(now time.Time, h *held, c *changes) (fresh []Item) {
	for _, it := range h.Items {
		c.at(it)
		d := p.docket[it]
		if d == nil {
			d = &docket{first: p.heard, arrived: now, taken: h.Taken}
			p.docket[it] = d
			p.order = append(p.order, it)
			fresh = append(fresh, it)
		}
		if h.Taken.Before(d.taken) {
			d.taken = h.Taken
		}
		d.own = d.own || h.Own
		d.contra.drop(h.voice)
		d.refuted.drop(h.voice)
		d.pro.add(h.voice)
	}
	return fresh
}

// dispute enters what a statement says against items that it does not list. before
// is what its source listed the last time.
func (p *Panel) dispute(now time.Time, h *held, before []Item, c *changes) {
	if h.Partial {
		return
	}
	reach := p.reach(h)
	for _, it := range slices.Backward(p.order) {
		d := p.docket[it]
		if now.Sub(d.arrived) > p.cfg.Trial {
			break // what came before it is older
		}
		other, named := lists(h.Items, it.Key)
		switch {
		case named && other == it, has(before, it), !h.Taken.After(d.taken):
		case named, reach < d.first, len(h.Items) == 0:
			c.at(it)
			d.contra.add(h.voice)
		}
	}
}

// reach is how far back the document of a statement goes: when the first of its
// items came. What came later and is not in it was not dropped off its end.
func (p *Panel) reach(h *held) uint64 {
	reach := p.heard
	for _, it := range h.Items {
		reach = min(reach, p.docket[it].first)
	}
	return reach
}

// disputed enters what later answers say against the fresh items of a statement that
// came late.
func (p *Panel) disputed(h *held, fresh []Item, c *changes) {
	for i := range p.latest {
		o := &p.latest[i]
		if o.Partial || !o.Taken.After(h.Taken) {
			continue
		}
		for _, it := range fresh {
			if !has(o.Items, it) {
				c.at(it)
				p.docket[it].contra.add(o.voice)
			}
		}
	}
}

// refute enters where a statement and others are about the same document and differ.
func (p *Panel) refute(h *held, c *changes) {
	for i := range p.latest {
		o := &p.latest[i]
		if !same(h, o) {
			continue
		}
		p.missing(h, o, c)
		p.missing(o, h, c)
	}
}

// missing enters what one lists of a document and the other one refutes.
func (p *Panel) missing(h, by *held, c *changes) {
	for _, it := range h.Items {
		if d := p.docket[it]; d != nil && !has(by.Items, it) {
			c.at(it)
			d.refuted.add(by.voice)
		}
	}
}

// same reports whether two statements are about the same document, and about all of
// it.
func same(a, b *held) bool {
	if a.Partial || b.Partial {
		return false
	}
	return a.Body == b.Body && a.Body != [32]byte{} || a.Strong && b.Strong && a.Validators == b.Validators
}

func agree(a, b *held) bool { return slices.Equal(a.Items, b.Items) }
