package tree

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// pair is what this node and one neighbour have in common, over all groups:
// one keep-alive watches the link (FeedTree §4.2: only while nothing else is
// heard over it), one digest compares the edges, heads are told together.
//
// What most steps look at stands first, close together.
type pair struct {
	id       overlay.ID
	at       Coord         // where the neighbour said that it is
	probe    time.Duration // ping by then if nothing is heard
	dead     time.Duration // gone by then if nothing is heard; 0: no ping is out
	tellAt   time.Duration
	alarm    alarm
	pings    uint8
	waits    waits
	touch    bool
	over     bool   // nothing is left in common
	one      [1]tie // most pairs share one group
	digest   uint64
	compared time.Duration // when digests were sent last
	told     time.Duration // when heads were told last
	tell     *group        // whose heads the neighbour is to be told, before those of more
	asked    time.Duration // when the last ping left; 0: it was answered
	more     *more         // nil with most pairs
}

// waits is for what a neighbour waits that is to be told heads.
type waits uint8

const (
	forNothing waits = iota
	forEvent         // it was told a moment ago, and may wait for the next event
	forStream        // and longer, for it is told of a stream
)

// more is what few pairs need: a node has a dozen of pairs, and a simulator a million nodes.
type more struct {
	ties    []tie         // all of them, once there were two
	tell    []*group      // further groups whose heads the neighbour is to be told
	doubted time.Duration // when it was last asked for what it says differently
}

// extra is what few pairs need, made if need be.
func (p *pair) extra() *more {
	if p.more == nil {
		p.more = &more{}
	}
	return p.more
}

// ties are what there is between the two, group by group.
func (p *pair) ties() []tie {
	switch {
	case p.more != nil && len(p.more.ties) > 0:
		return p.more.ties
	case p.one[0].g != nil:
		return p.one[:]
	}
	return nil
}

func (p *pair) addTie(t tie) {
	ties := p.ties()
	if len(ties) == 0 {
		p.one[0] = t
		return
	}
	p.extra().ties = append(ties, t)
	p.one[0] = tie{}
}

func (p *pair) dropTie(i int) {
	if p.one[0].g != nil {
		p.one[0] = tie{}
		return
	}
	p.more.ties = slices.Delete(p.more.ties, i, i+1)
}

// tie counts the edges and lazy links of one group between the two.
type tie struct {
	g      *group
	n      int16
	edges  int16             // of these: the others are lazy links
	told   uint32            // up to which of the group's moves the neighbour was told heads
	theirs []multicast.Stamp // the heads that the neighbour told
}

// near reports whether there is an edge: whether the neighbour is the parent or a child.
func (t *tie) near() bool { return t != nil && t.edges > 0 }

// tied returns what there is between the two in a group, nil if nothing.
func (p *pair) tied(g *group) *tie {
	if p == nil {
		return nil
	}
	ties := p.ties()
	for i := range ties {
		if ties[i].g == g {
			return &ties[i]
		}
	}
	return nil
}

// hears keeps what the neighbour has of a group: beside what it tells now, what it
// told before of other lines that are known here.
func (p *pair) hears(g *group, heads []multicast.Stamp) {
	t := p.tied(g)
	if t == nil {
		return
	}
	before := t.theirs
	t.theirs = heads
	for _, was := range before {
		if of(heads, was.Source) < 0 && g.line(was.Source) != nil {
			t.theirs = append(t.theirs[:len(t.theirs):len(t.theirs)], was)
		}
	}
}

// of is where the head of a source's line is among others, -1 if it is not.
func of(heads []multicast.Stamp, s multicast.Source) int {
	return slices.IndexFunc(heads, func(h multicast.Stamp) bool { return h.Source == s })
}

// knows reports whether the neighbour has told these heads, or later ones, itself.
func (p *pair) knows(g *group, heads []multicast.Stamp) bool {
	t := p.tied(g)
	return t != nil && !slices.ContainsFunc(heads, func(h multicast.Stamp) bool {
		return behind(t.theirs, h) || differs(t.theirs, h)
	})
}

// pairs are a node's, by a short form of their IDs: whatever a node does
// begins with finding one.
type pairs struct {
	shorts []uint32
	all    []*pair
}

// place is where the pair of an ID stands, or is to stand.
func (ps *pairs) place(id overlay.ID) (int, bool) {
	want := short(id)
	i, _ := slices.BinarySearch(ps.shorts, want)
	for ; i < len(ps.shorts) && ps.shorts[i] == want; i++ {
		if ps.all[i].id == id {
			return i, true
		}
	}
	return i, false
}

func (ps *pairs) find(id overlay.ID) *pair {
	if i, ok := ps.place(id); ok {
		return ps.all[i]
	}
	return nil
}

// pair returns what this node and another have in common, nil if nothing. Mostly it is the
// one that the step is about, which is found at once.
func (n *Node) pair(id overlay.ID) *pair {
	o := n.step.out
	if o.pair == nil || o.pair.id != id {
		o.pair = n.pairs.find(id)
	}
	return o.pair
}

func (ps *pairs) add(p *pair) {
	i, _ := ps.place(p.id)
	ps.shorts = slices.Insert(tight(ps.shorts, dozen), i, short(p.id))
	ps.all = slices.Insert(tight(ps.all, dozen), i, p)
}

func (ps *pairs) drop(p *pair) {
	if i, ok := ps.place(p.id); ok {
		ps.shorts = slices.Delete(ps.shorts, i, i+1)
		ps.all = slices.Delete(ps.all, i, i+1)
	}
	p.over = true
}

