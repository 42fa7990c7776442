package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// TreesConfig describes a world of trees. The zero value is an empty one with
// the protocol as shipped and a network without faults.
type TreesConfig struct {
	// With lanes that run at once, Watch, Delivered and Sent are called at once too, for
	// nodes of different lanes; so is Dropper; Lie and Prove
	// want a single lane.

	// Nodes is how many nodes there are from the beginning, named n0, n1, ….
	Nodes int
	// Net is the network; Measure and Clone are the world's own.
	Net oversim.Config[*tree.Message]
	// Tree is the protocol's configuration at every node.
	Tree tree.Config
	// Configure, if set, changes it for one node.
	Configure func(overlay.ID, *tree.Config)
	// Dropper, if set, names the nodes that take part in everything and forward
	// nothing: no event leaves them and no head of a line. It is asked at each
	// message, so a node may begin to at any time.
	Dropper func(overlay.ID) bool
	// Lie, if set, is asked for what a node sends in the place of a message; nil:
	// nothing. It must not change the message it is given.
	Lie func(from, to overlay.ID, m *tree.Message) *tree.Message
	// Prove, if set, is asked whether two events that a node found to contradict
	// each other prove that their source forked its line. What it returns is told,
	// and kept by those who hear it as an application would.
	Prove func(at overlay.ID, events []multicast.Event) (proof multicast.Event, ok bool)
	// Unreachable, if set, names the nodes that nobody can dial and that say so:
	// they are in no routing table and are never a root. Net.Punches says which of
	// them others reach all the same.
	Unreachable func(overlay.ID) bool
	// TTL is what published events promise. With one, publishers send
	// heartbeats when their node says that one is due.
	TTL time.Duration
	// Body is the size of a published event; 0: 4 KiB.
	Body int
	// Recent is how many events a member keeps for its next join; 0: 64, or 8
	// of a lean world.
	Recent int
	// Lean keeps no list of deliveries, only how many there were and how far
	// each line is whole: a million members fit. Missed and Owed work as
	// always, Doubled and Lags panic: who runs lean looks through Delivered.
	Lean bool
	// Watch, if set, sees every notice. It must not act on the world.
	Watch func(now time.Duration, at overlay.ID, n tree.Notice)
	// Delivered, if set, sees every delivery at a member. It must not act on
	// the world.
	Delivered func(now time.Duration, at overlay.ID, d multicast.Delivery)
	// Sent, if set, sees every message that a node sends, whatever becomes of
	// it. It must neither act on the world nor change or keep the message.
	Sent func(now time.Duration, from, to overlay.ID, m *tree.Message)
}

// Trees is a world of tree nodes.
type Trees struct {
	*oversim.Net[*tree.Message]

	cfg     TreesConfig
	hosts   []*host              // as the nodes were added
	odd     map[overlay.ID]*host // those that are not where their name says
	ids     []overlay.ID         // in the order added
	sides   map[overlay.ID]int
	groups  []*ledger // in the order first used
	ledgers map[multicast.Group]*ledger
	lanes   []lane // as the network has them
	reuses  bool   // nobody but the two nodes sees a message
	spent   spent
	asked   spent // those of inquiries
}

// A lane is what the nodes of one of the network's lanes share: no other touches it.
type lane struct {
	out     tree.Outbox
	next    []tree.Input // what the application answers to the step at hand
	busy    bool         // a step is being carried out
	traffic [32]Traffic
	notices [16]uint64
	_       [64]byte
}

// A ledger is what the world knows about one group.
type ledger struct {
	id        multicast.Group
	name      string
	published []Published
	latest    []multicast.Event // the last Recent published, what lean members share
}

// Published is an event that entered the world.
type Published struct {
	Stamp multicast.Stamp
	By    overlay.ID
	At    time.Duration
}

// Traffic is how many messages of one type were sent, and their estimated size.
type Traffic struct {
	Type     tree.Type
	Messages uint64
	Bytes    uint64
}

