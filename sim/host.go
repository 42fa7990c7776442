package sim

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
)

var _ oversim.Glancer[*tree.Message] = (*host)(nil)

// One glance at the host itself, and those of its node: the index has to be 0.
var _ = [1]struct{}{oversim.Glances - tree.Glances - 1: {}}

// A host is one node with its application. What records holds survives a
// crash, as a store does; the rest does not.
type host struct {
	world   *Trees
	id      overlay.ID
	records []*Record                   // in the order the groups came
	byGroup map[multicast.Group]*Record // of many

	ep   *oversim.Endpoint[*tree.Message]
	lane *lane
	node *tree.Node
}

// Record is what one node keeps about one group.
type Record struct {
	Group      multicast.Group
	Member     bool
	Joins      int               // how often it joined: first and after restarts
	Count      int               // deliveries, heartbeats included
	Deliveries []Delivered       // nil in a lean world
	Missing    []tree.Notice     // what it was told to get by HTTP
	Forks      []multicast.Event // proofs that it was told or made

	since  int               // how many events were published before the membership
	line   *multicast.Stamp  // its own, if it publishes
	cursor []multicast.Stamp // by source, unordered
	ahead  []multicast.Stamp // lean: delivered beyond the cursor, or after it was given up
	recent []multicast.Event
	leased []multicast.Event
}

// Delivered is one delivery.
type Delivered struct {
	Stamp multicast.Stamp
	Tag   multicast.Tag // which event of those that claim the place
	At    time.Duration
	Via   multicast.Via
	From  overlay.ID
	Hops  int
	Join  int // the join it belongs to
}

// Record returns what a node has of a group. It belongs to the world: read it,
// leave it as it is.
func (w *Trees) Record(g multicast.Group, id overlay.ID) *Record { return w.host(id).record(g) }

func (h *host) record(g multicast.Group) *Record {
	if r := h.known(g); r != nil {
		return r
	}
	r := &Record{Group: g}
	h.records = append(h.records, r)
	if len(h.records) > fewGroups {
		if h.byGroup == nil {
			h.byGroup = map[multicast.Group]*Record{}
			for _, r := range h.records {
				h.byGroup[r.Group] = r
			}
		}
		h.byGroup[g] = r
	}
	return r
}

// fewGroups are found faster one by one than in a map.
const fewGroups = 16

func (h *host) known(g multicast.Group) *Record {
	if h.byGroup != nil {
		return h.byGroup[g]
	}
	for _, r := range h.records {
		if r.Group == g {
			return r
		}
	}
	return nil
}

// publisher returns the record's own line, begun if need be.
func (r *Record) publisher(id overlay.ID) *multicast.Stamp {
	if r.line == nil {
		r.line = &multicast.Stamp{Source: SourceOf(id), Epoch: 1}
	}
	return r.line
}

// SourceOf returns the source under which a node publishes.
func SourceOf(id overlay.ID) multicast.Source {
	return sha256.Sum256([]byte("source " + id))
}

// boot makes the node's protocol anew, at the start and at every restart.
func (h *host) boot(ep *oversim.Endpoint[*tree.Message]) oversim.Host[*tree.Message] {
	cfg := h.world.cfg.Tree
	if h.world.cfg.Configure != nil {
		h.world.cfg.Configure(h.id, &cfg)
	}
	if u := h.world.cfg.Unreachable; u != nil && u(h.id) {
		cfg.Leaf = true
	}
	h.ep, h.lane, h.node = ep, &h.world.lanes[ep.Lane()], tree.New(cfg, ep, ep.Rand())
	return h
}

// resume joins again what the node was a member of, and serves again what it
// kept for others.
func (h *host) resume() {
	for _, r := range h.records {
		switch {
		case r.Member:
			h.join(r)
		case len(r.leased) > 0:
			h.world.Input(h.id, tree.Input{Kind: tree.Lease, Group: r.Group, Recent: slices.Clone(r.leased)})
		}
	}
}

func (h *host) join(r *Record) {
	h.world.Call(h.id, func(now time.Duration) { h.enter(now, r) })
}

