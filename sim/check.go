package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Hole is an event that a member should have and has not, or has too often.
type Hole struct {
	Member overlay.ID
	Published
	Times int  // it was delivered, in one join
	Told  bool // the member knows that it lacks the event: it was told to use HTTP
}

func (h Hole) String() string {
	told := ""
	if h.Told {
		told = ", which it knows"
	}
	return fmt.Sprintf("%s: %d of line %s, published at %v by %s, delivered %d times%s",
		h.Member, h.Stamp.Seq, h.Stamp.Source, h.At, h.By, h.Times, told)
}

// Missed lists what live members are owed and do not hold. Events younger than
// grace are not due yet; a publisher holds its own.
func (w *Trees) Missed(g multicast.Group, grace time.Duration) []Hole {
	var holes []Hole
	for _, id := range w.ids {
		r := w.host(id).record(g)
		if !r.Member || !w.Alive(id) {
			continue
		}
		held := r.held()
		for _, p := range w.owed(g, id, grace) {
			if !held[p.Stamp] && !(w.cfg.Lean && r.holds(p.Stamp)) {
				holes = append(holes, Hole{Member: id, Published: p, Told: r.told(p.Stamp)})
			}
		}
	}
	return holes
}

// Owed returns how many deliveries Missed looked for, to set its holes against.
func (w *Trees) Owed(g multicast.Group, grace time.Duration) int {
	owed := 0
	for _, id := range w.ids {
		if w.host(id).record(g).Member && w.Alive(id) {
			owed += len(w.owed(g, id, grace))
		}
	}
	return owed
}

// owed returns what others published since the node is a member, up to grace
// ago.
func (w *Trees) owed(g multicast.Group, id overlay.ID, grace time.Duration) []Published {
	var owed []Published
	for _, p := range w.ledger(g).published[w.host(id).record(g).since:] {
		if p.By != id && p.At+grace <= w.Now() {
			owed = append(owed, p)
		}
	}
	return owed
}

func (r *Record) told(s multicast.Stamp) bool {
	return slices.ContainsFunc(r.Missing, func(n tree.Notice) bool {
		return n.Stamp.Source == s.Source && n.Stamp.Epoch == s.Epoch && n.From <= s.Seq && s.Seq <= n.To
	})
}

func (r *Record) held() map[multicast.Stamp]bool {
	held := make(map[multicast.Stamp]bool, len(r.Deliveries))
	for _, d := range r.Deliveries {
		held[d.Stamp] = true
	}
	return held
}

// Doubled lists what nodes, live or not, got more than once within one join.
func (w *Trees) Doubled(g multicast.Group) []Hole {
	w.needDeliveries("Doubled")
	var holes []Hole
	for _, id := range w.ids {
		r := w.host(id).record(g)
		type once struct {
			stamp multicast.Stamp
			join  int
		}
		times := map[once]int{}
		for _, d := range r.Deliveries {
			k := once{d.Stamp, d.Join}
			times[k]++
			if times[k] == 2 {
				holes = append(holes, Hole{Member: id, Published: Published{Stamp: d.Stamp, At: d.At}})
			}
		}
		for i := range holes {
			for join := 1; join <= r.Joins && holes[i].Member == id; join++ {
				holes[i].Times = max(holes[i].Times, times[once{holes[i].Stamp, join}])
			}
		}
	}
	return holes
}

// Lags returns, for every delivery of a published event, how long it took,
// sorted. What a member got by joining later is left out.
func (w *Trees) Lags(g multicast.Group) []time.Duration {
	w.needDeliveries("Lags")
	type origin struct {
		at    time.Duration
		index int
	}
	from := map[multicast.Stamp]origin{}
	for i, p := range w.ledger(g).published {
		from[p.Stamp] = origin{p.At, i}
	}
	var lags []time.Duration
	for _, id := range w.ids {
		r := w.host(id).record(g)
		for _, d := range r.Deliveries {
			if o, ok := from[d.Stamp]; ok && o.index >= r.since {
				lags = append(lags, d.At-o.at)
			}
		}
	}
	slices.Sort(lags)
	return lags
}

func (w *Trees) needDeliveries(who string) {
	if w.cfg.Lean {
		panic("sim: a lean world keeps no deliveries for " + who + ": use TreesConfig.Delivered")
	}
}

// Faults lists what is wrong with the edges of a group among live nodes, one
// sentence each.
func (w *Trees) Faults(g multicast.Group) []string {
	f := w.forest(g)
	return f.faults()
}

// Settle runs until no group has a fault, looking every second, and returns
// the faults left at the limit.
func (w *Trees) Settle(within time.Duration) []string {
	for end := w.Now() + within; ; w.RunFor(time.Second) {
		var faults []string
		for _, l := range w.groups {
			for _, f := range w.Faults(l.id) {
				faults = append(faults, l.name+": "+f)
			}
		}
		if len(faults) == 0 || w.Now() >= end {
			return faults
		}
	}
}

