package schedule

import "time"

// plan sets what is next, after anything that matters to it changed.
func (v *Volunteer) plan(now time.Duration) {
	t := v.cfg.Interval
	switch {
	case v.own.mine:
		v.next, v.what = v.own.at+t-part(t/10, v.own.early), Poll
	case v.own.untold:
		v.next, v.what = v.own.at+t/10+v.upTo(t*4/10), Announce
		return
	default:
		v.next, v.what = max(v.silent(), now)+v.upTo(v.spread()), Poll
	}
	if v.own.ever {
		v.next = max(v.next, v.own.at+t-t/10)
	}
	v.next = max(v.next, v.after)
	if v.Live(now) {
		v.next = max(v.next, v.live+v.upTo(t/2))
	}
}

// silent is when fewer outcomes than wanted will have been heard for too long.
// A program that starts long after the last outcome listens for a moment first.
func (v *Volunteer) silent() time.Duration {
	t := v.cfg.Interval
	patience := t + v.grace()
	switch {
	case v.alone:
		patience = t - t/10
	case v.cfg.Off:
		patience = 3 * t
	}
	listen := v.start + min(patience, quickStart)
	if v.alone {
		listen = v.start
	}
	if ref, ok := v.reference(); ok {
		return max(ref+patience, listen)
	}
	return listen
}

// reference is the outcome whose age counts: the Nth latest, or the own one.
func (v *Volunteer) reference() (time.Duration, bool) {
	if len(v.outcomes) == v.cfg.Overload {
		return v.outcomes[0], true
	}
	return v.own.at, v.own.ever
}

// spread is how widely in time those who see the same silence begin to poll.
// Alone there is nobody to be spread from. After a restart few begin at once,
// and somebody may be waiting for news.
func (v *Volunteer) spread() time.Duration {
	t := v.cfg.Interval
	ref, ok := v.reference()
	switch {
	case v.alone:
		return min(t/10, 2*time.Second)
	case !ok || ref < v.start-t:
		return min(t/2, 2*quickStart)
	}
	return t / 2
}

// backoff is how long to leave an origin alone that failed so often in a row.
func (v *Volunteer) backoff(fails int) time.Duration {
	most := max(maxBackoff, v.cfg.Interval)
	wait := v.cfg.Interval
	for range fails - 1 {
		if wait >= most {
			break
		}
		wait *= 2
	}
	wait = min(wait, most)
	return wait - v.upTo(wait/10)
}

func (v *Volunteer) upTo(d time.Duration) time.Duration { return part(d, v.rng.Float64()) }

func part(d time.Duration, of float64) time.Duration { return time.Duration(float64(d) * of) }
