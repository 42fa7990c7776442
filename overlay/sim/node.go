package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Host is what runs at a node. The network calls it with the time of the
// event; during the call it may use its Endpoint.
type Host[M any] interface {
	// Receive hands over a message.
	Receive(now time.Duration, from overlay.ID, m M)
	// Gone says that the connection to peer is lost or could not be made.
	Gone(now time.Duration, peer overlay.ID)
	// Routes says that NextHop and Closest may answer otherwise than before.
	Routes(now time.Duration)
	// Tick says that the deadline is reached; it must move the deadline on.
	Tick(now time.Duration)
	// Deadline returns when the host next wants a Tick, or Never.
	Deadline() time.Duration
}

type flags uint8

const (
	routesDue  flags = 1 << iota // a Routes call is queued
	refreshDue                   // a refresh is queued
	newcomer                     // came in the batch being settled
)

// A node is one participant, up or down. Nodes are named by their index
// within the package and by their ID outside. What others look at when they send to it
// comes first, and with the host, which it is for, fills one cache line.
type node[M any] struct {
	id     overlay.ID
	place  uint64
	slow   time.Duration
	life   uint32
	cutOf  uint32 // the life that the crash at cut ended
	side   int32
	alive  bool
	hidden bool // nobody can dial it
	holes  bool // but through a hole punched in its NAT
	flags  flags
	host   Host[M]

	draws  uint64                     // state of what the network draws for this node
	tickAt time.Duration              // when the queued tick comes
	links  []link                     // by peer; of very many: none, and pages
	upload int64                      // bits per second, 0: no limit
	busy   time.Duration              // until when the uplink is taken
	mk     func(*Endpoint[M]) Host[M] // nil: an ID that only messages named

	table table
	died  time.Duration
	since time.Duration // when side changed
	cut   time.Duration // when the node crashed last: what was in its uplink is lost
	pages pages         // with them, and so a node fills four cache lines
}

// position returns a node's place in the identifier space, cut to the 64 bits
// that tell a few million nodes apart.
func position(id overlay.ID) uint64 { return front(id.Key()) }

func front(k overlay.Key) uint64 { return binary.BigEndian.Uint64(k[:]) }

// admit gives an ID its index. The node is down and in nobody's table.
func (n *Net[M]) admit(id overlay.ID) int32 {
	i := int32(len(n.nodes))
	pos := position(id)
	nd := node[M]{
		id: id, place: n.cfg.Place(id), draws: mix(n.cfg.Seed, pos), tickAt: Never, died: -Never, upload: n.cfg.Upload,
	}
	if n.cfg.UploadOf != nil {
		nd.upload = n.cfg.UploadOf(id)
	}
	nd.hidden = n.cfg.Undialable != nil && n.cfg.Undialable(id)
	nd.holes = nd.hidden && n.cfg.Punches != nil && n.cfg.Punches(id)
	n.nodes = append(n.nodes, nd)
	n.pos = append(n.pos, pos)
	n.full = append(n.full, 0)
	n.held = append(n.held, 0)
	n.up = append(n.up, false)
	n.lane = append(n.lane, uint8(n.cfg.Lanes.Of(nd.place)))
	if n.holders != nil {
		n.holders = append(n.holders, nil)
	}
	if _, found := n.index(id); !found {
		n.byID[id] = i
	}
	return i
}

// admitted returns the index of an ID, given to it now if it has none.
func (n *Net[M]) admitted(id overlay.ID) int32 {
	if i, ok := n.index(id); ok {
		return i
	}
	return n.admit(id)
}

// start brings a node up with a fresh host. Its table is filled when the
// batch it came in is settled.
func (n *Net[M]) start(i int32) {
	nd := &n.nodes[i]
	nd.life++
	nd.alive, n.up[i] = true, true
	nd.tickAt = Never
	nd.busy = n.own.now
	nd.flags = newcomer
	n.order.unfilled = append(n.order.unfilled, i)
	ep := &Endpoint[M]{net: n, node: i, life: nd.life}
	ep.seed.Seed(mix(n.cfg.Seed, n.pos[i]), uint64(nd.life))
	ep.rng = *rand.New(&ep.seed)
	host := nd.mk(ep)
	n.nodes[i].host = host
	n.arm(i)
}

// index returns the index of an ID, if it has one.
func (n *Net[M]) index(id overlay.ID) (int32, bool) {
	if n.cfg.Number != nil {
		if k := n.cfg.Number(id); k >= 0 && k < len(n.nodes) && n.nodes[k].id == id {
			return int32(k), true
		}
	}
	i, ok := n.byID[id]
	return i, ok
}

