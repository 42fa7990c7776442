package tree

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// hanging is a node so deep in a tree of that size, with one child that has so many edges below it.
func hanging(size uint32, depth int, below uint8) (*Node, *group) {
	path, stands := make([]overlay.ID, depth), make([]Standing, depth)
	for i := range path {
		path[i] = overlay.ID(rune('a' + i))
	}
	stands[0] = Standing{Weight: size, Height: 9}
	n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2)), self: "self"}
	n.step = step{now: time.Minute, out: &Outbox{}}
	g := &group{place: place{parent: path[depth-1], path: path, stands: stands, attached: true}}
	g.links.children = []child{{id: "child", stand: Standing{Weight: 3, Height: below}}}
	return n, g
}

// The depth beyond which nobody chooses to hang is a hop more than what so many nodes need, in a huge tree two
// more than what is needed by those that are certain: a tree of a million, told as two, is one of a million.
func TestDepthLimitOfAHugeTree(t *testing.T) {
	for _, c := range []struct {
		size  uint32
		limit int
	}{
		{1, 1}, {16, 2}, {17, 3}, {65_536, 5}, {65_537, 6}, {hugeFrom, 6}, {hugeFrom + 1, 7},
		{1_000_000, 7}, {1_048_577, 7}, {2_000_000, 7}, {4_194_304, 7}, {4_300_000, 8},
	} {
		n, g := searcherAmong(c.size)
		if limit := n.depthLimit(g); limit != c.limit {
			t.Errorf("of %d nodes nobody chooses to hang deeper than %d, want %d", c.size, limit, c.limit)
		}
	}
}

// Whom its parent sends away goes no deeper than by the hop that may be borne. Only in a smaller tree is it a
// reason that another one hangs as deep.
func TestWhoIsSentAwayInAHugeTreeDoesNotFollowTheDeepest(t *testing.T) {
	for _, c := range []struct {
		size         uint32
		depth, there int
		far          bool
	}{
		{1000, 1, 6, false}, // the deepest is at 9
		{1000, 1, 9, true},
		{1_000_000, 1, 5, false}, // and two edges below: 7, which is the limit
		{1_000_000, 1, 6, true},
		{1_000_000, 7, 7, false}, // it hangs as deep now
		{1_000_000, 7, 8, true},
	} {
		n, g := hanging(c.size, c.depth, 1)
		ack := &Message{Path: slices.Repeat([]overlay.ID{"x"}, c.there)}
		if far := n.farTooDeep(g, ack); far != c.far {
			t.Errorf("of %d nodes one from depth %d, two edges above the deepest, to %d: far too deep %v", c.size, c.depth, c.there, far)
		}
	}
}

// A child that measures where it could go counts those below it as it knows them, and a level more: below who comes,
// who will hang where it does, and elsewhere.
func TestWhatSinksInAHugeTree(t *testing.T) {
	const comer, other = 0, 1
	for _, c := range []struct {
		size    uint32
		depth   int
		below   int // edges below it
		at      int
		there   int // the depth of who offers the place
		sinking bool
	}{
		{1_000_000, 4, 1, comer, 9, false}, // 5, and 6 below it, and perhaps 7: the limit
		{1_000_000, 4, 2, comer, 9, true}, {1_000_000, 5, 1, comer, 9, true},
		{1000, 4, 2, comer, 9, false},
		{1_000_000, 4, 1, other, 4, false},
		{1_000_000, 4, 2, other, 4, true},
		{1_000_000, 4, 0, other, 6, false}, // of nobody below it there is no doubt
		{1_000_000, 4, 0, other, 7, true},
	} {
		n, g := hanging(c.size, c.depth, uint8(c.below-1))
		if c.below == 0 {
			g.links.children = nil
		}
		if sinking := n.sinks(g, c.at, &Message{Path: slices.Repeat([]overlay.ID{"x"}, c.there)}); sinking != c.sinking {
			t.Errorf("%+v: sinks %v", c, sinking)
		}
	}
}

// That the tree has grown to its limit below a node, or nearly, is told at once, and not within a second.
func TestThatSomebodyHangsAtTheLimitIsToldAtOnce(t *testing.T) {
	for _, c := range []struct {
		size  uint32
		depth int
		told  uint8
		soon  bool
	}{
		{1_000_000, 6, 1, true}, {1_000_000, 6, 3, false}, {1000, 6, 1, false},
		{1_000_000, 4, 1, true}, {1_000_000, 3, 1, false}, // 6 and 5 of 7
	} {
		n, g := hanging(c.size, c.depth, 1)
		g.place.told = load{weight: g.weight(), height: c.told}
		n.reckon(g)
		if wait := g.place.loadAt - n.step.now; (wait <= 2*growthWait) != c.soon {
			t.Errorf("of %d nodes, at depth %d, told of height %d and now %d: told again in %v", c.size, c.depth, c.told, g.height(), wait)
		}
	}
}