func (p *pair) when() time.Duration {
	at := min(orNever(p.tellAt), p.probe)
	if p.dead != 0 {
		at = min(orNever(p.tellAt), p.dead)
	}
	return at
}

func (n *Node) touchPair(p *pair) {
	if !p.touch {
		p.touch = true
		n.step.out.pairs = append(n.step.out.pairs, p)
	}
}

// edgeDigest stands for one edge in a pair's digest. Lazy links have edge 0
// and no parent. Digests are xored: order does not matter, and an edge taken
// out leaves no trace.
func edgeDigest(g multicast.Group, edge uint64, parent overlay.ID) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], edge)
	h.Write(g[:])
	h.Write(b[:])
	h.Write([]byte(parent))
	return h.Sum64()
}

func lazyDigest(g multicast.Group) uint64 { return edgeDigest(g, 0, "") }

// tie adds a link of a group to the pair, which begins with its first: an edge, or
// with no edges a lazy link.
func (n *Node) tie(id overlay.ID, g *group, digest uint64, edges int16) *pair {
	p := n.pair(id)
	if p == nil {
		if edges > 0 && n.crowded() {
			n.makeRoom(g)
		}
		p = again(&n.step.out.parted)
		p.id, p.compared, p.probe = id, n.step.now, n.step.now+n.jitter(n.cfg.KeepAlive, 0.25)
		p.alarm = n.alarms.add(sleeper{pair: p})
		n.pairs.add(p)
		n.relieve()
	}
	n.touchPair(p)
	p.digest ^= digest
	if t := p.tied(g); t != nil {
		t.n++
		t.edges += edges
		return p
	}
	p.addTie(tie{g: g, n: 1, edges: edges})
	return p
}

// silence is how long a neighbour may be silent before it is pinged. The more
// neighbours, the longer, so that what a node spends on them stays the same; and
// a lazy link is one of several and watched less.
func (n *Node) silence(p *pair) time.Duration {
	wait := max(n.cfg.KeepAlive, time.Duration(len(n.pairs.all)-fewPairs)*pairShare)
	if p.holds() {
		return wait
	}
	return max(lazyPart*n.cfg.KeepAlive, wait)
}

// untie takes a link out; a pair without links is forgotten.
func (n *Node) untie(id overlay.ID, g *group, digest uint64, edges int16) {
	p := n.pair(id)
	if p == nil {
		panic("tree: an edge without its pair")
	}
	n.touchPair(p)
	p.digest ^= digest
	for i := range p.ties() {
		t := &p.ties()[i]
		if t.g != g {
			continue
		}
		t.edges -= edges
		if t.n--; t.n == 0 {
			p.dropTie(i)
			p.forgetTell(g)
		}
		if len(p.ties()) == 0 {
			n.pairs.drop(p)
			n.step.out.pair = nil
			n.roomAgain()
		}
		return
	}
	panic("tree: an edge its pair does not count")
}

// toTell appends to gs the groups whose heads the neighbour is to be told.
func (p *pair) toTell(gs []*group) []*group {
	if p.tell == nil {
		return gs
	}
	gs = append(gs, p.tell)
	if p.more != nil {
		gs = append(gs, p.more.tell...)
	}
	return gs
}

// mustTell adds a group to them; false if it was there.
func (p *pair) mustTell(g *group) bool {
	switch {
	case p.tell == nil:
		p.tell = g
	case p.tell == g || p.more != nil && slices.Contains(p.more.tell, g):
		return false
	default:
		p.extra().tell = append(p.more.tell, g)
	}
	return true
}

// tellsOnly reports whether a group is the only one of them.
func (p *pair) tellsOnly(g *group) bool {
	return p.tell == g && (p.more == nil || len(p.more.tell) == 0)
}

func (p *pair) forgetTell(g *group) {
	var further []*group
	if p.more != nil {
		further = p.more.tell
	}
	switch i := slices.Index(further, g); {
	case p.tell == g && len(further) > 0:
		p.tell, p.more.tell = further[0], slices.Delete(further, 0, 1)
	case p.tell == g:
		p.tell = nil
	case i >= 0:
		p.more.tell = slices.Delete(further, i, i+1)
	}
}

func (p *pair) allTold() {
	p.tell = nil
	if p.more != nil {
		clear(p.more.tell)
		p.more.tell = p.more.tell[:0]
	}
}

// heard notes a sign of life.
func (n *Node) heard(id overlay.ID, m *Message) {
	if p := n.pair(id); p != nil {
		if m.Self != nil && m.Self.At.Known() {
			p.at = m.Self.At
		}
		p.dead, p.pings = 0, 0
		p.probe = n.step.now + n.jitter(n.silence(p), 0.25)
		n.touchPair(p)
	}
}

// expect wants a sign of life from a neighbour soon: data went there, or it
// should have sent some.
func (n *Node) expect(id overlay.ID, within time.Duration) {
	if p := n.pair(id); p != nil && p.dead == 0 {
		p.probe = min(p.probe, n.step.now+within)
		n.touchPair(p)
	}
}

func (n *Node) wakePair(p *pair) {
	n.touchPair(p)
	now := n.step.now
	if due(p.tellAt, now) {
		n.tellHeads(p)
	}
	switch {
	case p.dead != 0 && p.dead > now, p.dead == 0 && p.probe > now:
	case p.pings >= 2:
		n.notice(Notice{Kind: Silent, Peers: []overlay.ID{p.id}})
		n.gone(p.id)
	default:
		p.pings++
		p.dead = now + n.cfg.Patience*time.Duration(1+p.pings)/2
		p.asked = now
		n.post(p.id, n.keepAlive(Ping, p))
	}
}
