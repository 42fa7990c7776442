package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// group is one tree as this node sees it.
type group struct {
	id multicast.Group
	role
	alarm alarm
	moves uint32 // how often heads had moved
	holding
	tune  tune
	duty  duty
	place place
	links links
	seek  seek
	avoid *avoided // nil: nobody
}

// role is what the node is in a group, and for how long.
type role struct {
	member bool
	apart  bool // there are neighbours enough, and none of them is in the tree
	fresh  bool // joined without a cursor and adopted by nobody since: lines met now are old
	touch  bool
	over   bool          // this node serves it no more
	far    uint16        // the way down to the last leaf, as Standing.Far
	lease  time.Duration // until when the group is kept for nobody; 0: it is not
}

// holding is what the node has of a group's events, and what it told of them.
type holding struct {
	lines  []*line
	latest []multicast.Stamp // their heads by then, as told last,
	told   *[1]Entry         // and in a list of one entry; nil: never
	buffer buffer
	forks  *forks // nil: none was proved
}

// place is where the node hangs in the tree.
//
// Invariants: the top has no parent; with a parent, path ends with it; path
// never contains the node itself; stands is empty or as long as path.
type place struct {
	parent   overlay.ID
	edge     uint64
	ver      uint64 // of the last path the parent sent
	top      bool   // nobody is above, and that is confirmed
	attached bool   // the way up ends at a confirmed top
	turn     uint8  // how many the parent sends to before
	blame    int16  // items in a row that came around it
	path     []overlay.ID
	stands   []Standing
	rtt      time.Duration // to the parent
	since    time.Duration
	wavers   time.Duration // until then it may be sent down
	said
}

// said is what the others were told of a place last, and when.
type said struct {
	sent   uint64        // the version of the path that children have
	told   load          // what the parent has
	passed time.Duration // the delay that children know of,
	lasted uint16        // the longest way of all, as Standing.Far,
	sized  uint32        // the size of the tree,
	heft   uint32        // and how many nodes are here and below
	lastAt time.Duration // when the top told the longest way
	loadAt time.Duration // when the parent is told again
}

// duty is what the nodes at the upper end look after. The root is where the
// overlay's routes end. It is the top of the tree too, unless a publisher is.
type duty struct {
	root    bool
	lost    uint8         // how often a tree below was let go of
	until   time.Duration // of a root below a publisher: until when it was told so; 0: for good
	check   time.Duration // top, publisher: when to look around again
	pause   time.Duration // and the pause after that
	aside   overlay.ID    // the top, if it is large enough to do without this root: joiners are sent there
	claimed time.Duration // when this node, a publisher, claimed the top last
	heeded  time.Duration // when another's claim was heeded last
}

// links are the node's neighbours below and beside it.
type links struct {
	children []child
	shorts   []uint32 // of their IDs, to find one by
	lazy     []*pair
	walkAt   time.Duration
	pause    time.Duration
	swap     *swap // nil: none is under way
	full     *full // nil: this node never was that
}

// full is what a node looks after that has no room, as few have.
type full struct {
	awaiting []awaiting // who waits for the end of the swap, the best first
	wants    []want     // who asked in vain
	kept     reserved
	shedAt   time.Duration // when the children that are left are cut, to send less; 0: never
}

// filled returns what it looks after, made if need be.
func (l *links) filled() *full {
	if l.full == nil {
		l.full = &full{}
	}
	return l.full
}

// shedAt is when the children that are left are cut, 0 if they are not.
func (l *links) shedAt() time.Duration {
	if l.full == nil {
		return 0
	}
	return l.full.shedAt
}

// awaiting are those that wait for the end of the swap.
func (l *links) awaiting() []awaiting {
	if l.full == nil {
		return nil
	}
	return l.full.awaiting
}

type child struct {
	id    overlay.ID
	edge  uint64
	ver   uint64 // of the last path sent
	since time.Duration
	stand Standing      // as it told last
	rtt   time.Duration // as it measured, or this node; 0: not known
	turn  uint8         // how many are sent to before, as it was told
}

func (g *group) child(id overlay.ID) int {
	if len(g.links.shorts) == 0 {
		return -1
	}
	want := short(id)
	for i, s := range g.links.shorts {
		if s == want && g.links.children[i].id == id {
			return i
		}
	}
	return -1
}

// isLazy reports whether there is a lazy link to id.
func (n *Node) isLazy(g *group, id overlay.ID) bool { return n.lazyAt(g, id) >= 0 }

// lazyAt is where a lazy link stands, -1 if there is none.
func (n *Node) lazyAt(g *group, id overlay.ID) int {
	p := n.pair(id)
	if p == nil {
		return -1
	}
	return slices.Index(g.links.lazy, p)
}

