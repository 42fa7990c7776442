package tree

import "github.com/feedtree/feedtree/overlay"

// Glances is how often a node glances before a step: see Glance.
const Glances = 5

// Glance reads what a step will look at, the one that receives a message or, with m nil,
// another one, and changes nothing. It is for who runs a million nodes: a step finds its way
// from one thing to the next, and of a node that was not stepped for seconds each of them is
// waited for. What several nodes need comes as fast as what one needs, if it is asked for at
// once: so all of them are let glance before the first is stepped, one pointer further at
// each stage, from 0 to Glances-1. What is read is what the most frequent steps look at, of
// the node's first group. The sum means nothing: it is there so that the reads are made.
func (n *Node) Glance(stage int, from overlay.ID, m *Message) (sum uint64) {
	if stage == 0 {
		return n.glance() + m.glance(from)
	}
	if len(n.order) == 0 {
		return 0
	}
	g := n.order[0]
	switch stage {
	case 1:
		return n.glanceLists(m) + m.glanceLists()
	case 2:
		return g.glance() + n.glancePair(from, false)
	case 3:
		return g.glanceLists(m) + n.glancePair(from, true) + uint64(n.alarms.slots[g.alarm].pos) + m.glanceNames()
	default:
		return g.glanceOthers(m)
	}
}

func (n *Node) glance() uint64 {
	return uint64(len(n.order)+len(n.pairs.shorts)+len(n.alarms.slots)+int(n.held)) + uint64(n.cfg.KeepAlive) + uint64(n.at.Err)
}

// glanceLists reads the lists that are the node's own, one place of each cache line.
func (n *Node) glanceLists(m *Message) (sum uint64) {
	for i := 0; i < len(n.pairs.shorts); i += 16 {
		sum += uint64(n.pairs.shorts[i])
	}
	for i := 0; i < len(n.alarms.heap); i += 4 {
		sum += uint64(n.alarms.heap[i].at)
	}
	if m.is(Probe) || m.is(Offer) || m.is(Refuse) { // a round trip is learned
		for i := range n.at.seen {
			sum += uint64(n.at.seen[i].rtt)
		}
	}
	return sum
}

// glancePair reads what the node has in common with another one: first where that is.
func (n *Node) glancePair(from overlay.ID, within bool) (sum uint64) {
	if from == "" {
		return 0
	}
	want := short(from)
	for i, s := range n.pairs.shorts {
		if s != want {
			continue
		}
		if p := n.pairs.all[i]; within {
			sum += uint64(p.at.Err) + uint64(p.tellAt) + p.digest + uint64(p.told)
		} else if p.over {
			sum++
		}
	}
	return sum
}

// is reports whether there is a message, and of that type.
func (m *Message) is(t Type) bool { return m != nil && m.Type == t }

func (m *Message) glance(from overlay.ID) uint64 {
	if m == nil || from == "" {
		return 0
	}
	return uint64(from[0]) + uint64(m.Type) + m.Digest + uint64(len(m.Path)) + uint64(m.RTT) + uint64(len(m.Entries))
}

func (m *Message) glanceLists() (sum uint64) {
	if m == nil {
		return 0
	}
	for i := range m.Posts {
		sum += uint64(m.Posts[i].Delay)
	}
	for i := 0; i < len(m.Path); i += 4 {
		sum += uint64(len(m.Path[i]))
	}
	for i := 0; i < len(m.Peers); i += 4 {
		sum += uint64(len(m.Peers[i]))
	}
	if len(m.Entries) > 0 {
		sum += uint64(len(m.Entries[0].Heads))
	}
	if m.Self != nil {
		sum += uint64(m.Self.Delay)
	}
	if m.Event != nil {
		sum += uint64(m.Event.TTL) + m.Event.Stamp.Seq
	}
	return sum
}

// glanceNames reads the IDs that an offer names: all of them are sought among those known.
func (m *Message) glanceNames() (sum uint64) {
	if !m.is(Offer) {
		return 0
	}
	for _, id := range m.Path {
		sum += letter(id)
	}
	for _, id := range m.Peers {
		sum += letter(id)
	}
	return sum
}

// letter reads an ID.
func letter(id overlay.ID) uint64 {
	if id == "" {
		return 0
	}
	return uint64(id[0])
}

func (g *group) glance() uint64 {
	return uint64(g.alarm) + uint64(len(g.lines)) + uint64(g.tune.slow) + uint64(g.tune.asked.next) + uint64(g.duty.check) +
		uint64(len(g.place.path)) + uint64(g.place.rtt) + uint64(g.place.passed) + uint64(g.place.loadAt) +
		uint64(len(g.links.lazy)) + uint64(g.links.walkAt) + g.seek.edge + uint64(g.seek.at)
}

func (g *group) glanceLists(m *Message) (sum uint64) {
	for i := 0; i < len(g.links.shorts); i += 16 {
		sum += uint64(g.links.shorts[i])
	}
	if len(g.lines) > 0 {
		l := g.lines[0]
		sum += uint64(l.beatAt) + uint64(l.recovery.claimAt) + uint64(l.source[0]) + l.base
	}
	if len(g.latest) > 0 {
		sum += g.latest[0].Seq
	}
	if m == nil || m.Type == Probe || m.Type == Offer || m.Type == Path || m.Type == Load || m.Type == Data {
		for i := range g.links.children {
			sum += uint64(g.links.children[i].stand.Delay)
		}
		for i := range g.place.stands {
			sum += uint64(g.place.stands[i].Delay)
		}
	}
	if m == nil || m.Type == Probe || m.Type == Offer {
		for i := range g.tune.near {
			sum += uint64(g.tune.near[i].way)
		}
		if s := g.tune.s; s != nil {
			sum += uint64(s.probed)
		}
	}
	return sum
}

// glanceOthers reads what is told of others: the lazy links, whom an offer names and an event's
// heads go to, and whom a search knows.
func (g *group) glanceOthers(m *Message) (sum uint64) {
	if m.is(Probe) || m.is(Data) {
		for _, p := range g.links.lazy {
			sum += uint64(p.at.Err) + uint64(p.tellAt) + uint64(p.told)
		}
	}
	if m.is(Probe) || m.is(Join) { // each is compared with whom a bargain is about
		for i := range g.links.children {
			sum += letter(g.links.children[i].id)
		}
	}
	if s := g.tune.s; s != nil && (m == nil || m.Type == Offer) {
		for i := range s.pool {
			sum += uint64(s.pool[i].stand.Delay)
		}
		for i := range s.out {
			sum += uint64(s.out[i].sent)
		}
	}
	return sum
}
