package feedtree

import (
	"context"
	"encoding/json"
	"math"
	"time"
)

// Week is what following a feed cost, and what it would have cost this node by
// itself: today and on the six days before, by UTC, as far as the node ran.
//
// What it would have cost is reckoned, in disfavour of the tree where there is a
// choice. While the feed is in the overlay, others are connected and its origin
// may be asked, who polls alone asks once per FeedStatus.Interval, which is how
// often this node would. He transfers the whole document when there was news,
// however much of it between two of his polls; that nothing is new costs him no
// bytes, for headers are counted on neither side. At all other times this node
// polls alone itself, and the one costs as much as the other.
//
// The account is kept over restarts. A node that is killed loses up to ten minutes
// of it.
type Week struct {
	Requests      int   `json:"requests"`       // to the origin, by this node, for whatever reason
	Bytes         int64 `json:"bytes"`          // of documents that it sent, as transferred
	TreeBytes     int64 `json:"tree_bytes"`     // of events that other nodes sent instead
	AloneRequests int   `json:"alone_requests"` // by who polls alone
	AloneBytes    int64 `json:"alone_bytes"`
}

const (
	weekDays    = 7
	weekSetting = "week"
	weekEvery   = 10 // minutes between two savings of the accounts
)

// account is a feed's, by the day.
type account struct {
	days  [weekDays]day
	whole int64         // bytes of the last whole document, as transferred
	until time.Duration // what is before is reckoned
	found time.Duration // when who polls alone last found news
}

type day struct {
	Day        int64   `json:"d"` // since 1970
	Requests   int     `json:"n,omitempty"`
	Bytes      int64   `json:"b,omitempty"`
	Tree       int64   `json:"t,omitempty"`
	Alone      float64 `json:"a,omitempty"`
	AloneBytes int64   `json:"c,omitempty"`
}

func dayOf(wall time.Time) int64 { return wall.Unix() / (24 * 60 * 60) }

func (a *account) today(wall time.Time) *day {
	today := dayOf(wall)
	d := &a.days[today%weekDays]
	if d.Day != today {
		*d = day{Day: today}
	}
	return d
}

// moment is when something is put to an account, and how things stand.
type moment struct {
	now      time.Duration
	wall     time.Time
	shared   bool          // since the last time others could have polled
	interval time.Duration // of one who polls alone
}

// pass reckons what was since the last time.
func (a *account) pass(m moment) {
	if m.shared && m.interval > 0 {
		a.today(m.wall).Alone += float64(m.now-a.until) / float64(m.interval)
	}
	a.until = m.now
}

// asked puts requests to the account, and what was transferred.
func (a *account) asked(m moment, requests uint64, bytes int64) {
	a.pass(m)
	d := a.today(m.wall)
	d.Requests += int(requests)
	d.Bytes += bytes
	if bytes > 0 {
		a.whole = bytes
	}
	switch {
	case !m.shared:
		d.Alone += float64(requests)
		d.AloneBytes += bytes
		a.found = m.now
	case bytes > 0:
		a.news(m)
	}
}

// heard puts an event of the tree to the account.
func (a *account) heard(m moment, bytes int, news bool) {
	a.pass(m)
	a.today(m.wall).Tree += int64(bytes)
	if news && m.shared {
		a.news(m)
	}
}

// news is found by who polls alone with his next poll, and what comes before that
// with the same one.
func (a *account) news(m moment) {
	if m.now-a.found >= m.interval {
		a.today(m.wall).AloneBytes += a.whole
		a.found = m.now
	}
}

func (a *account) week(wall time.Time) Week {
	var w Week
	alone := 0.0
	for _, d := range a.days {
		if age := dayOf(wall) - d.Day; age < 0 || age >= weekDays {
			continue
		}
		w.Requests += d.Requests
		w.Bytes += d.Bytes
		w.TreeBytes += d.Tree
		w.AloneBytes += d.AloneBytes
		alone += d.Alone
	}
	w.AloneRequests = int(math.Round(alone))
	return w
}

// keptWeek is an account in the store.
type keptWeek struct {
	Whole int64 `json:"w,omitempty"`
	Days  []day `json:"d"`
}

// moment is now, for the account of a channel.
func (d *desk) moment(ch *channel) moment {
	now, apart := d.now(), ch.sched.Interval()
	return moment{
		now: now, wall: time.Now(), interval: apart,
		shared: !ch.local() && !d.company.alone && ch.publishing == 0 && ch.sched.Earliest() <= now+apart,
	}
}

// debit puts a request to the account of a channel.
func (d *desk) debit(ch *channel, r result) {
	if r.outcome == nil {
		return
	}
	bytes := int64(0)
	if r.outcome.Result != nil {
		bytes = r.outcome.Result.BytesWire
	}
	ch.account.asked(d.moment(ch), r.requests, bytes)
}

// passTime brings all accounts up to date.
func (d *desk) passTime() {
	for _, ch := range d.channels {
		ch.account.pass(d.moment(ch))
	}
}

// accounts are what is kept of all feeds; nil before they were taken up.
func (d *desk) accounts() map[string]keptWeek {
	if !d.counting {
		return nil
	}
	d.passTime()
	all := map[string]keptWeek{}
	oldest := dayOf(time.Now()) - weekDays
	for url, ch := range d.channels {
		k := keptWeek{Whole: ch.account.whole}
		for _, day := range ch.account.days {
			if day.Day > oldest {
				k.Days = append(k.Days, day)
			}
		}
		all[url] = k
	}
	return all
}

// saveWeek keeps the accounts for the next start.
func (n *Node) saveWeek(accounts map[string]keptWeek) {
	if accounts == nil {
		return
	}
	value, err := json.Marshal(accounts)
	if err != nil {
		panic("feedtree: an account that is no JSON: " + err.Error())
	}
	if err := n.config.Store.PutSetting(context.Background(), weekSetting, value); err != nil {
		n.config.Log.Warn("cannot keep what the week's requests were", "error", err)
	}
}

// loadWeek takes up the accounts of the last run. What cannot be read is begun
// again.
func (d *desk) loadWeek(ctx context.Context) {
	d.counting = true
	value, ok, err := d.node.config.Store.Setting(ctx, weekSetting)
	all := map[string]keptWeek{}
	if err == nil && ok {
		err = json.Unmarshal(value, &all)
	}
	if err != nil {
		d.node.config.Log.Warn("the week's requests are counted from now on", "error", err)
	}
	for url, k := range all {
		ch := d.channels[url]
		if ch == nil {
			continue
		}
		ch.account.whole = k.Whole
		for _, day := range k.Days {
			if day.Day > 0 {
				ch.account.days[day.Day%weekDays] = day
			}
		}
	}
}
