package live

import (
	"slices"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/signing"
)

// Carrier is a Loop as [multicast.Carrier] knows it.
type Carrier struct{ *Loop }

var _ multicast.Carrier = Carrier{}

// NewCarrier makes a loop that calls back as package multicast says. The
// callbacks of c itself are not used.
func NewCarrier(o Overlay, c Config, out multicast.Callbacks[*signing.Envelope]) Carrier {
	c.Judge, c.Deliver, c.Keep, c.Notice = nil, out.Deliver, out.Keep, nil
	if judge := out.Judge; judge != nil {
		c.Judge = func(env *signing.Envelope) (Verdict, string) {
			verdict, why := judge(env)
			return verdicts[verdict], why
		}
	}
	if tell := out.Notice; tell != nil {
		c.Notice = func(n tree.Notice) {
			if n.Kind == tree.Contradiction {
				return // the loop's own business
			}
			tell(multicast.Notice{
				Kind: notices[n.Kind], Group: n.Group, Stamp: n.Stamp, From: n.From, To: n.To,
				Root: n.Root, Peers: slices.Clone(n.Peers), After: n.After, Proof: proofIn(n),
			})
		}
	}
	return Carrier{New(o, c)}
}

// The same words in both packages. A verdict that is none refuses.
var (
	verdicts = map[multicast.Verdict]Verdict{multicast.Accept: Accept, multicast.Refuse: Refuse, multicast.Unknown: Unknown}
	notices  = map[tree.NoticeKind]multicast.NoticeKind{
		tree.Attached: multicast.Attached, tree.DetachedNow: multicast.Detached, tree.Missing: multicast.Missing,
		tree.Overdue: multicast.Overdue, tree.BeatDue: multicast.BeatDue, tree.Receipt: multicast.Receipt,
		tree.GroupDropped: multicast.Dropped, tree.Silent: multicast.Silent, tree.Told: multicast.Told, tree.Apart: multicast.Apart, tree.Found: multicast.Found, tree.Forked: multicast.Forked,
	}
)

// Group describes a group as the node sees it now.
func (c Carrier) Group(g multicast.Group) (multicast.Status, bool) {
	s, ok := c.Loop.Group(g)
	return multicast.Status{
		Group: g, Member: s.Member, Root: s.Root, Attached: s.Attached, Apart: s.Apart,
		Parent: s.Parent, Children: s.Children, Heads: slices.Concat(s.Heads, s.Heard),
		Audience: -1, Depth: len(s.Path), Size: s.Size,
	}, ok
}

// Counters returns what the tree did, and what was refused or dropped in it and
// around it, by reason.
func (c Carrier) Counters() (done, refused map[string]uint64) {
	n, refused := c.Loop.Counters()
	if refused == nil {
		refused = map[string]uint64{}
	}
	for why, count := range map[string]uint64{
		"tree: unasked": n.Unasked, "tree: too many sources": n.LinesFull, "tree: too many forks": n.ForksFull, "tree: malformed": n.Malformed,
	} {
		if count > 0 {
			refused[why] = count
		}
	}
	done = map[string]uint64{
		"tree_delivered": n.Delivered, "tree_duplicates": n.Duplicates, "tree_stale": n.Stale,
		"tree_gaps": n.Gaps, "tree_recovered": n.Recovered, "tree_missing": n.Missing,
		"tree_joins_refused": n.Refused, "tree_rejoins": n.Rejoins, "tree_loops_broken": n.LoopsBroken, "tree_spared": n.Spared, "tree_apart": n.Apart,
	}
	c.volume.into(done)
	return done, refused
}

// Abilities says that the tree can do all.
func (Carrier) Abilities() multicast.Abilities {
	return multicast.Abilities{CatchUp: true, Fill: true, Ask: true, Lease: true, Forks: true}
}