func (n *Net[M]) must(id overlay.ID) int32 {
	i, ok := n.index(id)
	if !ok || n.nodes[i].mk == nil {
		panic(fmt.Sprintf("sim: no node %q was added", id))
	}
	return i
}

func (n *Net[M]) draw(i int32) uint64 { return next(&n.nodes[i].draws) }

// Alive reports whether the node is up.
func (n *Net[M]) Alive(id overlay.ID) bool { return n.nodes[n.must(id)].alive }

// Reachable reports whether a message from one node would reach the other
// now, faults of the link apart.
func (n *Net[M]) Reachable(from, to overlay.ID) bool { return n.reach(n.must(from), n.must(to)) }

// reach: the target is up and on the same side.
func (n *Net[M]) reach(from, to int32) bool {
	return n.up[to] && (!n.parted || n.nodes[from].side == n.nodes[to].side)
}

// Endpoint is a node's access to the network, valid for one life of the node:
// after a crash it does nothing. It implements overlay.Router.
type Endpoint[M any] struct {
	net  *Net[M]
	node int32
	life uint32
	seed rand.PCG
	rng  rand.Rand
}

func (e *Endpoint[M]) up() bool {
	nd := &e.net.nodes[e.node]
	return nd.alive && nd.life == e.life
}

// Self returns the node's ID.
func (e *Endpoint[M]) Self() overlay.ID { return e.net.nodes[e.node].id }

// Lane is the one of [Lanes] that the node is in.
func (e *Endpoint[M]) Lane() int { return int(e.net.lane[e.node]) }

// Now returns the time of the run.
func (e *Endpoint[M]) Now() time.Duration { return e.net.at(e.node) }

// Rand returns the node's own generator, seeded by the net's seed, the ID and
// the life.
func (e *Endpoint[M]) Rand() *rand.Rand { return &e.rng }

// Send puts a message on the way. It never fails: what becomes of a message
// that cannot arrive, Gone tells.
func (e *Endpoint[M]) Send(to overlay.ID, m M) {
	kind, size := e.net.cfg.Measure(m)
	e.Post(to, m, kind, size)
}

// Post is Send of a message that was measured already.
func (e *Endpoint[M]) Post(to overlay.ID, m M, kind uint8, size int) {
	if e.up() {
		e.net.send(e.node, to, load[M]{m, kind, uint32(size)})
	}
}

// NextHop implements overlay.Router.
func (e *Endpoint[M]) NextHop(key overlay.Key) (overlay.ID, bool) {
	e.net.settle()
	best := e.net.nextHop(e.node, front(key))
	if best < 0 {
		return "", false
	}
	return e.net.nodes[best].id, true
}

// Closest implements overlay.Router.
func (e *Endpoint[M]) Closest(key overlay.Key, n int) []overlay.ID {
	e.net.settle()
	l := e.net.laneOf(e.node)
	l.near = e.net.closest(l.near[:0], e.node, front(key), n)
	l.ids, l.next = l.ids[:0], 0
	for _, c := range l.near {
		l.ids = append(l.ids, e.net.nodes[c.node].id)
	}
	if e.net.cfg.Lanes.Ahead { // whoever asked asks more about them
		for _, c := range l.near {
			l.read += e.net.nodes[c.node].place + e.net.glanceLinks(e.node, c.node)
		}
	}
	return l.ids
}

// RTT implements overlay.Router: connected peers are measured, the others not.
func (e *Endpoint[M]) RTT(peer overlay.ID) (time.Duration, bool) {
	p, ok := e.net.laneOf(e.node).answered(peer)
	if !ok {
		p, ok = e.net.index(peer)
	}
	if !ok || !e.net.connected(e.node, p) {
		return 0, false
	}
	return e.net.rtt(e.node, p), true
}

// answered returns the number of the next of those that Closest named last in this lane, if it
// is the one meant: mostly all of them are asked about, in turn.
func (l *lane[M]) answered(id overlay.ID) (int32, bool) {
	if k := l.next; k < len(l.ids) && l.ids[k] == id {
		l.next++
		return l.near[k].node, true
	}
	l.next = len(l.ids)
	return 0, false
}

// Lookup seeks the nodes nearest to key and calls done with those that
// answered, nearest first, without the node itself; ok is false if nobody did.
// done is called as an event of its own, or never if the node goes down before.
func (e *Endpoint[M]) Lookup(key overlay.Key, done func(now time.Duration, nearest []overlay.ID, ok bool)) {
	if e.up() {
		e.net.lookup(e.node, front(key), done)
	}
}
