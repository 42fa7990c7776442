package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Never is the Deadline of a host that wants no Tick.
const Never = time.Duration(math.MaxInt64)

// Config describes a network. The zero value works: 50 ms between any two
// nodes, no faults, tables as kad-dht would have them.
type Config[M any] struct {
	Seed    uint64
	Latency Latency                 // nil: Constant(50ms)
	Place   func(overlay.ID) uint64 // where a node is for Latency; nil: the front of its key
	Expect  int                     // how many nodes there will be, about: there is room for them
	Tables  Tables

	// Upload is what a node can send in bits per second: messages leave one
	// after the other through its uplink, at the size that Measure gives them.
	// At 20 Mbit/s one of 4 KB holds it for 1.6 ms. 0: sending costs nothing.
	Upload int64
	// UploadOf, if set, is asked once for each node instead.
	UploadOf func(overlay.ID) int64

	// Detect is how long a connection that broke silently seems open; 0: 30 s,
	// the idle timeout of QUIC.
	Detect time.Duration
	// Dial is how long it takes to give up reaching a node; 0: 5 s.
	Dial time.Duration
	// LookupFailure is the part of lookups that end with no answer at all.
	LookupFailure float64

	// Undialable, if set, is asked once for each node. Nobody can connect to such
	// a node and no table holds it; what it connects to itself reaches it.
	Undialable func(overlay.ID) bool
	// Punches, if set, is asked once for each node that is undialable: whether its
	// NAT lets holes be punched. Introduced by a relay, such nodes can connect to each
	// other, and the dialable ones to every undialable one, in three times the time.
	Punches func(overlay.ID) bool

	// Lanes part the nodes for several processors.
	Lanes Lanes

	// Number, if set, guesses from an ID how many were added before it, which
	// saves the network looking that up for each message. A guess may be wrong.
	Number func(overlay.ID) int
	// Measure says what a message counts as; nil: kind 0 and no bytes.
	Measure func(M) (kind uint8, size int)
	// Clone copies a message that the network duplicates; nil: both receive
	// the same value.
	Clone func(M) M
	// Trace, if set, sees every event that goes into the hash.
	Trace func(Event[M])
}

// Tables says how routing tables are shaped and filled.
type Tables struct {
	// Bucket is how many peers one bucket holds; 0: 20.
	Bucket int
	// Joined fills tables by what a join does: walks from a few random
	// nodes toward the own key and into each bucket. Otherwise they are drawn
	// from all live nodes, which is somewhat too good.
	Joined bool
	// Refresh is the period at which a node looks after the peers that
	// disconnected and gives up two in five of them; 0: one minute.
	Refresh time.Duration
	// Holders is in how many tables a node is before who joins passes it over, or a
	// few more: nobody accepts any number of connections. 0: any number. Joined only,
	// and while no node has died.
	Holders int
}

func (c *Config[M]) setDefaults() {
	if c.Latency == nil {
		c.Latency = Constant(50 * time.Millisecond)
	}
	if c.Place == nil {
		c.Place = position
	}
	if c.Tables.Bucket == 0 {
		c.Tables.Bucket = 20
	}
	if c.Tables.Refresh == 0 {
		c.Tables.Refresh = time.Minute
	}
	if c.Detect == 0 {
		c.Detect = 30 * time.Second
	}
	if c.Dial == 0 {
		c.Dial = 5 * time.Second
	}
	c.Lanes.setDefaults()
	if c.Measure == nil {
		c.Measure = func(M) (uint8, int) { return 0, 0 }
	}
	if c.Clone == nil {
		c.Clone = func(m M) M { return m }
	}
}

// Net is a simulated network. It belongs to one goroutine, whatever Lanes.Do does
// within a call of its methods.
type Net[M any] struct {
	cfg   Config[M]
	own   lane[M] // of what concerns the whole network
	lanes []lane[M]
	open  bool // a window is: lanes go on by themselves

	nodes []node[M]
	pos   []uint64             // positions by node, apart: tables walk them all the time
	full  []uint32             // by node: a bit for each bucket that has no room
	held  []int32              // by node: in how many tables of those who joined later
	up    []bool               // by node: it is alive, apart for the same reason
	lane  []uint8              // by node
	byID  map[overlay.ID]int32 // of those that Config.Number does not find
	order order

	holders [][]int32 // by node: who has it in a table; nil: nobody asked yet

	controls uint64 // control events so far: their ties, below all others

	faults faults
	deaths bool     // some node has died
	parted bool     // some node is on another side than others
	walks  []walker // the first is for walks by themselves, each for a part of those that join
}