// Roots returns the live nodes that take themselves for the root of a group.
func (w *Trees) Roots(g multicast.Group) []overlay.ID {
	var roots []overlay.ID
	for _, s := range w.forest(g).stands {
		if s.status.Root {
			roots = append(roots, s.id)
		}
	}
	return roots
}

// Nearest returns the live node nearest to the group's key on the side of the
// network where id is, of those that can be dialled: the one that ought to be
// root there.
func (w *Trees) Nearest(g multicast.Group, id overlay.ID) overlay.ID {
	best := overlay.ID("")
	for _, c := range w.ids {
		if w.cfg.Unreachable != nil && w.cfg.Unreachable(c) {
			continue
		}
		if w.Alive(c) && w.sides[c] == w.sides[id] && (best == "" || g.Key().Closer(c.Key(), best.Key())) {
			best = c
		}
	}
	return best
}

// A forest is one group as all live nodes that serve it see it.
type forest struct {
	stands      []stand
	children    int // cap per group
	allChildren int
}

type stand struct {
	id     overlay.ID
	side   int
	status tree.GroupStatus
	total  int // children over all groups
}

func (w *Trees) forest(g multicast.Group) forest {
	f := forest{children: cmp.Or(w.cfg.Tree.Children, 16), allChildren: cmp.Or(w.cfg.Tree.AllChildren, 20+2*len(w.groups))}
	for _, id := range w.ids {
		if !w.Alive(id) {
			continue
		}
		node := w.host(id).node
		status, ok := node.Status(g)
		if !ok {
			if w.host(id).record(g).Member {
				status.Member = true
			} else {
				continue
			}
		}
		s := stand{id: id, side: w.sides[id], status: status}
		for _, other := range w.groups {
			if st, ok := node.Status(other.id); ok {
				s.total += len(st.Children)
			}
		}
		f.stands = append(f.stands, s)
	}
	return f
}

func (f *forest) faults() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	byID := map[overlay.ID]*stand{}
	for i := range f.stands {
		byID[f.stands[i].id] = &f.stands[i]
	}
	f.checkRoots(say)
	for i := range f.stands {
		s := &f.stands[i]
		st := s.status
		if st.Member && !st.Attached {
			say("%s is a member and not attached", s.id)
		}
		if len(st.Children) > f.children || s.total > f.allChildren {
			say("%s has %d children here and %d in all", s.id, len(st.Children), s.total)
		}
		checkParent(s, byID, say)
		for _, c := range st.Children {
			if child := byID[c]; child == nil || child.status.Parent != s.id {
				say("%s has the child %s, which has another parent or is gone", s.id, c)
			}
		}
		checkCycle(s, byID, say)
	}
	return out
}

// checkRoots: one root on each side where there are members.
func (f *forest) checkRoots(say func(string, ...any)) {
	roots, members := map[int][]string{}, map[int]int{}
	sides := []int{}
	for _, s := range f.stands {
		if !slices.Contains(sides, s.side) {
			sides = append(sides, s.side)
		}
		if s.status.Member {
			members[s.side]++
		}
		if s.status.Root {
			roots[s.side] = append(roots[s.side], string(s.id))
		}
	}
	for _, side := range sides {
		switch n := len(roots[side]); {
		case n == 0 && members[side] > 0:
			say("no root for %d members", members[side])
		case n > 1:
			say("%d roots: %s", n, strings.Join(roots[side], ", "))
		}
	}
}

// checkParent: the parent lives, knows the child, and its way to the top is
// the child's but for itself.
func checkParent(s *stand, byID map[overlay.ID]*stand, say func(string, ...any)) {
	st := s.status
	if st.Parent == "" {
		if len(st.Path) > 0 {
			say("%s has no parent and the path %v", s.id, st.Path)
		}
		if st.Attached && !st.Root {
			say("%s is attached, has no parent and is no root", s.id)
		}
		return
	}
	if st.Root {
		say("%s is root and has the parent %s", s.id, st.Parent)
	}
	parent := byID[st.Parent]
	if parent == nil || parent.side != s.side {
		say("%s has the parent %s, which is gone", s.id, st.Parent)
		return
	}
	if !slices.Contains(parent.status.Children, s.id) {
		say("%s has the parent %s, which does not know", s.id, st.Parent)
	}
	if want := append(slices.Clone(parent.status.Path), parent.id); st.Attached && !slices.Equal(st.Path, want) {
		say("%s has the path %v, its parent's makes it %v", s.id, st.Path, want)
	}
}

// checkCycle: going up ends. Each cycle is told once, by its smallest member.
func checkCycle(s *stand, byID map[overlay.ID]*stand, say func(string, ...any)) {
	least := s.id
	for at, steps := s, 0; at != nil && steps <= len(byID); steps++ {
		at = byID[at.status.Parent]
		if at == nil {
			return
		}
		least = min(least, at.id)
		if at == s {
			if least == s.id {
				say("going up from %s comes back after %d edges", s.id, steps+1)
			}
			return
		}
	}
}