func (h *host) enter(now time.Duration, r *Record) {
	cursor := slices.Clone(r.cursor)
	if r.Joins++; r.Joins > 1 && cursor == nil {
		cursor = []multicast.Stamp{} // a member before, if one that got nothing
	}
	h.step(now, tree.Input{Kind: tree.JoinGroup, Group: r.Group, Cursor: cursor, Recent: h.recent(r)})
	for _, proof := range slices.Clone(r.Forks) {
		h.step(now, tree.Input{Kind: tree.Convict, Event: proof})
	}
}

// recent lists the latest events the node holds. In a lean world those are of
// the group's latest, which all members share.
func (h *host) recent(r *Record) []multicast.Event {
	if !h.world.cfg.Lean {
		return slices.Clone(r.recent)
	}
	var held []multicast.Event
	for _, e := range h.world.ledger(r.Group).latest {
		if r.holds(e.Stamp) {
			held = append(held, e)
		}
	}
	return held
}

func (h *host) Receive(now time.Duration, from overlay.ID, m *tree.Message) {
	if m.Event != nil && m.Event.Group != m.Group {
		panic("sim: the event of a message changed on the way: what a message points to is shared and stays")
	}
	h.step(now, tree.Input{Kind: tree.Receive, From: from, Msg: m})
	if h.world.reuses && atomic.AddInt32(&m.Others, -1) < 0 {
		h.lane.out.Spend(m)
	}
}

func (h *host) Gone(now time.Duration, peer overlay.ID) {
	h.step(now, tree.Input{Kind: tree.Gone, From: peer})
}

func (h *host) Routes(now time.Duration) { h.step(now, tree.Input{Kind: tree.Routes}) }
func (h *host) Tick(now time.Duration)   { h.step(now, tree.Input{Kind: tree.Tick}) }

// Glance implements the network's Glancer.
func (h *host) Glance(stage int, from overlay.ID, m *tree.Message) uint64 {
	if stage == 0 {
		return uint64(len(h.records))
	}
	sum := h.node.Glance(stage-1, from, m)
	if stage == 1 {
		sum += h.ep.Glance()
	}
	return sum
}

func (h *host) Deadline() time.Duration { return h.node.Deadline() }

// step feeds one input, does what the node wants done, and feeds what the
// application answers, until it has nothing more to say.
func (h *host) step(now time.Duration, in tree.Input) {
	l := h.lane
	if l.busy {
		panic("sim: an input in the middle of a step")
	}
	l.busy = true
	if h.world.reuses {
		h.world.spent.even(&l.out.Spent, now)
		h.world.asked.even(&l.out.Inquiries, now)
	}
	h.node.Step(now, in, &l.out)
	h.carryOut(now, &l.out)
	for k := 0; k < len(l.next); k++ {
		h.node.Step(now, l.next[k], &l.out)
		h.carryOut(now, &l.out)
	}
	if len(l.next) > 0 {
		clear(l.next)
		l.next = l.next[:0]
	}
	l.busy = false
}

func (h *host) carryOut(now time.Duration, out *tree.Outbox) {
	w := h.world
	h.ep.Ahead(len(out.Sends), func(k int) overlay.ID { return out.Sends[k].To })
	for _, s := range out.Sends {
		if w.cfg.Dropper != nil && w.cfg.Dropper(h.id) {
			if s.Msg = drop(s.Msg); s.Msg == nil {
				continue
			}
		}
		if w.cfg.Lie != nil {
			if s.Msg = w.cfg.Lie(h.id, s.To, s.Msg); s.Msg == nil {
				continue
			}
		}
		size := Size(s.Msg)
		t := &h.lane.traffic[int(s.Msg.Type)%len(h.lane.traffic)]
		t.Messages++
		t.Bytes += uint64(size)
		if w.cfg.Sent != nil {
			w.cfg.Sent(now, h.id, s.To, s.Msg)
		}
		h.ep.Post(s.To, s.Msg, uint8(s.Msg.Type), size)
	}
	for _, g := range out.Lookups {
		h.ep.Lookup(g.Key(), func(now time.Duration, nearest []overlay.ID, ok bool) {
			h.step(now, tree.Input{Kind: tree.Looked, Group: g, Nearest: nearest, OK: ok})
		})
	}
	for _, d := range out.Deliveries {
		h.deliver(now, d)
	}
	for _, e := range out.Kept {
		r := h.record(e.Group)
		r.leased = keep(r.leased, e, h.world.cfg.Recent)
		h.lane.next = append(h.lane.next, tree.Input{Kind: tree.Stored, Group: e.Group, Stamp: e.Stamp})
	}
	for _, no := range out.Notices {
		h.notice(now, no)
	}
	out.Reset()
}

