package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// group is one tree as this node sees it.
type group struct {
	id     multicast.Group
	key    overlay.Key
	member bool
	fresh  bool // joined without a cursor and adopted by nobody since: lines met now are old
	place  place
	avoid  avoided
	seek   seek
	links  links
	lines  []*line
	buffer buffer
	lease  time.Duration // until when the group is kept for nobody; 0: it is not
	alarm  alarm
	touch  bool
}

// place is where the node hangs in the tree.
//
// Invariants: a root has no parent; with a parent, path ends with it; path
// never contains the node itself.
type place struct {
	parent   overlay.ID
	edge     uint64
	ver      uint64 // of the last path the parent sent
	sent     uint64 // of the last path sent to children
	root     bool
	attached bool // the way to the top ends at a confirmed root
	path     []overlay.ID
	check    time.Duration // root: when to look for somebody closer
	pause    time.Duration // root: the pause after that
	since    time.Duration
	blame    int // items in a row that came around the parent
}

// links are the node's neighbours below and beside it.
type links struct {
	children []child
	lazy     []overlay.ID
	walkAt   time.Duration
	pause    time.Duration
}

type child struct {
	id    overlay.ID
	edge  uint64
	ver   uint64 // of the last path sent
	since time.Duration
}

func (g *group) child(id overlay.ID) int {
	return slices.IndexFunc(g.links.children, func(c child) bool { return c.id == id })
}

func (g *group) isLazy(id overlay.ID) bool { return slices.Contains(g.links.lazy, id) }

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

// heads lists the heads of all lines, for joins, acks and lazy links.
func (g *group) heads() []multicast.Stamp {
	var hs []multicast.Stamp
	for _, l := range g.lines {
		if l.epoch != 0 || l.high != 0 {
			hs = append(hs, l.head())
		}
	}
	return hs
}

// cursor lists how far each line is unbroken.
func (g *group) cursor() []multicast.Stamp {
	hs := g.heads()
	for i := range hs {
		hs[i].Seq = g.line(hs[i].Source).cursor()
	}
	return hs
}

// idle reports whether nobody needs this node in the group.
func (g *group) idle(now time.Duration) bool {
	return !g.member && len(g.links.children) == 0 && g.lease <= now
}

// when is the earliest time at which the group wants to be woken.
func (g *group) when() time.Duration {
	at := min(orNever(g.seek.at), orNever(g.links.walkAt), orNever(g.lease))
	if g.place.root {
		at = min(at, orNever(g.place.check))
	}
	for _, l := range g.lines {
		at = min(at, l.recovery.when(), orNever(l.beatAt))
		if g.member {
			at = min(at, orNever(l.overdue))
		}
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
	b.kept = append(b.kept, k)
	b.bytes += len(k.event.Body)
	for len(b.kept) > cfg.Buffer || b.bytes > cfg.BufferBytes && len(b.kept) > 1 {
		b.bytes -= len(b.kept[0].event.Body)
		b.kept[0] = kept{}
		b.kept = b.kept[1:]
	}
}

func (b *buffer) find(s multicast.Stamp) *kept {
	for i := range b.kept {
		k := &b.kept[i]
		if k.event.Stamp.Source == s.Source && k.event.Stamp.Epoch == s.Epoch && k.event.Stamp.Seq == s.Seq {
			return k
		}
	}
	return nil
}
