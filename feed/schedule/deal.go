package schedule

import (
	"math/bits"
	"slices"
	"time"
)

const (
	mostPast = 64 // polls remembered
	topRank  = 6  // of those who have not polled for longer than anybody remembers

	fairTurns = 4 // of its own, after which a node that is left out takes one

	// Trees remember a bounded number of sources that spoke in the last hour. Nobody
	// new takes a turn while as many have.
	mostInAnHour = 24
)

// past is the latest polls and who made them, the last one at the end.
type past []turn

func (p past) polled(at time.Duration, by Source) past {
	i := len(p)
	for i > 0 && p[i-1].at > at {
		i--
	}
	p = slices.Insert(p, i, turn{by, at})
	return slices.Delete(p, 0, max(len(p)-mostPast, 0))
}

// index is where somebody's last poll stands, -1 if it is not remembered.
func (p past) index(by Source) int {
	for i, t := range slices.Backward(p) {
		if t.by == by {
			return i
		}
	}
	return -1
}

// pollers is how many different ones have polled since a time.
func (p past) pollers(since time.Duration) int {
	who := map[Source]bool{}
	for _, t := range p {
		if t.at > since {
			who[t.by] = true
		}
	}
	return len(who)
}

// rank is how long somebody has waited since its last poll, by how many polls there
// were since: 0 for the latest few, one more for each doubling, topRank for whoever is
// not remembered.
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

// crowdedOut reports whether others have polled for long, all of whom polled more
// lately than this node: they want it fresher, or they want all turns. Either way one
// turn now and then is for the others to see for themselves, at the pace heard.
func (v *Volunteer) crowdedOut() bool {
	return v.last.ok && v.last.at >= v.fair+fairTurns*v.Spacing() && v.rank(v.cfg.Self) > 1
}

// lead is how long before a turn, at the pace heard, this node begins to claim it.
func (v *Volunteer) lead() time.Duration { return min(v.heard.pace()/4, longSpread) }

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
	return v.past.index(v.cfg.Self) < 0 && v.past.pollers(v.last.at-time.Hour) >= mostInAnHour
}
