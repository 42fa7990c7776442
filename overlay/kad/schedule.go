package kad

import "time"

// How often the public DHT is asked, and told. One visit costs some hundred
// kilobytes, so the node that is alone for good spends about a hundred bytes a
// second on it, and one with company none but to be found.
const (
	askFirst   = 3 * time.Second // after the start: peers known otherwise come sooner
	askAgain   = time.Minute     // doubles up to
	askLast    = time.Hour
	company    = 4              // peers with which a node does not ask
	tellEvery  = 12 * time.Hour // records are kept for 48
	tellChange = 10 * time.Minute
)

// meetings plans the visits to the public DHT.
type meetings struct {
	ask   time.Time // next, if there is too little company
	last  time.Time // it was asked
	pause time.Duration
	told  time.Time
	where string // the addresses told
}

// due returns what to do now, with so many peers, and reachable at these addresses.
func (m *meetings) due(now time.Time, peers int, where string) (ask, tell bool) {
	ask = peers < company && !now.Before(m.ask)
	since := now.Sub(m.told)
	tell = where != "" && (m.told.IsZero() || since >= tellEvery || where != m.where && since >= tellChange)
	return ask, tell
}

// asked plans the next time.
func (m *meetings) asked(now time.Time) {
	m.pause = min(max(2*m.pause, askAgain), askLast)
	m.last, m.ask = now, now.Add(m.pause)
}

// wake makes the node ask soon: whom it knew may be out of reach.
func (m *meetings) wake(now time.Time) {
	m.pause = 0
	if m.ask = now.Add(askFirst); m.ask.Before(m.last.Add(askAgain)) {
		m.ask = m.last.Add(askAgain)
	}
}
