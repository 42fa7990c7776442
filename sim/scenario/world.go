package scenario

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

// A world is a network of tree nodes with the feeds of a scenario and what is
// measured of them. Nodes are named by index.
type world struct {
	*sim.Trees // nil when the world is closed
	run        *run
	rng        *rand.Rand
	ids        []overlay.ID
	spot       []uint64 // places, for the latency
	lane       []uint8  // of the network, by node
	up         bits     // nodes that are up
	feeds      []*feed
	of         map[multicast.Group]*feed
	load       load
	settling   settling
	onJudged   []func(*feed, *item)
	bodies     func() int    // draws the size of the next item; nil: all are alike
	end        time.Duration // when the run of it is expected to end
	hash       uint64
}

// Nodes come, then members join.
const (
	arriving = 30 * time.Second
	arrivals = 50 // nodes come in so many batches
)

// joined is when all members of a world of so many nodes have joined: of more than a
// hundred thousand it takes a minute and a quarter instead of half of one.
func joined(nodes int) time.Duration {
	if nodes > many {
		return 105 * time.Second
	}
	return time.Minute
}

// accepts is in how many tables a node of a large world is, about. Among 100,000 the
// fullest is in 2,671; of a million it would be in 22,668, more connections than anybody
// accepts, and the mean is 236.
const accepts = 600

// newWorld builds a network and lets its nodes come. last is when the world is
// expected to end. change, if not nil, has the last word on its configuration.
func (r *run) newWorld(nodes int, last time.Duration, change func(*sim.TreesConfig)) (*world, error) {
	w := &world{
		run: r, rng: newRand(r.cfg.Seed + uint64(len(r.worlds))<<32), up: newBits(nodes),
		of: map[multicast.Group]*feed{}, end: last,
	}
	r.worlds = append(r.worlds, w)
	cfg := sim.TreesConfig{TTL: TTL, Lean: true}
	cfg.Net.Seed, cfg.Net.Expect = r.cfg.Seed, nodes
	cfg.Net.Latency = r.latency.delay
	cfg.Net.Tables.Joined = true
	if nodes > many {
		cfg.Net.Tables.Holders = accepts
	}
	cfg.Delivered = func(now time.Duration, at overlay.ID, d multicast.Delivery) { w.delivered(now, index(at), &d) }
	cfg.Sent = w.sent
	if change != nil {
		change(&cfg)
	}
	r.breaks(&cfg)
	if cfg.Lie == nil && cfg.Watch == nil {
		cfg.Net.Lanes = r.latency.lanes(r.cfg.lanes, nodes)
		cfg.Net.Lanes.Ahead = nodes > many || r.cfg.ahead
	}
	w.load.init(nodes, max(cfg.Net.Lanes.Count, 1))
	w.Trees = sim.NewTrees(cfg)
	w.ids = names(nodes)
	for i, id := range w.ids {
		w.spot = append(w.spot, place(id))
		lane := 0
		if cfg.Net.Lanes.Count > 1 {
			lane = cfg.Net.Lanes.Of(w.spot[i])
		}
		w.lane = append(w.lane, uint8(lane))
	}
	for b := range arrivals {
		r.tell("nodes come", builds*float64(b)/arrivals)
		if err := r.ctx.Err(); err != nil {
			return w, err
		}
		for i := b * nodes / arrivals; i < (b+1)*nodes/arrivals; i++ {
			w.Add(w.ids[i])
			w.up.set(i)
		}
		w.Run(arriving * time.Duration(b+1) / arrivals)
	}
	w.load.requests = make([]uint32, nodes)
	for at := w.Now(); at < last; at += Round {
		w.At(at, w.load.round)
	}
	return w, nil
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7363656e6172696f)) }

// builds is the part of a run that building the network counts as.
const builds = 0.2

// named is the ID of a node.
func named(i int32) overlay.ID { return overlay.ID("n" + strconv.Itoa(int(i))) }

// names are the IDs of so many nodes. They are one next to the other in memory, where
// they are compared all the time.
func names(nodes int) []overlay.ID {
	ids := make([]overlay.ID, nodes)
	var all strings.Builder
	for i := range ids {
		ids[i] = named(int32(i))
		all.WriteString(string(ids[i]))
	}
	text := overlay.ID(all.String())
	for i, id := range ids {
		ids[i], text = text[:len(id)], text[len(id):]
	}
	return ids
}

