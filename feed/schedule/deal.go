package schedule

import (
	"math/bits"
	"slices"
	"time"
)

const (
	mostPast = 64 // pollers remembered
	topRank  = 6  // of those who have not polled for longer than anybody remembers

	// Trees remember a bounded number of sources that spoke in the last hour. Nobody
	// new takes a turn while as many have.
	mostInAnHour = 24
)

// past is who polled, each once, whoever polled last at the end.
type past []turn

func (p past) polled(at time.Duration, by Source) past {
	if i := p.index(by); i >= 0 {
		if at < p[i].at {
			return p // an old word
		}
		p = slices.Delete(p, i, i+1)
	}
	i := len(p)
	for i > 0 && p[i-1].at > at {
		i--
	}
	p = slices.Insert(p, i, turn{by, at})
	return slices.Delete(p, 0, max(len(p)-mostPast, 0))
}

func (p past) index(by Source) int {
	return slices.IndexFunc(p, func(t turn) bool { return t.by == by })
}

// rank is how long somebody has waited since its last poll, by how many others have
// polled since: 0 for the latest few, one more for each doubling, topRank for whoever
// is not remembered.
func (v *Volunteer) rank(who Source) int {
	i := v.past.index(who)
	if i < 0 {
		return topRank
	}
	return min(bits.Len(uint((len(v.past)-1-i)/v.crewSize())), topRank-1)
}

// outranks reports whether another one's claim does not count against this node: it
// comes after this node's own was left to be contradicted, or before the turn by one
// who polled more lately, so that nobody gets all turns by always asking first; of
// equals that crossed, the one of the lower key counts.
func (v *Volunteer) outranks(at time.Duration, by Source) bool {
	if v.cfg.Off || v.own.untold || v.alone {
		return false
	}
	own, other := v.rank(v.cfg.Self), v.rank(by)
	switch {
	case v.own.claimed && at >= v.own.claim+v.settle():
		return true
	case v.own.claimed && own == other:
		return compare(v.cfg.Self, by) < 0
	case v.own.claimed:
		return own > other
	}
	return own > other && at < v.turn() && v.what == Claim && v.next < v.turn()
}

// draw is when in the time for claims this node makes its own, in [0, 1): those who
// have waited longest first, and among them by chance.
func (v *Volunteer) draw() float64 {
	if r := v.rank(v.cfg.Self); r < topRank {
		return 0.5 + (float64(topRank-1-r)+v.round.takeover)/(2*topRank)
	}
	return v.round.takeover / 2
}

// crowded reports whether so many have polled in an hour that this node, if it is not
// among them, had better not.
func (v *Volunteer) crowded() bool {
	if v.past.index(v.cfg.Self) >= 0 || len(v.past) < mostInAnHour {
		return false
	}
	return v.past[len(v.past)-mostInAnHour].at > v.last.at-time.Hour
}
