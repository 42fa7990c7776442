package sim

import (
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Lanes part the nodes of a network, so that several processors can run it. What
// happens at nodes of one lane happens in the order of time; lanes hear of each
// other only through messages, which take a while: for so long each goes on by
// itself. How nodes are parted changes nothing in a run.
type Lanes struct {
	// Count is how many there are; 0: one.
	Count int
	// Of names the lane of a place, from 0 on.
	Of func(place uint64) int
	// Apart is the least delay between places of different lanes.
	Apart time.Duration
	// Do runs f(0) to f(n-1), at once or not, and returns when all have ended; nil:
	// one after the other. If it runs them at once, hosts of different lanes are
	// called at once too: what they share has to bear that.
	Do func(n int, f func(k int))
	// Ahead lets hosts that are Glancers read ahead. It pays where the nodes are so many
	// that none of them is near a processor.
	Ahead bool
}

func (l *Lanes) setDefaults() {
	if l.Count < 2 || l.Of == nil || l.Apart <= 0 {
		*l = Lanes{Count: 1, Of: func(uint64) int { return 0 }, Apart: walkAfter}
	}
	if l.Do == nil {
		l.Do = func(n int, f func(int)) {
			for k := range n {
				f(k)
			}
		}
	}
}

// A lane is some of the nodes with what is to happen at them. During a window only
// its own events touch it.
type lane[M any] struct {
	now    time.Duration
	hash   uint64
	counts Counts
	agenda agenda[M]
	calls  calls
	away   [][]event[M] // for others, made in this window: by lane, at last for the network
	late   []unfinished // what no lane can do by itself, begun in this window
	read   uint64       // of nothing: what readAhead read
	near   []near       // of who was asked last for those nearest to a key,
	ids    []overlay.ID // what was answered,
	next   int          // and whom of those the asker is likely to name next
	_      [64]byte     // nobody else's cache line
}

// unfinished is something that a node began in a window and that concerns more
// than its lane.
type unfinished struct {
	at   time.Duration
	node int32
	do   func()
}

// laneOf is the lane of a node.
func (n *Net[M]) laneOf(i int32) *lane[M] { return &n.lanes[n.lane[i]] }

// at is the time at a node.
func (n *Net[M]) at(i int32) time.Duration { return n.lanes[n.lane[i]].now }

// home is where an event waits: at its node's lane, or at the network if it
// concerns others too.
func (n *Net[M]) home(e *event[M]) *lane[M] {
	switch e.op {
	case opControl, opWalk, opLooked, opNoticed, opCut, opRefresh, opRejoin:
		return &n.own
	}
	return n.laneOf(e.to)
}

// setNow sets the clock of the whole network.
func (n *Net[M]) setNow(at time.Duration) {
	n.own.now = at
	for k := range n.lanes {
		n.lanes[k].now = at
	}
}

// first returns the lane with the next event and that event's place in time; nil if
// nothing is to happen.
func (n *Net[M]) first() (next *lane[M], it item) {
	for k := range n.lanes {
		if head, ok := n.lanes[k].agenda.head(); ok && (next == nil || head.before(it)) {
			next, it = &n.lanes[k], head
		}
	}
	if head, ok := n.own.agenda.head(); ok && (next == nil || head.before(it)) {
		next, it = &n.own, head
	}
	return next, it
}

// parts reports whether lanes may go on by themselves now: nobody watches, and
// nothing reaches from one to another at once.
func (n *Net[M]) parts() bool {
	return len(n.lanes) > 1 && n.cfg.Trace == nil && n.holders == nil && !n.parted
}

// window lets all lanes go on from the time of the next event until what one does
// could reach another, or until the network's own next event, or to a limit, and
// reports false if it could not: then there is a single event to be handled.
func (n *Net[M]) window(limit time.Duration) bool {
	next, it := n.first()
	if next == nil || next == &n.own {
		return false
	}
	end := min(it.at+min(n.cfg.Lanes.Apart, walkAfter), limit+1)
	if own, ok := n.own.agenda.head(); ok {
		end = min(end, own.at)
	}
	if end <= it.at {
		return false
	}
	n.open = true
	n.cfg.Lanes.Do(len(n.lanes), func(k int) { n.runLane(&n.lanes[k], end) })
	n.open = false
	n.exchange()
	return true
}

// runLane handles the events of one lane before end.
func (n *Net[M]) runLane(l *lane[M], end time.Duration) {
	for {
		head, ok := l.agenda.head()
		if !ok || head.at >= end {
			return
		}
		n.readAhead(l)
		e := l.agenda.pop()
		l.now = e.at
		n.handle(&e)
	}
}

// exchange does what a window left: what lanes have for each other and what
// concerns them all.
func (n *Net[M]) exchange() {
	n.cfg.Lanes.Do(len(n.lanes), func(k int) { n.fetch(&n.lanes[k], k) })
	n.fetch(&n.own, len(n.lanes))
	for k := range n.lanes {
		l := &n.lanes[k]
		for _, u := range l.late {
			l.now = u.at
			u.do()
		}
		clear(l.late)
		l.late = l.late[:0]
	}
}

// fetch takes in what lanes have for a lane, or the network, of that number. Events have
// their places in time, so it does not matter which lane's come first.
func (n *Net[M]) fetch(to *lane[M], number int) {
	for k := range n.lanes {
		from := &n.lanes[k]
		if from.away == nil {
			continue
		}
		for i := range from.away[number] {
			to.agenda.push(from.away[number][i])
		}
		clear(from.away[number])
		from.away[number] = from.away[number][:0]
	}
}

// whole runs what concerns the whole network: at once, or after the window.
func (n *Net[M]) whole(a int32, do func()) {
	if !n.open {
		do()
		return
	}
	l := n.laneOf(a)
	l.late = append(l.late, unfinished{at: l.now, node: a, do: do})
}

// CallAt is a Call at a time to come: f is called if the node is up then.
func (n *Net[M]) CallAt(at time.Duration, id overlay.ID, f func(now time.Duration)) {
	i := n.must(id)
	e := n.alone(opCall, i)
	e.from = n.laneOf(i).calls.put(f)
	n.controls++
	n.post(n.laneOf(i), at, mix(n.pos[i], n.controls)|drawn, &e)
}
