package feedtree

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/multicast"
)

const (
	shareAgain  = 5 * time.Minute // how often the polls are divided anew, or after each Polling.Min if that is shorter
	typicalSize = 32 << 10        // bytes of a document that was not seen in full since the start
)

// sharing is when the polls of the feeds followed here are divided anew, by how many
// follow each.
type sharing struct {
	again time.Duration
	busy  bool
}

// share finds out how many follow each feed and has as many volunteers poll it as
// keep its items waiting least (Corona §3.1), unless the number was configured. The
// feeds of one node are its sample of all.
func (d *desk) share() {
	now := d.now()
	if d.node.config.Polling.Overload > 0 || d.sharing.busy || now < d.sharing.again {
		return
	}
	d.sharing.again = now + min(shareAgain, d.node.config.Polling.Min)
	var groups []multicast.Group
	for g, ch := range d.groups {
		if !ch.local() && ch.publishing == 0 && !ch.sched.Live(now) {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return
	}
	d.sharing.busy = true
	d.node.background(func(ctx context.Context) {
		sizes := make(map[multicast.Group]int, len(groups))
		for _, g := range groups {
			if s, ok := d.node.carrier.Group(g); ok {
				sizes[g] = s.Size
			}
		}
		d.post(func(d *desk) { d.apportion(sizes) })
	})
}

// apportion gives each feed its N.
func (d *desk) apportion(sizes map[multicast.Group]int) {
	d.sharing.busy = false
	var channels []*channel
	var feeds []schedule.Shared
	for g, size := range sizes {
		ch := d.groups[g]
		if ch == nil {
			continue // left meanwhile
		}
		ch.work.crowd = size
		channels = append(channels, ch)
		feeds = append(feeds, ch.shared())
	}
	for i, n := range schedule.Pollers(feeds) {
		channels[i].sched.SetOverload(d.now(), int(n+0.5))
		d.arm(channels[i])
	}
}

// shared is the feed as it is weighed against others.
func (ch *channel) shared() schedule.Shared {
	size := ch.work.size
	if size == 0 {
		size = typicalSize
	}
	return schedule.Shared{
		Subscribers: float64(max(ch.work.crowd, 1)),
		Rate:        ch.work.habit.Rate(),
		Size:        float64(size),
		Most:        float64(ch.sched.Interval()) / float64(max(ch.work.least, 1)),
	}
}
