package tree_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

const ms = time.Millisecond

// late is a node without children, delay from a top that is direct away, in a tree whose
// last node is longest from it.
func late(t *testing.T, delay time.Duration, direct int32, longest uint16) *solo {
	s := alone(t, tree.Config{}, &chart{hop: "parent", rtt: 4 * ms})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
		Path: []overlay.ID{"top", "above", "parent"}, Posts: []tree.Standing{
			{Weight: 4096, Far: longest, At: at(direct)}, {Delay: delay / 2, Weight: 256, At: at(1)}, {Delay: delay - 4*ms, Weight: 16, At: at(1)}}})
	return s
}

// Who is one of the last of all goes on searching every few seconds, unless its way is as
// long as the one from the top itself, as its coordinate says; the very last always. By the
// rule for all others it would soon do so once in a quarter of an hour.
func TestTheLastOfAllGoOnSearching(t *testing.T) {
	for _, c := range []struct {
		delay   time.Duration
		direct  int32  // to the top, there and back
		longest uint16 // tenths of a millisecond
		on      bool
	}{
		{175 * ms, 290, 1800, true},
		{175 * ms, 290, 1750, true},
		{175 * ms, 290, 2300, false}, // others are later
		{175 * ms, 340, 1850, false}, // no way is much shorter, if that is where it lives
		{175 * ms, 340, 1800, true},  // and it is the very last: the coordinate may be wrong
		{175 * ms, 290, 0, false},    // nobody has said how late the last are
	} {
		s := late(t, c.delay, c.direct, c.longest)
		s.link("member")
		s.among(90 * time.Second)
		probes := s.count(tree.Probe, 2*time.Minute)
		if on := probes >= 12; on != c.on {
			t.Errorf("%v late of %d, %d from the top: %d probes in two minutes", c.delay, c.longest, c.direct/2, probes)
		}
	}
}

// They do so every second and a half, and where nobody answers a second later. Within a minute
// that is some twenty-four searches; at half that pace it would be fifteen. One search asks one
// or two.
func TestHowOftenTheLastSearch(t *testing.T) {
	s := late(t, 175*ms, 230, 1800)
	s.link("member")
	s.among(10 * time.Second)
	if probes := s.count(tree.Probe, time.Minute); probes < 28 {
		t.Errorf("%d probes within a minute", probes)
	}
}

// Who has many below it leaves it to them to find better places, and searches as one of the
// last only if they are late by its own way.
func TestWhoMakesManyLateSearchesAsTheLast(t *testing.T) {
	for _, c := range []struct {
		direct int32 // to the top, there and back
		weight uint32
		on     bool
	}{
		{112, 300, true},
		{180, 300, false}, // a little late
		{180, 10, true},   // the same, and nobody else is to blame
	} {
		s := late(t, 109*ms, c.direct, 2260)
		s.link("member")
		s.child("child", c.weight, 60*ms, 850) // 117 ms to the last leaf
		s.among(90 * time.Second)
		probes := s.count(tree.Probe, 2*time.Minute)
		if on := probes >= 12; on != c.on {
			t.Errorf("%d below, %d ms from the top: %d probes in two minutes", c.weight, c.direct/2, probes)
		}
	}
}

// child is one that joined, measured so far away, with so many nodes below it of which the
// last is so far from it.
func (s *solo) child(id overlay.ID, weight uint32, rtt time.Duration, far uint16) {
	own := tree.Standing{Delay: 10 * ms, Weight: weight, Far: far, Room: 3, At: at(3)}
	s.receive(id, tree.Message{Type: tree.Join, Group: group, Edge: uint64(len(id)) + uint64(weight), Flags: tree.Detached, Self: &own, RTT: rtt})
}

// The way down to the last leaf is half the round trip and 2 ms for each edge: the parent
// is told of it, and again when it is another one.
func TestTheParentIsToldHowFarTheLastIs(t *testing.T) {
	s := late(t, 20*ms, 10, 2000)
	told := func() uint16 {
		s.among(3 * time.Second)
		loads := s.sent("parent", tree.Load)
		if len(loads) == 0 {
			return 0
		}
		return loads[len(loads)-1].Self.Far
	}
	s.child("near", 1, 10*ms, 0)
	s.child("far", 3, 60*ms, 500)
	if far := told(); far != 300+20+500 {
		t.Errorf("told %d", far)
	}
	s.receive("far", tree.Message{Type: tree.Load, Group: group, Edge: 6, RTT: 90 * ms, // with the making of the connection
		Self: &tree.Standing{Delay: 52 * ms, Weight: 3, Far: 503, Room: 3, At: at(3)}})
	if far := told(); far != 0 {
		t.Errorf("told %d, which is nothing new", far)
	}
	s.receive("far", tree.Message{Type: tree.Load, Group: group, Edge: 6, Self: &tree.Standing{Delay: 52 * ms, Weight: 3, Far: 600, Room: 3, At: at(3)}})
	if far := told(); far != 300+20+600 {
		t.Errorf("told %d when nothing else had changed", far)
	}
	s.receive("far", tree.Message{Type: tree.Leave, Group: group, Edge: 6})
	if far := told(); far != 50+20 {
		t.Errorf("told %d when the last had gone", far)
	}
}

