package tree

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// Node is the tree protocol of one overlay node, over all its groups. It is
// not safe for concurrent use: one goroutine, or the simulator, owns it.
type Node struct {
	step    step
	order   []*group                   // insertion order: what runs over all groups runs over this
	groups  map[multicast.Group]*group // of many: nil with a few
	pairs   pairs
	alarms  alarms
	router  overlay.Router
	self    overlay.ID
	rng     *rand.Rand
	edges   uint64        // last edge number given
	held    int32         // children over all groups
	member  int32         // groups it is a member of
	tells   time.Duration // when neighbours are told heads next
	cfg     Config
	search  budget
	letting *letting // nil: there is nobody to let go of
	at      position
	closed  bool
	count   Counters
}

// step is what only lives while one input is handled.
type step struct {
	now  time.Duration
	out  *Outbox
	told *Message // heads that others may be told as well
}

// New makes a node. The router answers for the overlay; rng is the node's own
// source of randomness and decides everything that is left to chance.
func New(cfg Config, router overlay.Router, rng *rand.Rand) *Node {
	return &Node{
		cfg:    cfg.withDefaults(),
		router: router,
		self:   router.Self(),
		rng:    rng,
		edges:  rng.Uint64() >> 1,
	}
}

// Step takes one input at a time now and adds what is to be done to out. Now
// is monotonic: it never goes back between calls.
func (n *Node) Step(now time.Duration, in Input, out *Outbox) {
	n.step = step{now: now, out: out}
	out.pair = nil
	switch in.Kind {
	case Receive:
		n.receive(in.From, in.Msg)
	case Gone:
		n.gone(in.From)
	case Routes:
		n.routes()
	case Looked:
		if g := n.find(in.Group); g != nil {
			n.looked(g, in.Nearest, in.OK)
		}
	case JoinGroup:
		n.join(in)
	case LeaveGroup:
		if g := n.find(in.Group); g != nil {
			n.leave(g)
		}
	case Lease:
		n.lease(in)
	case Publish:
		n.publish(in)
	case Convict:
		proof := in.Event // by itself: an input whose address is taken costs every step an allocation
		n.convict("", &proof)
	case Ask:
		if g := n.find(in.Group); g != nil {
			n.askHeads(g, in.Nearest, Confirm)
		}
	case Stored:
		n.stored(in.Group, in.Stamp)
	case Dialable:
		n.dialable(in.OK)
	case Spare:
		n.sparing(in.OK)
	case Tick:
	case Close:
		n.close()
	default:
		panic(fmt.Sprintf("tree: unknown input kind %d", in.Kind))
	}
	n.settle()
	for n.alarms.next() <= now {
		n.ring()
		n.settle()
	}
	n.step = step{now: now}
}

// Deadline is when the node next wants a Tick. A Tick before it does nothing.
func (n *Node) Deadline() time.Duration { return n.alarms.next() }

// ring wakes what is due.
func (n *Node) ring() {
	for s, ok := n.alarms.due(n.step.now); ok; s, ok = n.alarms.due(n.step.now) {
		switch {
		case s.group != nil:
			n.wakeGroup(s.group)
		case s.pair != nil:
			n.wakePair(s.pair)
		default:
			n.letGo()
		}
	}
}

func (n *Node) wakeGroup(g *group) {
	now := n.step.now
	n.touch(g)
	if due(g.seek.at, now) {
		n.seekDue(g)
	}
	if due(g.duty.check, now) {
		n.lookAround(g)
	}
	if due(g.place.loadAt, now) {
		n.tellLoad(g)
	}
	if due(g.tune.at, now) {
		n.tuneDue(g)
	}
	if s := g.links.swap; s != nil && s.until <= now {
		n.swapDue(g)
	}
	if len(g.links.awaiting()) > 0 {
		n.admit(g)
	}
	if y := g.tune.y; y != nil && y.until <= now {
		n.sayPlaces(g)
	}
	if due(g.links.shedAt(), now) {
		n.shed(g)
	}
	if due(g.links.walkAt, now) {
		n.walk(g)
	}
	for _, l := range g.lines {
		n.wakeLine(g, l)
	}
	if due(g.lease, now) {
		g.lease = 0
		n.dropIfIdle(g)
	}
}

func due(at, now time.Duration) bool { return at != 0 && at <= now }

// settle sets the alarms of all that the step touched.
func (n *Node) settle() {
	out := n.step.out
	for i := 0; i < len(out.groups); i++ {
		g := out.groups[i]
		g.touch = false
		if !g.over {
			n.alarms.set(g.alarm, g.when())
		} else {
			n.alarms.drop(g.alarm)
		}
	}
	for i := 0; i < len(out.pairs); i++ {
		p := out.pairs[i]
		p.touch = false
		if p.over {
			n.alarms.drop(p.alarm)
			out.parts(p)
		} else {
			n.alarms.set(p.alarm, p.when())
		}
	}
	clear(out.groups)
	clear(out.pairs)
	out.groups, out.pairs = out.groups[:0], out.pairs[:0]
}