// NewTrees returns a world at time zero.
func NewTrees(cfg TreesConfig) *Trees {
	cfg.Body = cmp.Or(cfg.Body, 4<<10)
	if cfg.Recent == 0 {
		cfg.Recent = 64
		if cfg.Lean {
			cfg.Recent = 8
		}
	}
	cfg.Net.Number = number
	cfg.Net.Clone = (*tree.Message).Twin
	if cfg.Unreachable != nil {
		cfg.Net.Undialable = cfg.Unreachable
	}
	w := &Trees{reuses: cfg.Net.Trace == nil && cfg.Lie == nil && cfg.Dropper == nil, cfg: cfg, odd: map[overlay.ID]*host{}, sides: map[overlay.ID]int{}, ledgers: map[multicast.Group]*ledger{}}
	cfg.Net.Measure = func(m *tree.Message) (uint8, int) { return uint8(m.Type), Size(m) }
	w.lanes = make([]lane, max(cfg.Net.Lanes.Count, 1))
	w.Net = oversim.New(cfg.Net)
	for i := range cfg.Nodes {
		w.Add(overlay.ID(fmt.Sprintf("n%d", i)))
	}
	return w
}

// number is where a node of the usual name stands: 17 for n17. What it says of
// others is checked by who asks.
func number(id overlay.ID) int {
	if len(id) < 2 || len(id) > 10 || id[0] != 'n' {
		return -1
	}
	k := 0
	for i := 1; i < len(id); i++ {
		d := id[i] - '0'
		if d > 9 {
			return -1
		}
		k = 10*k + int(d)
	}
	return k
}

// GroupNamed returns the group of a made-up feed, which Dump shows under its
// name.
func (w *Trees) GroupNamed(name string) multicast.Group {
	id := multicast.GroupOf("https://feeds.example/" + name)
	w.ledger(id).name = name
	return id
}

func (w *Trees) ledger(id multicast.Group) *ledger {
	l := w.ledgers[id]
	if l == nil {
		l = &ledger{id: id, name: id.String()[:8]}
		w.ledgers[id] = l
		w.groups = append(w.groups, l)
	}
	return l
}

// Add puts a node into the world, live and in no group.
func (w *Trees) Add(id overlay.ID) {
	h := &host{world: w, id: id}
	if number(id) != len(w.hosts) {
		w.odd[id] = h
	}
	w.hosts = append(w.hosts, h)
	w.ids = append(w.ids, id)
	w.Net.Add(id, h.boot)
}

// IDs returns all nodes, live or not, in the order they were added.
func (w *Trees) IDs() []overlay.ID { return slices.Clone(w.ids) }

// Live returns the nodes that are up, in the order they were added.
func (w *Trees) Live() []overlay.ID {
	return slices.DeleteFunc(w.IDs(), func(id overlay.ID) bool { return !w.Alive(id) })
}

// Node returns a live node's protocol, nil if it is down. Inputs go through
// Input, which looks after what the node wants done.
func (w *Trees) Node(id overlay.ID) *tree.Node {
	if !w.Alive(id) {
		return nil
	}
	return w.host(id).node
}

// Input steps one node from outside.
func (w *Trees) Input(id overlay.ID, in tree.Input) {
	h := w.host(id)
	w.Call(id, func(now time.Duration) { h.step(now, in) })
}

func (w *Trees) host(id overlay.ID) *host {
	h := w.find(id)
	if h == nil {
		panic(fmt.Sprintf("sim: no node %q in this world", id))
	}
	return h
}

func (w *Trees) find(id overlay.ID) *host {
	if k := number(id); k >= 0 && k < len(w.hosts) && w.hosts[k].id == id {
		return w.hosts[k]
	}
	return w.odd[id]
}

// Join makes nodes members of a group; they hold nothing of it yet.
func (w *Trees) Join(g multicast.Group, ids ...overlay.ID) {
	w.ledger(g)
	for _, id := range ids {
		h := w.host(id)
		m := h.record(g)
		if m.Member {
			continue
		}
		m.Member, m.since = true, len(w.ledger(g).published)
		if w.Alive(id) {
			h.join(m)
		}
	}
}

// JoinAt makes a node that is up at a time to come a member of a group then.
func (w *Trees) JoinAt(at time.Duration, g multicast.Group, id overlay.ID) {
	l, h := w.ledger(g), w.host(id)
	w.CallAt(at, id, func(now time.Duration) {
		if m := h.record(g); !m.Member {
			m.Member, m.since = true, len(l.published)
			h.enter(now, m)
		}
	})
}