// deliver stores an event: the record first, then the node hears that it is
// held.
func (h *host) deliver(now time.Duration, d multicast.Delivery) {
	r := h.record(d.Event.Group)
	s := d.Event.Stamp
	if h.world.cfg.Delivered != nil {
		h.world.cfg.Delivered(now, h.id, d)
	}
	r.Count++
	if !h.world.cfg.Lean {
		r.Deliveries = append(r.Deliveries, Delivered{Stamp: s, Tag: d.Event.Tag, At: now, Via: d.Via, From: d.From, Hops: d.Hops, Join: r.Joins})
	}
	r.advance(multicast.Stamp{Source: s.Source, Epoch: s.Epoch, Seq: d.Cursor})
	if s.Heartbeat() {
		return
	}
	if h.world.cfg.Lean {
		r.ahead = slices.DeleteFunc(r.ahead, r.done)
		if !r.done(s) {
			r.ahead = append(r.ahead, s)
		}
	}
	if !h.world.cfg.Lean {
		r.recent = keep(r.recent, d.Event, h.world.cfg.Recent)
	}
	h.lane.next = append(h.lane.next, tree.Input{Kind: tree.Stored, Group: d.Event.Group, Stamp: s})
}

// done reports whether the cursor says all there is to say of an event.
func (r *Record) done(s multicast.Stamp) bool { return r.whole(s) && !r.told(s) }

func keep(kept []multicast.Event, e multicast.Event, most int) []multicast.Event {
	if len(kept) >= most {
		kept = slices.Delete(kept, 0, len(kept)-most+1)
	}
	return append(kept, e)
}

func (r *Record) advance(head multicast.Stamp) {
	i := slices.IndexFunc(r.cursor, func(s multicast.Stamp) bool { return s.Source == head.Source })
	switch {
	case i < 0:
		r.cursor = append(r.cursor, head)
	case head.Compare(r.cursor[i]) > 0:
		r.cursor[i] = head
	}
}

// holds reports whether an event was delivered, as a lean record knows it.
func (r *Record) holds(s multicast.Stamp) bool {
	return r.whole(s) && !r.told(s) || slices.Contains(r.ahead, s)
}

// whole reports whether the line of s is settled up to it: delivered or given up.
func (r *Record) whole(s multicast.Stamp) bool {
	return slices.ContainsFunc(r.cursor, func(c multicast.Stamp) bool {
		return c.Source == s.Source && (c.Epoch > s.Epoch || c.Epoch == s.Epoch && c.Seq >= s.Seq)
	})
}

func (h *host) notice(now time.Duration, no tree.Notice) {
	w := h.world
	h.lane.notices[int(no.Kind)%len(h.lane.notices)]++
	if w.cfg.Watch != nil {
		w.cfg.Watch(now, h.id, no)
	}
	r := h.record(no.Group)
	switch no.Kind {
	case tree.Missing:
		r.Missing = append(r.Missing, no)
	case tree.GroupDropped:
		r.leased = nil
	case tree.Contradiction:
		if w.cfg.Prove == nil {
			return
		}
		if proof, ok := w.cfg.Prove(h.id, no.Events); ok {
			h.lane.next = append(h.lane.next, tree.Input{Kind: tree.Convict, Event: proof})
		}
	case tree.Forked:
		r.Forks = append(r.Forks, no.Events[0])
	case tree.BeatDue:
		beat := *r.publisher(h.id)
		beat.Beat = uint64(now.Milliseconds()) + 1
		h.lane.next = append(h.lane.next, tree.Input{Kind: tree.Publish, Group: no.Group, Event: w.event(no.Group, beat)})
	}
}