// near reports whether id is the parent or a child.
func (g *group) near(id overlay.ID) bool {
	return id != "" && (g.place.parent == id || g.child(id) >= 0)
}

func (g *group) line(s multicast.Source) *line {
	for _, l := range g.lines {
		if l.source == s {
			return l
		}
	}
	return nil
}

// heads lists the heads of all lines, for joins, acks and lazy links. The list
// is shared by everybody who was told the same, and never modified.
func (g *group) heads() []multicast.Stamp {
	known, same := 0, true
	for _, l := range g.lines {
		if l.epoch != 0 || l.high != 0 {
			same = same && known < len(g.latest) && g.latest[known] == l.head()
			known++
		}
	}
	if same && known == len(g.latest) {
		return g.latest
	}
	before := g.latest
	g.latest = make([]multicast.Stamp, 0, known)
	g.moves++
	for _, l := range g.lines {
		if l.epoch == 0 && l.high == 0 {
			continue
		}
		h := l.head()
		if i := of(before, h.Source); i < 0 || before[i] != h {
			l.moved = g.moves
		}
		g.latest = append(g.latest, h)
	}
	return g.latest
}

// movedSince lists the heads that moved after so many moves.
func (g *group) movedSince(moves uint32) (hs []multicast.Stamp) {
	for _, h := range g.heads() {
		if g.line(h.Source).moved > moves {
			hs = append(hs, h)
		}
	}
	return hs
}

// heard appends to claims the heads that neighbours claim and that are being asked for.
func (g *group) heard(claims []multicast.Stamp) []multicast.Stamp {
	for _, l := range g.lines {
		if l.recovery.claimAt != 0 {
			claims = append(claims, *l.recovery.claim)
		}
	}
	return claims
}

// cursor lists how far each line is unbroken.
func (g *group) cursor() []multicast.Stamp {
	hs := slices.Clone(g.heads())
	for i := range hs {
		l := g.line(hs[i].Source)
		if w := l.whole; w.epoch != 0 {
			hs[i] = multicast.Stamp{Source: l.source, Epoch: w.epoch, Seq: w.seq}
			continue
		}
		if seq := l.cursor(); seq != hs[i].Seq {
			hs[i].Seq, hs[i].Tag = seq, multicast.Tag{}
		}
	}
	return hs
}

// idle reports whether nobody needs this node in the group.
func (g *group) idle(now time.Duration) bool {
	return !g.member && len(g.links.children) == 0 && g.lease <= now
}

// when is the earliest time at which the group wants to be woken.
func (g *group) when() time.Duration {
	at := min(orNever(g.seek.at), orNever(g.links.walkAt), orNever(g.links.shedAt()), orNever(g.lease), orNever(g.duty.check),
		orNever(g.tune.at), orNever(g.place.loadAt))
	for _, l := range g.lines {
		at = min(at, l.recovery.when(), orNever(l.beatAt), orNever(l.stream.at))
		if g.member {
			at = min(at, orNever(l.overdue))
		}
	}
	if g.links.swap != nil {
		at = min(at, g.links.swap.until)
	}
	waiting := g.links.awaiting()
	for i := range waiting {
		if g.links.swap == nil {
			return 0
		}
		at = min(at, waiting[i].until)
	}
	if g.tune.y != nil {
		at = min(at, g.tune.y.until)
	}
	return at
}

func orNever(t time.Duration) time.Duration {
	if t == 0 {
		return never
	}
	return t
}

// buffer keeps the latest events of a group, oldest first.
type buffer struct {
	kept  []kept
	bytes int
}

type kept struct {
	event  *multicast.Event // shared with messages on their way
	from   overlay.ID
	want   uint8 // receipts the source wants
	passed uint8 // receipts handed on towards it
	stored bool  // the application holds it durably
}

func (b *buffer) add(k kept, cfg *Config) {
	b.kept = append(tight(b.kept, dozen), k)
	b.bytes += len(k.event.Body)
	for len(b.kept) > cfg.Buffer || b.bytes > cfg.BufferBytes && len(b.kept) > 1 {
		b.bytes -= len(b.kept[0].event.Body)
		b.kept[0] = kept{}
		b.kept = b.kept[1:]
	}
}

// find returns an event that is kept, or nil. Mostly it is a late one that is asked
// for.
func (b *buffer) find(s multicast.Stamp) *kept {
	for i := len(b.kept) - 1; i >= 0; i-- {
		k := &b.kept[i]
		if k.event.Stamp.Source == s.Source && k.event.Stamp.Epoch == s.Epoch && k.event.Stamp.Seq == s.Seq {
			return k
		}
	}
	return nil
}
