package schedule

import (
	"math"
	"time"
)

const (
	jitterPart = 50               // of a spacing is the most that a poll is late by chance
	longSlot   = 45 * time.Second // a poll of a slow origin, and the way of its outcome
	longSettle = 5 * time.Second  // the way of a word to everybody
	longSpread = 2 * time.Minute
	lateness   = 7.0 // ln of the number of nodes that a spread is for
)

// plan sets what is next, after anything that matters to it changed.
func (v *Volunteer) plan(now time.Duration) {
	p := v.Spacing()
	switch {
	case v.own.untold:
		v.next, v.what = v.own.at+p/10+part(p*4/10, v.round.takeover), Announce
		return
	case v.alone:
		v.next, v.what = max(v.turn(), v.start)+part(min(p/10, 2*time.Second), v.round.jitter), Poll
	case v.cfg.Off:
		v.next, v.what = v.fallback(), Poll
	case v.Live(now):
		v.next, v.what = v.live+part(v.spread(), v.round.takeover), Claim
	default:
		v.next, v.what = v.shared()
	}
	if v.own.ever {
		v.next = max(v.next, v.own.at+v.apart())
	}
	v.next = max(v.next, v.after)
}

// shared is when it is this node's turn among others. Whoever's turn it is by the
// order of the crew just polls; everybody else claims the turn first.
func (v *Volunteer) shared() (at time.Duration, what Action) {
	p := v.Spacing()
	turn := v.turn()
	switch {
	case v.crowdedOut() && v.own.claimed:
		return v.own.claim + v.lead()/8, Poll
	case v.crowdedOut():
		return v.last.at + v.heard.pace() - v.lead() + part(v.lead()/2, v.round.takeover), Claim
	case v.own.claimed:
		return max(turn, v.own.claim+v.settle()), Poll
	}
	if !v.last.ever || v.last.at < v.start-p { // nobody was heard since the program started
		turn = max(turn, v.start+min(p, quickStart))
	}
	if v.ahead.ever {
		turn += v.grace()
	}
	late := turn + p/jitterPart
	rank, member := v.crew.rank(v.cfg.Self)
	switch {
	case member && rank == 0 && turn >= v.start:
		return turn + part(p/jitterPart, v.round.jitter), Poll
	case member:
		return late + time.Duration(rank)*v.slot(), Claim
	case len(v.crew) > 0 && v.last.ok && !v.ahead.ever && !v.crowded():
		return turn - v.settle() - v.spread() + part(v.spread(), v.draw()), Claim
	}
	return late + time.Duration(len(v.crew))*v.slot() + part(v.spread(), v.round.takeover), Claim
}

// turn is when the origin is to be asked again, by whomever. Requests without an
// outcome double the wait: for the origin all who poll are as one client.
func (v *Volunteer) turn() time.Duration {
	switch {
	case v.alone && v.own.fails > 0:
		return v.own.at + v.apart()
	case !v.last.ever && v.own.ever:
		return v.own.at + v.Spacing()
	case !v.last.ever:
		return v.start
	}
	wait := v.Spacing()
	for range v.fails - 1 {
		if wait >= longestPause {
			break
		}
		wait = min(2*wait, max(longestPause, v.Spacing()))
	}
	return v.last.at + wait
}

// fallback is when a node that does not volunteer asks for itself: after three
// intervals of silence, and then once in each until somebody is heard.
func (v *Volunteer) fallback() time.Duration {
	t := v.cfg.Interval
	switch {
	case v.own.ever && v.last.ever && v.last.by == v.cfg.Self && v.last.at > v.start:
		return v.own.at + t + part(t/jitterPart, v.round.jitter)
	case v.last.ever:
		return max(v.last.at, v.own.at) + 3*t + part(t/2, v.round.jitter)
	case v.own.ever:
		return v.own.at + 3*t + part(t/2, v.round.jitter)
	}
	return v.start + min(3*t, quickStart) + part(min(t/2, 2*quickStart), v.round.jitter)
}

// apart is how long after its own request this node may ask again. A request that
// reached nobody has cost nobody anything; NotBefore says more, if there is more to
// say.
func (v *Volunteer) apart() time.Duration {
	if v.own.fails > 0 {
		return v.Spacing() / 12
	}
	return v.Spacing()
}

// slot is what the next of the crew waits for the one before.
func (v *Volunteer) slot() time.Duration {
	return min(v.Spacing()/time.Duration(4*v.crewSize()), longSlot)
}

// grace is what whoever claimed a turn has to ask and to tell what it found: claims are
// seldom in vain, and a turn that is asked for twice costs the origin a request.
func (v *Volunteer) grace() time.Duration { return min(v.Spacing()/2, longSlot) }

// settle is how long a claim is left to be contradicted.
func (v *Volunteer) settle() time.Duration { return min(v.Spacing()/32, longSettle) }

// spread is how widely in time those who see the same silence speak.
func (v *Volunteer) spread() time.Duration { return min(v.Spacing()/8, longSpread) }

// late is a share of a spread for a number in [0, 1): late for most, so that of a
// thousand the first one is heard before the second begins (Nonnenmacher and
// Biersack, INFOCOM'98: exponentially distributed timers).
func late(x float64) float64 {
	return math.Log(1+x*(math.Exp(lateness)-1)) / lateness
}

func part(d time.Duration, of float64) time.Duration { return time.Duration(float64(d) * of) }