// New returns an empty network at time zero.
func New[M any](cfg Config[M]) *Net[M] {
	cfg.setDefaults()
	n := &Net[M]{cfg: cfg, nodes: make([]node[M], 0, cfg.Expect), lanes: make([]lane[M], cfg.Lanes.Count), walks: make([]walker, cfg.Lanes.Count), byID: map[overlay.ID]int32{}}
	n.own.hash = mix(cfg.Seed, 0)
	return n
}

// Now returns the time of the run.
func (n *Net[M]) Now() time.Duration { return n.own.now }

// Hash returns the hash over every event so far.
func (n *Net[M]) Hash() uint64 {
	sum := n.own.hash
	for k := range n.lanes {
		sum += n.lanes[k].hash
	}
	return sum
}

// Counts returns what happened so far.
func (n *Net[M]) Counts() Counts {
	sum := n.own.counts
	for k := range n.lanes {
		sum.add(&n.lanes[k].counts)
		sum.Queries += n.walks[k].asked
	}
	return sum
}

// Add puts a node into the network, live and joining. mk makes its host; it
// is called again at each Restart. An ID may be added once.
func (n *Net[M]) Add(id overlay.ID, mk func(*Endpoint[M]) Host[M]) {
	i, known := n.index(id)
	if known && n.nodes[i].mk != nil {
		panic(fmt.Sprintf("sim: node %q is there already", id))
	}
	if !known {
		i = n.admit(id)
	}
	n.nodes[i].mk = mk
	if !n.nodes[i].hidden {
		n.order.arrive(i)
	}
	n.start(i)
}

// Call runs f as a local call at the node id: now, and looking at the
// host's deadline afterwards. Whatever touches a host from outside goes
// through Call. It reports false if the node is down.
func (n *Net[M]) Call(id overlay.ID, f func(now time.Duration)) bool {
	i := n.must(id)
	if !n.nodes[i].alive {
		return false
	}
	n.settle()
	f(n.own.now)
	n.arm(i)
	return true
}

// At runs f at the given time, before anything else that happens then. It is
// how faults are switched on and off in the middle of a run.
func (n *Net[M]) At(at time.Duration, f func()) {
	n.controls++
	call := n.own.calls.put(func(time.Duration) { f() })
	n.own.agenda.push(event[M]{op: opControl, at: max(at, n.own.now), tie: n.controls, from: call, to: -1})
}

// Run handles everything that happens up to and including until, and leaves
// the clock there.
func (n *Net[M]) Run(until time.Duration) {
	n.settle()
	for {
		if n.parts() && n.window(until) {
			continue
		}
		if next, it := n.first(); next == nil || it.at > until {
			break
		}
		n.Step()
	}
	n.setNow(max(n.own.now, until))
}

// RunUntil handles events until cond holds, looking after each, and reports
// whether it did before the time limit.
func (n *Net[M]) RunUntil(cond func() bool, limit time.Duration) bool {
	n.settle()
	for !cond() {
		if next, it := n.first(); next == nil || it.at > limit {
			n.setNow(max(n.own.now, limit))
			return false
		}
		n.Step()
	}
	return true
}

// Step handles one event and reports whether there was one. Some events
// concern the network alone and call no host.
func (n *Net[M]) Step() bool {
	n.settle()
	next, _ := n.first()
	if next == nil {
		return false
	}
	e := next.agenda.pop()
	n.setNow(e.at)
	n.handle(&e)
	n.settle()
	return true
}

// Pending returns how many events are waiting.
func (n *Net[M]) Pending() int {
	sum := n.own.agenda.count
	for k := range n.lanes {
		sum += n.lanes[k].agenda.count
	}
	return sum
}
