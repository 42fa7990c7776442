package scenario

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

// A load is what the nodes of a world sent. Lanes count at once: each for itself, or
// what is its nodes' own.
type load struct {
	lanes     []counted
	warmUp    amount // everything until the warm-up was over
	sends     []uint32
	requests  []uint32 // joins and probes at each node in this round
	busiest   uint32
	perNode   []uint32 // control messages sent, where somebody asks
	one       sync.Mutex
	onPayload func(from, to int32, f *feed, p payload) // for one lane at a time
}

// counted is what one lane counts, in memory of its own.
type counted struct {
	amount
	asked []int32 // nodes asked that are in no requests yet,
	near  uint32  // and what was read to have those near: it means nothing
	_     [64]byte
}

// An amount counts messages by what they are for.
type amount struct {
	messages, bytes uint64
	control         uint64 // no events
	toMembers       uint64 // payloads to members that are up
	payload         uint64 // bytes of events with news
	noise           uint64 // of those, to nodes that are not members
	leased          uint64 // of those, to be kept near the root
	deliveries      uint64 // of events with news
	delivered       uint64 // bytes of their bodies
}

// A payload is an event with news on its way.
type payload struct {
	size   int
	leased bool // to be kept near the root
}

func (a amount) minus(b amount) amount {
	return amount{
		a.messages - b.messages, a.bytes - b.bytes, a.control - b.control, a.toMembers - b.toMembers,
		a.payload - b.payload, a.noise - b.noise, a.leased - b.leased,
		a.deliveries - b.deliveries, a.delivered - b.delivered,
	}
}

func (a *amount) plus(b *amount) {
	a.messages += b.messages
	a.bytes += b.bytes
	a.control += b.control
	a.toMembers += b.toMembers
	a.payload += b.payload
	a.noise += b.noise
	a.leased += b.leased
	a.deliveries += b.deliveries
	a.delivered += b.delivered
}

func (l *load) init(nodes, lanes int) {
	l.sends, l.requests = make([]uint32, nodes), make([]uint32, nodes)
	l.lanes = make([]counted, lanes)
	for k := range l.lanes {
		l.lanes[k].asked = make([]int32, 0, askedTogether)
	}
}

// Nodes asked are counted some together: each is elsewhere in memory, and who counts one by one
// waits for that each time.
const askedTogether = 64

// ask counts a join or a probe at a node.
func (l *load) ask(own *counted, node int32) {
	if own.asked = append(own.asked, node); len(own.asked) == cap(own.asked) {
		l.countAsked(own)
	}
}

func (l *load) countAsked(own *counted) {
	for _, node := range own.asked {
		own.near += atomic.LoadUint32(&l.requests[node])
	}
	for _, node := range own.asked {
		atomic.AddUint32(&l.requests[node], 1)
	}
	own.asked = own.asked[:0]
}

// all is everything so far.
func (l *load) all() (sum amount) {
	for k := range l.lanes {
		sum.plus(&l.lanes[k].amount)
	}
	return sum
}

// round ends a round: it looks for the busiest node.
func (l *load) round() {
	for k := range l.lanes {
		l.countAsked(&l.lanes[k])
	}
	for i, n := range l.requests {
		l.busiest = max(l.busiest, n)
		l.requests[i] = 0
	}
}

// sent is called for every message of the world.
func (w *world) sent(_ time.Duration, from, to overlay.ID, m *tree.Message) {
	l, sender := &w.load, index(from)
	own := &l.lanes[w.lane[sender]]
	size := uint64(sim.Size(m))
	switch {
	case m.Type != tree.Data:
		own.control++
		if l.perNode != nil {
			l.perNode[sender]++
		}
		if asks(m.Type) {
			l.ask(own, index(to))
		}
	case !m.Event.Stamp.Heartbeat(): // heartbeats are neither payload nor control
		f := w.of[m.Group]
		size = uint64(int(size) - len(m.Event.Body) + f.size(m.Event))
		w.payload(sender, index(to), f, payload{int(size), m.Flags&tree.Replica != 0})
	}
	own.messages++
	own.bytes += size
}

// asks reports whether a message of that type makes its receiver decide over a
// place in the tree.
func asks(t tree.Type) bool { return t == tree.Join || t == tree.Probe }

// payload counts an event on its way.
func (w *world) payload(from, to int32, f *feed, p payload) {
	l, size := &w.load, uint64(p.size)
	own := &l.lanes[w.lane[from]].amount
	l.sends[from]++
	own.payload += size
	switch {
	case f.place(to) >= 0:
		if w.up.has(int(to)) {
			own.toMembers++
		}
	default:
		own.noise += size
		if p.leased {
			own.leased += size
		}
	}
	if l.onPayload != nil {
		l.one.Lock()
		l.onPayload(from, to, f, p)
		l.one.Unlock()
	}
}
