package kad

import "time"

// Upload is what a node has sent in the last hour, and may send in one.
type Upload struct {
	Most    uint64     `json:"most"` // bytes in an hour; 0: as many as it takes
	Hour    uint64     `json:"hour"` // in the last one, to a minute
	Sparing bool       `json:"sparing"`
	Until   *time.Time `json:"until"` // until when it spares at least; null if it does not
	Times   uint64     `json:"times"` // it began to, since the start
}

// allowance is how much may be sent in an hour. A node cannot stop sending: its own
// items, acknowledgements and keep-alives are what others count on, and cost little.
// So it spares what it does for others before all is spent, and keeps the rest for
// these. It goes on when a good part is free again, so as not to come and go.
type allowance struct {
	most    uint64
	spent   [hourMinutes]minute
	seen    uint64 // the count of all that was sent, at the last look
	sparing bool
	times   uint64
}

// minute is what was sent in one minute.
type minute struct {
	at    int64 // since 1970
	bytes uint64
}

const (
	hourMinutes = 60
	reserveMost = 4 << 20 // twice what a quiet node with twenty peers sends in an hour
	reservePart = 4       // but no more than a fourth of all
)

// spares is from how much on the node spares.
func (a *allowance) spares() uint64 { return a.most - min(a.most/reservePart, reserveMost) }

// again is below how much it does not any more.
func (a *allowance) again() uint64 { return a.spares() / 4 * 3 }

// look takes the count of all bytes that were sent ever, and returns whether to
// spare. A clock that was set back counts on in the latest minute.
func (a *allowance) look(now time.Time, sent uint64) bool {
	m := a.slot(now)
	m.bytes += sent - a.seen
	a.seen = sent
	hour := a.hour(now)
	switch {
	case a.most == 0:
		a.sparing = false
	case !a.sparing && hour >= a.spares():
		a.sparing = true
		a.times++
	case a.sparing && hour < a.again():
		a.sparing = false
	}
	return a.sparing
}

func (a *allowance) slot(now time.Time) *minute {
	at := now.Unix() / 60
	m := &a.spent[at%hourMinutes]
	if m.at != at {
		*m = minute{at: at}
	}
	return m
}

// hour is what was sent in the last hour.
func (a *allowance) hour(now time.Time) (bytes uint64) { return a.since(now.Unix()/60 - hourMinutes) }

// since is what was sent after a minute.
func (a *allowance) since(at int64) (bytes uint64) {
	for _, m := range a.spent {
		if m.at > at {
			bytes += m.bytes
		}
	}
	return bytes
}

// report says how it stands. Until is when enough of the hour has passed, if nothing
// more is sent.
func (a *allowance) report(now time.Time) Upload {
	u := Upload{Most: a.most, Hour: a.hour(now), Sparing: a.sparing, Times: a.times}
	if !a.sparing {
		return u
	}
	at := now.Unix()/60 - hourMinutes
	for a.since(at) >= a.again() && a.again() > 0 {
		at++
	}
	until := time.Unix((at+hourMinutes)*60, 0)
	u.Until = &until
	return u
}