// index is the number of a node.
func index(id overlay.ID) int32 {
	var i int32
	for k := 1; k < len(id); k++ {
		d := id[k] - '0'
		if d > 9 {
			panic(fmt.Sprintf("scenario: a node named %q", id))
		}
		i = 10*i + int32(d)
	}
	return i
}

// place is where the simulator puts a node: the front of its key.
func place(id overlay.ID) uint64 {
	k := id.Key()
	var p uint64
	for _, b := range k[:8] {
		p = p<<8 | uint64(b)
	}
	return p
}

// feed adds a feed and lets its members join, all before the world's have.
// Its publisher is one of them, drawn at random.
func (w *world) feed(name string, members []int32) *feed {
	return w.feedBy(members[w.rng.IntN(len(members))], name, members)
}

// feedBy adds a feed whose publisher is drawn already.
func (w *world) feedBy(publisher int32, name string, members []int32) *feed {
	f := &feed{group: w.GroupNamed(name), members: members, publisher: publisher}
	w.feeds = append(w.feeds, f)
	w.of[f.group] = f
	for _, m := range members {
		at := arriving + time.Duration(rush(w.rng.Float64(), len(w.ids))*float64(joined(len(w.ids))-arriving))
		if m == f.publisher {
			at = arriving
		}
		w.JoinAt(at, f.group, w.ids[m])
	}
	w.At(arriving+2*time.Second, func() { w.announce(f, false) })
	return f
}

// rush is when in the time for it a member of a world of so many nodes joins, from 0 to 1,
// where it draws so. More than a hundred thousand come as word spreads, ever more a second:
// at the rate of the mean there would be no tree yet, and all would meet where it begins.
func rush(draw float64, nodes int) float64 {
	if nodes > many {
		return math.Sqrt(draw)
	}
	return draw
}

// everyone lists all nodes.
func (w *world) everyone() []int32 {
	all := make([]int32, len(w.ids))
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// advance lets the world run until a time, or until the run is cut short.
func (w *world) advance(stage string, until time.Duration) error {
	begin := float64(arriving)
	for w.Now() < until {
		w.run.tell(stage, builds+(1-builds)*(float64(w.Now())-begin)/(float64(w.end)-begin))
		if err := w.run.ctx.Err(); err != nil {
			return err
		}
		w.Run(min(w.Now()+looks, until))
		w.run.heap.tend()
	}
	return nil
}

// looks is how much simulated time passes between two looks at whether the run is to
// end: of a million nodes it takes a second.
const looks = 100 * time.Millisecond

// warmUp lets members join and the trees settle.
func (w *world) warmUp() error {
	if len(w.feeds) > 0 {
		w.watch(w.feeds[0])
	}
	if err := w.advance("warm-up", w.run.cfg.WarmUp); err != nil {
		return err
	}
	w.load.warmUp = w.load.all()
	return nil
}

// items lets each feed publish n items at equal distances, in turn, and waits
// until all are judged.
func (w *world) items(n int, every time.Duration) error {
	w.plan(n, every)
	return w.advance("items", w.Now()+time.Duration(n)*every+judged)
}

func (w *world) plan(n int, every time.Duration) {
	for k := range n {
		for i, f := range w.feeds {
			at := w.Now() + time.Duration(k)*every + every*time.Duration(i)/time.Duration(len(w.feeds))
			w.At(at, func() { w.publish(f) })
		}
	}
}

// allHeld is items in a world in which nobody goes: an item is judged once all it is due
// at hold it, and a little later, for nothing changes after that.
func (w *world) allHeld(n int, every time.Duration) error {
	w.plan(n, every)
	last := w.Now() + time.Duration(n)*every
	for end := last + judged; w.Now() < end; {
		if err := w.advance("items", min(w.Now()+every, end)); err != nil {
			return err
		}
		open := false
		for _, f := range w.feeds {
			for _, it := range slices.Clone(f.open) {
				if w.Now() >= it.at+every && !it.awaited() {
					w.judge(f, it)
				}
			}
			open = open || len(f.open) > 0
		}
		if !open && w.Now() >= last {
			return nil
		}
	}
	return nil
}

// status is a node's view of a feed; false if it is down or serves it not.
func (w *world) status(node int32, f *feed) (tree.GroupStatus, bool) {
	n := w.Node(w.ids[node])
	if n == nil {
		return tree.GroupStatus{}, false
	}
	return n.Status(f.group)
}