// The top says how far the last is when that changes, but not every moment.
func TestTheTopTellsHowFarTheLastIs(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{rtt: 4 * ms})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	if st, _ := s.n.Status(group); !st.Root {
		t.Fatalf("no root: %+v", st)
	}
	s.child("a", 2000, 10*ms, 500)
	s.child("bc", 1, 10*ms, 0)
	told := func(far uint16) (words []uint16) {
		own := tree.Standing{Delay: 10 * ms, Weight: 2000, Far: far, Room: 3, At: at(3)}
		s.receive("a", tree.Message{Type: tree.Load, Group: group, Edge: 2001, Self: &own})
		for _, m := range s.sent("bc", tree.Path) {
			words = append(words, m.Posts[0].Far)
		}
		return words
	}
	s.among(30 * time.Second)
	if w := told(900); !slices.Equal(w, []uint16{970}) {
		t.Errorf("told %v", w)
	}
	for far := uint16(800); far > 300; far -= 100 {
		s.among(time.Second)
		if w := told(far); w != nil {
			t.Errorf("told %v within seconds", w)
		}
	}
	s.among(15 * time.Second)
	if w := told(400); !slices.Equal(w, []uint16{470}) {
		t.Errorf("told %v", w)
	}
	s.among(15 * time.Second)
	if w := told(405); w != nil {
		t.Errorf("told %v, which is nothing new", w)
	}
}

// One of the last of all that finds nothing asks ever heavier nodes, as everybody does who
// searches ever more seldom: else whoever has bad luck with its neighbours stays where it is.
func TestTheLastAskEverHeavierNodes(t *testing.T) {
	const nodes = 20
	asked := map[uint16]int{}
	for _, longest := range []uint16{1800, 2300} { // with the latter others are later
		for seed := range uint64(nodes) {
			s := &solo{t: t, n: tree.New(tree.Config{}, &chart{hop: "parent", rtt: 4 * ms}, rand.New(rand.NewPCG(seed, 2)))}
			s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
			s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1,
				Path: []overlay.ID{"top", "heavy", "parent"}, Posts: []tree.Standing{
					{Weight: 8000, Far: longest, At: at(290)}, {Delay: 100 * ms, Weight: 1024, At: at(1)}, {Delay: 171 * ms, Weight: 16, At: at(1)}}})
			s.link("member")
			s.among(5 * time.Minute)
			if len(s.sent("heavy", tree.Probe)) > 0 {
				asked[longest]++
			}
		}
	}
	if asked[1800] < nodes/2 || asked[2300] > nodes/4 {
		t.Errorf("of %d each, %d of the last asked a node of 1,024 in five minutes, and %d of others", nodes, asked[1800], asked[2300])
	}
}

// Who loses a child while it is on its way to another parent tells that one: what it said
// when it asked is old.
func TestTheNewParentLearnsWhatChangedMeanwhile(t *testing.T) {
	s := late(t, 60*ms, 10, 0)
	s.child("child", 1, 10*ms, 0)
	s.among(5 * time.Second)
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Moved, Peers: []overlay.ID{"there"}})
	join := s.one("there", tree.Join)
	s.receive("child", tree.Message{Type: tree.Leave, Group: group, Edge: 6})
	s.receive("there", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"top", "there"},
		Posts: []tree.Standing{{Weight: 4096, At: at(10)}, {Delay: 9 * ms, Weight: 16, At: at(1)}}})
	s.among(3 * time.Second)
	loads := s.sent("there", tree.Load)
	if join.Self.Weight != 2 || len(loads) == 0 || loads[len(loads)-1].Self.Weight != 1 {
		t.Errorf("asked with %d nodes, and then said %+v", join.Self.Weight, loads)
	}
}

// In a small tree nobody is told: everybody has soon asked everybody.
func TestInASmallTreeNobodyIsLast(t *testing.T) {
	s := late(t, 175*ms, 290, 1800)
	s.receive("parent", tree.Message{Type: tree.Path, Group: group, Edge: edgeOf(s), Ver: 2, Path: []overlay.ID{"top", "above", "parent"},
		Posts: []tree.Standing{{Weight: 500, Far: 1800, At: at(290)}, {Delay: 80 * ms, Weight: 256, At: at(1)}, {Delay: 171 * ms, Weight: 16, At: at(1)}}})
	s.link("member")
	s.among(90 * time.Second)
	if probes := s.count(tree.Probe, 2*time.Minute); probes >= 12 {
		t.Errorf("%d probes in two minutes", probes)
	}
}
