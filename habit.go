package feedtree

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/feed/store"
)

// keptHabit is how a feed's habit stands in its record, beside the state of its
// origin.
type keptHabit struct {
	Habit *schedule.Habit `json:"habit,omitempty"`
}

// habitOf is what polls have taught of a feed; nothing, if what was kept cannot be
// read.
func habitOf(rec store.Feed) schedule.Habit {
	var k keptHabit
	if json.Unmarshal(rec.Origin, &k) != nil || k.Habit == nil {
		return schedule.Habit{}
	}
	return *k.Habit
}

// inscribe puts the state of a feed's origin and its habit into the record.
func inscribe(rec *store.Feed, s polite.State, h schedule.Habit) {
	state, err := json.Marshal(s)
	if err == nil && !h.Polled.IsZero() {
		var habit []byte
		habit, err = json.Marshal(keptHabit{&h})
		state = append(bytes.TrimSuffix(state, []byte("}")), ',')
		state = append(state, habit[1:]...)
		state = bytes.Replace(state, []byte("{,"), []byte("{"), 1)
	}
	if err != nil {
		panic("feedtree: the state of an origin cannot be written: " + err.Error())
	}
	rec.Origin = state
}

// visit is what a poll teaches. What the tree brought before was a poll's that was
// heard of, so it is not new.
func (p *poll) visit(known map[string][32]byte) {
	p.seenAt = schedule.Visit{At: p.now}
	if p.doc == nil {
		return
	}
	p.seenAt.Items = len(p.doc.Items)
	for _, it := range p.fresh {
		if _, edited := known[it.Key()]; !edited {
			p.seenAt.New++
			p.seenAt.Dates = dated(p.seenAt.Dates, it.Published)
		}
	}
}

func dated(dates []time.Time, at time.Time) []time.Time {
	if at.IsZero() {
		return dates
	}
	return append(dates, at)
}

// firstVisit is that of the first document.
func firstVisit(f *feed.Feed, now time.Time) schedule.Visit {
	v := schedule.Visit{At: now, Items: len(f.Items), New: len(f.Items)}
	for _, it := range f.Items {
		v.Dates = dated(v.Dates, it.Published)
	}
	return v
}

// pace is T: how long one who polls alone would wait for the next poll, by what
// the feed's polls have taught, no shorter than the origin's limits.
func (n *Node) pace(h schedule.Habit, least time.Duration) time.Duration {
	most := max(n.config.Polling.Max, least)
	if h.Polled.IsZero() || least >= most {
		return least
	}
	return h.Next(schedule.Terms{Poll: pollPrice, Delay: waitPrice, Min: least, Max: most}).Sub(h.Polled)
}

// learn takes what another's poll teaches, as it was heard: every outcome is a
// visit, whoever made it.
func (d *desk) learn(ch *channel, at time.Time, added []time.Time) {
	if at.Before(ch.work.habit.Polled) {
		return
	}
	v := schedule.Visit{At: at, New: len(added)}
	for _, date := range added {
		v.Dates = dated(v.Dates, date)
	}
	ch.work.habit.Observe(v)
	ch.sched.SetInterval(d.now(), d.node.pace(ch.work.habit, ch.work.least), ch.work.least)
}