// Who was measured to be near is remembered, however little its coordinate tells; of who was not, that is all that is known.
func TestWhoWasMeasuredInAHugeTreeIsRemembered(t *testing.T) {
	for _, c := range []struct {
		size       uint32
		rtt        time.Duration
		off        int32
		remembered bool
	}{
		{1_000_000, time.Millisecond, errNew, true},
		{1_000_000, 0, errNew, false},
		{1_000_000, 0, errTrusted, true},
		{hugeFrom, time.Millisecond, errNew, false},
	} {
		n, g := searcherAmong(c.size)
		n.at.Coord = Coord{Err: errLeast}
		n.befriend(g, &candidate{id: "x", rtt: c.rtt, stand: Standing{Weight: 1, At: Coord{Err: c.off}}}, short("x"))
		if (len(g.tune.near) > 0) != c.remembered {
			t.Errorf("of %d nodes one with error %d, measured %v away: remembered %v", c.size, c.off, c.rtt, !c.remembered)
		}
	}
}

// Who has a place is taken in nowhere where it would be too deep, and, if it only wants a better one, not where it
// would be if who takes it in were sent down, for as long as that may happen.
func TestNobodyTooDeepIsTakenIn(t *testing.T) {
	for _, c := range []struct {
		size   uint32
		depth  int
		height uint8 // of who asks
		flags  Flags
		until  time.Duration
		why    Reason
	}{
		{1_000_000, 5, 0, Better, 2 * time.Minute, 0},
		{1_000_000, 6, 0, Better, 2 * time.Minute, Busy},
		{1_000_000, 5, 1, Better, 2 * time.Minute, Busy},
		{1_000_000, 6, 0, Better, time.Minute, 0}, // it was not sent
		{hugeFrom, 6, 0, Better, 2 * time.Minute, 0},
		{1_000_000, 6, 0, 0, 2 * time.Minute, 0}, // who was sent here has been weighed
		{1_000_000, 6, 1, 0, time.Minute, Busy},
		{1_000_000, 7, 0, 0, time.Minute, Busy},
		{1_000_000, 9, 3, Detached, time.Minute, 0}, // it has nothing else
		{hugeFrom, 9, 3, 0, time.Minute, 0},
	} {
		n, g := hanging(c.size, c.depth, 0)
		n.cfg.AllChildren, g.place.wavers = 16, c.until
		if why := n.mayAdopt(g, "joiner", &Message{Flags: c.flags, Self: &Standing{Weight: 1, Height: c.height}}); why != c.why {
			t.Errorf("%+v: %v", c, why)
		}
	}
}

// Who is sent somewhere looks at the depth there once more, in a huge tree also where it was sent first.
func TestWhoIsSentDownLooksOnceMore(t *testing.T) {
	for _, c := range []struct {
		size  uint32
		tried int
		poor  bool
	}{{1_000_000, 1, true}, {1_000_000, 2, true}, {1000, 1, false}, {1000, 2, true}} {
		n, g := hanging(c.size, 4, 2)
		g.place.stands[0].Height = 0
		g.seek = seek{on: true, aim: aim{sent: true}, candidates: candidates{tried: make([]overlay.ID, c.tried)}}
		if poor := n.poor(g, &Message{Path: slices.Repeat([]overlay.ID{"x"}, 6)}); poor != c.poor {
			t.Errorf("of %d nodes, to the place numbered %d, three edges above the deepest and at depth 6: poor %v", c.size, c.tried, poor)
		}
	}
}

// Whoever has somebody below it reckons with a level more where it would hang deeper than now, and not where it comes up
// or stays as deep.
func TestWhoMovesDeeperReckonsWithALevelMore(t *testing.T) {
	for _, c := range []struct {
		size   uint32
		depth  int
		below  int // edges below it
		to     int // the depth of the parent that it would have
		passes bool
	}{
		{1_000_000, 4, 2, 3, true}, {1_000_000, 4, 2, 4, false}, {1_000_000, 4, 1, 4, true},
		{1_000_000, 4, 1, 5, false}, {1_000_000, 4, 0, 6, true},
		{1_000_000, 6, 1, 5, true},                         // 7, which is the limit, and as deep as now
		{100_000, 4, 1, 4, true}, {100_000, 4, 2, 3, true}, // as deep as 6, which is the limit
	} {
		n, g := hanging(c.size, c.depth, uint8(c.below-1))
		if c.below == 0 {
			g.links.children = nil
		}
		g.place.stands[c.depth-1].Delay = time.Second
		bar := n.bar(g)
		if passes := bar.passes(c.to, 100*time.Millisecond); passes != c.passes {
			t.Errorf("of %d nodes, %d edges above the deepest, from depth %d to %d: passes %v", c.size, c.below, c.depth, c.to+1, passes)
		}
	}
}

// Room for many is worth a hop beyond the limit, but not in a huge tree.
func TestNoHopMoreIsBorneInAHugeTree(t *testing.T) {
	for _, c := range []struct {
		size  uint32
		depth int
		fits  bool
	}{{100_000, 3, true}, {100_000, 4, true}, {100_000, 5, false}, {1_000_000, 4, true}, {1_000_000, 5, false}} {
		n, g := hanging(c.size, c.depth, 0)
		n.router = unmeasured{}
		b := n.bargain(g, "joiner", &Message{Flags: Detached, Self: &Standing{Weight: 9, Height: 1}})
		b.credit = 1
		if below, _ := b.fits(&child{stand: Standing{Weight: 3, Height: 1}}); below != c.fits {
			t.Errorf("of %d nodes, a child at depth %d with one edge below it, below a joiner: fits %v", c.size, c.depth+1, below)
		}
	}
}

// unmeasured has measured nobody.
type unmeasured struct{ overlay.Router }

func (unmeasured) RTT(overlay.ID) (time.Duration, bool) { return 0, false }