// Leave ends the membership; what was received is kept.
func (w *Trees) Leave(g multicast.Group, ids ...overlay.ID) {
	for _, id := range ids {
		m := w.host(id).record(g)
		m.Member = false
		w.Input(id, tree.Input{Kind: tree.LeaveGroup, Group: g})
	}
}

// Publish lets a node publish its next event and asks for want receipts. The
// node's application holds the event from now on.
func (w *Trees) Publish(g multicast.Group, id overlay.ID, want int) multicast.Stamp {
	if !w.Alive(id) {
		panic(fmt.Sprintf("sim: node %q is to publish and is down", id))
	}
	r := w.host(id).record(g)
	r.publisher(id).Seq++
	return w.say(g, id, w.event(g, *r.line), want)
}

// Say lets a node publish an event or a heartbeat that the caller made; Publish
// makes events that say nothing and are all alike.
func (w *Trees) Say(id overlay.ID, e multicast.Event) {
	if e.Stamp.Heartbeat() {
		w.Input(id, tree.Input{Kind: tree.Publish, Group: e.Group, Event: e})
		return
	}
	w.say(e.Group, id, e, 0)
}

func (w *Trees) say(g multicast.Group, id overlay.ID, e multicast.Event, want int) multicast.Stamp {
	r := w.host(id).record(g)
	l := w.ledger(g)
	l.published = append(l.published, Published{Stamp: e.Stamp, By: id, At: w.Now()})
	l.latest = keep(l.latest, e, w.cfg.Recent)
	r.advance(e.Stamp)
	if !w.cfg.Lean {
		r.recent = keep(r.recent, e, w.cfg.Recent)
	}
	w.Input(id, tree.Input{Kind: tree.Publish, Group: g, Event: e, Want: want})
	return e.Stamp
}

func (w *Trees) event(g multicast.Group, s multicast.Stamp) multicast.Event {
	size := w.cfg.Body
	if s.Heartbeat() {
		size = 0
	}
	return multicast.Event{Group: g, Stamp: s, TTL: w.cfg.TTL, Body: make([]byte, size)}
}

// Shut stops a node in order: it tells its neighbours, then its connections
// close. Net.Crash is the other way to go.
func (w *Trees) Shut(id overlay.ID) {
	w.Input(id, tree.Input{Kind: tree.Close})
	w.Net.Close(id)
}

// Restart brings a node up again. It joins its groups from the cursors it had.
func (w *Trees) Restart(id overlay.ID) {
	w.Net.Restart(id)
	w.host(id).resume()
}

// Partition cuts the network into the given sets and one of all other nodes.
func (w *Trees) Partition(sets ...[]overlay.ID) {
	clear(w.sides)
	for i, set := range sets {
		for _, id := range set {
			w.sides[id] = i + 1
		}
	}
	w.Net.Partition(sets...)
}

// Heal ends the partition.
func (w *Trees) Heal() {
	clear(w.sides)
	w.Net.Heal()
}

// RunFor lets time pass.
func (w *Trees) RunFor(d time.Duration) { w.Run(w.Now() + d) }

// Published returns what was published in a group, in the order of time.
func (w *Trees) Published(g multicast.Group) []Published {
	return slices.Clone(w.ledger(g).published)
}

// Messages returns what was sent so far by type; types nobody sent are left out.
func (w *Trees) Messages() []Traffic {
	var all []Traffic
	for t := range w.lanes[0].traffic {
		c := Traffic{Type: tree.Type(t)}
		for k := range w.lanes {
			c.Messages += w.lanes[k].traffic[t].Messages
			c.Bytes += w.lanes[k].traffic[t].Bytes
		}
		if c.Messages > 0 {
			all = append(all, c)
		}
	}
	return all
}

// Notices returns how many notices of a kind the nodes gave.
func (w *Trees) Notices(k tree.NoticeKind) uint64 {
	var sum uint64
	for i := range w.lanes {
		sum += w.lanes[i].notices[k]
	}
	return sum
}