// touch makes settle look at the group's times again.
func (n *Node) touch(g *group) {
	if !g.touch {
		g.touch = true
		n.step.out.groups = append(n.step.out.groups, g)
	}
}

// group returns the group, made if need be.
func (n *Node) group(id multicast.Group) *group {
	g := n.find(id)
	if g == nil {
		g = &group{id: id}
		g.alarm = n.alarms.add(sleeper{group: g})
		n.order = append(n.order, g)
		n.index(g)
	}
	n.touch(g)
	return g
}

// fewGroups are found faster one by one than in a map.
const fewGroups = 8

// find returns the group, nil if this node does not serve it.
func (n *Node) find(id multicast.Group) *group {
	if n.groups != nil {
		return n.groups[id]
	}
	for _, g := range n.order {
		if g.id == id {
			return g
		}
	}
	return nil
}

// index lets a group be found.
func (n *Node) index(g *group) {
	if n.groups == nil && len(n.order) > fewGroups {
		n.groups = map[multicast.Group]*group{}
		for _, o := range n.order {
			n.groups[o.id] = o
		}
	}
	if n.groups != nil {
		n.groups[g.id] = g
	}
}

// send puts a message on the way.
func (n *Node) send(to overlay.ID, m *Message) {
	own := again(&n.step.out.Spent)
	*own = *m
	n.post(to, own)
}

// post is send of a message that is the outbox's already.
func (n *Node) post(to overlay.ID, m *Message) {
	if to == n.self {
		panic("tree: message to self")
	}
	o := n.step.out
	o.Sends = append(o.Sends, Send{To: to, Msg: m})
}

func (n *Node) notice(no Notice) { n.step.out.Notices = append(n.step.out.Notices, no) }

// jitter spreads d over d·(1±part).
func (n *Node) jitter(d time.Duration, part float64) time.Duration {
	draw := float64(n.rng.Float64())
	return time.Duration(float64(d) * (1 + float64(part*(2*draw-1))))
}

// receive hands a message to what it is about. Messages about groups this
// node does not serve are answered where the sender believes it does.
func (n *Node) receive(from overlay.ID, m *Message) {
	if from == n.self || m == nil || !m.Type.Known() {
		n.count.Malformed++
		return
	}
	n.heard(from, m)
	switch m.Type {
	case Join:
		n.onJoin(from, m)
		return
	case Heads:
		n.onHeads(from, m)
		return
	case Ping:
		n.onPing(from, m)
		return
	case Pong:
		n.onPong(from, m)
		return
	case Sync:
		n.onSync(from, m)
		return
	case Data:
		n.onData(from, m)
		return
	case Crown:
		n.onCrown(from, m)
		return
	case Fork:
		n.onFork(from, m)
		return
	}
	g := n.find(m.Group)
	if g == nil {
		n.strange(from, m)
		return
	}
	n.touch(g)
	switch m.Type {
	case Ack:
		n.onAck(g, from, m)
	case Refuse:
		n.onRefuse(g, from, m)
	case Leave, Drop:
		n.onCut(g, from, m)
	case Path:
		n.onPath(g, from, m)
	case Pull:
		n.onPull(g, from, m)
	case Lack:
		n.onLack(g, from, m)
	case Walk:
		n.onWalk(g, from, m)
	case Link:
		n.onLink(g, from, m)
	case Linked:
		n.onLinked(g, from, m)
	case Unlink:
		n.dropLazy(g, from, false)
	case Held:
		n.onHeld(g, m)
	case Probe:
		n.onProbe(g, from, m)
	case Offer:
		n.onOffer(g, from, m)
	case Load:
		n.onLoad(g, from, m)
	}
}

// strange answers a message about a group this node knows nothing of.
func (n *Node) strange(from overlay.ID, m *Message) {
	switch m.Type {
	case Ack, Path:
		n.send(from, &Message{Type: Leave, Group: m.Group, Edge: m.Edge})
	case Probe:
		n.send(from, &Message{Type: Offer, Group: m.Group, Flags: Detached})
	case Pull:
		n.send(from, &Message{Type: Lack, Group: m.Group, Span: m.Span})
	case Link, Linked:
		n.send(from, &Message{Type: Unlink, Group: m.Group})
	}
}

// gone handles the loss of a neighbour, however it was noticed.
func (n *Node) gone(id overlay.ID) {
	if p := n.pair(id); p != nil {
		for len(p.ties()) > 0 {
			n.lose(p.ties()[len(p.ties())-1].g, id)
		}
	}
	for _, g := range n.order {
		if g.seek.target == id {
			n.touch(g)
			n.seekNext(g)
		}
		n.pullFailed(g, id)
	}
}

// lose takes a dead neighbour out of one group.
func (n *Node) lose(g *group, id overlay.ID) {
	n.touch(g)
	if i := g.child(id); i >= 0 {
		n.cutChild(g, i)
	}
	n.dropLazy(g, id, false)
	if g.place.parent == id {
		n.orphan(g, nil, true)
	}
	n.dropIfIdle(g)
}
