package scenario

import (
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/sim"
)

// A load is what the nodes of a world sent.
type load struct {
	all       amount // everything so far
	warmUp    amount // of that, until the warm-up was over
	sends     []uint32
	requests  []uint32 // joins and probes at each node in this round
	busiest   uint32
	perNode   []uint32 // control messages sent, where somebody asks
	onPayload func(from, to int32, f *feed, p payload)
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

func (l *load) init(nodes int) {
	l.sends, l.requests = make([]uint32, nodes), make([]uint32, nodes)
}

// round ends a round: it looks for the busiest node.
func (l *load) round() {
	for i, n := range l.requests {
		l.busiest = max(l.busiest, n)
		l.requests[i] = 0
	}
}

// sent is called for every message of the world.
func (w *world) sent(_ time.Duration, from, to overlay.ID, m *tree.Message) {
	l := &w.load
	size := uint64(sim.Size(m))
	switch {
	case m.Type != tree.Data:
		l.all.control++
		if l.perNode != nil {
			l.perNode[index(from)]++
		}
		if asks(m.Type) {
			l.requests[index(to)]++
		}
	case !m.Event.Stamp.Heartbeat(): // heartbeats are neither payload nor control
		f := w.of[m.Group]
		size = uint64(int(size) - len(m.Event.Body) + f.size(m.Event))
		w.payload(index(from), index(to), f, payload{int(size), m.Flags&tree.Replica != 0})
	}
	l.all.messages++
	l.all.bytes += size
}

// asks reports whether a message of that type makes its receiver decide over a
// place in the tree.
func asks(t tree.Type) bool { return t == tree.Join || t.String() == "probe" }

// payload counts an event on its way.
func (w *world) payload(from, to int32, f *feed, p payload) {
	l, size := &w.load, uint64(p.size)
	l.sends[from]++
	l.all.payload += size
	switch {
	case f.place(to) >= 0:
		if w.up.has(int(to)) {
			l.all.toMembers++
		}
	default:
		l.all.noise += size
		if p.leased {
			l.all.leased += size
		}
	}
	if l.onPayload != nil {
		l.onPayload(from, to, f, p)
	}
}
