package tree_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// full is a node next door to the top with fifteen children 40 ms away, which have so many
// nodes below each.
func full(t *testing.T, weight uint32, height uint8) (*solo, *chart) {
	t.Helper()
	return fullBy(t, tree.Config{}, weight, height)
}

func fullBy(t *testing.T, cfg tree.Config, weight uint32, height uint8) (*solo, *chart) {
	t.Helper()
	c := &chart{hop: "parent", rtts: map[overlay.ID]time.Duration{"parent": time.Millisecond}}
	s := alone(t, cfg, c)
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1, Path: []overlay.ID{"parent"},
		Posts: []tree.Standing{{Weight: 16_000, At: at(0)}}})
	for i := range 15 {
		own := tree.Standing{Delay: 44 * time.Millisecond, Weight: weight, Height: height, At: at(80)}
		s.receive(overlay.ID(fmt.Sprint("child ", i)), tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached, Self: &own})
	}
	return s, c
}

// wanted is one of whose children each would lose much by going. So many others asked it in
// vain, each with two hundred below, as far away, which would gain 100 ms.
func wanted(t *testing.T, many int, height uint8) (*solo, *chart) {
	t.Helper()
	s, c := full(t, 1000, height)
	for i := range many {
		id := overlay.ID(fmt.Sprint("asks ", i))
		own := tree.Standing{Delay: 143 * time.Millisecond, Weight: 200, Height: 1, At: at(80)}
		s.receive(id, tree.Message{Type: tree.Probe, Group: group, Self: &own})
		if o := s.one(id, tree.Offer); o.Flags&tree.Better != 0 {
			t.Fatalf("%s would be taken", id)
		}
	}
	return s, c
}

// Of a full node that many want a newcomer next door becomes a child, for the room that it
// brings. Nobody far away does, wherever it says that it is, nobody without room, and nobody
// where nobody asked or who asked did so long ago. Who goes may be a hop too deep then.
func TestRoomNextDoorIsWorthWhatThoseGainThatAskedInVain(t *testing.T) {
	for _, row := range []struct {
		name   string
		asked  int
		since  time.Duration
		height uint8 // of the children's subtrees; two fit below another child
		away   int32 // by the coordinate,
		rtt    time.Duration
		room   uint8
		want   bool
	}{
		{"next door, and twelve want it", 12, 0, 2, 2, 2 * time.Millisecond, 15, true},
		{"who goes is a hop too deep", 12, 0, 3, 2, 2 * time.Millisecond, 15, true},
		{"who goes is two hops too deep", 12, 0, 4, 2, 2 * time.Millisecond, 15, false},
		{"nobody asked", 0, 0, 2, 2, 2 * time.Millisecond, 15, false},
		{"twelve asked a minute ago", 12, time.Minute, 2, 2, 2 * time.Millisecond, 15, false},
		{"its only place is for the child that goes", 12, 0, 2, 2, 2 * time.Millisecond, 1, false},
		{"as far away as they are", 12, 0, 2, 60, 60 * time.Millisecond, 15, false},
		{"says that it is next door", 12, 0, 2, 2, 60 * time.Millisecond, 15, false},
	} {
		s, c := wanted(t, row.asked, row.height)
		s.now += row.since
		c.rtts["newcomer"] = row.rtt
		own := tree.Standing{Delay: 100 * time.Millisecond, Weight: 1, Room: row.room, At: at(row.away)}
		s.receive("newcomer", tree.Message{Type: tree.Probe, Group: group, Self: &own})
		if got := s.one("newcomer", tree.Offer).Flags&tree.Better != 0; got != row.want {
			t.Errorf("%s: taken: %v", row.name, got)
		}
	}
}

// swaps reports whether "heavy", which joins, is taken if all children that are asked say
// that they would have such a delay elsewhere.
func (s *solo) swaps(join tree.Message, delay time.Duration) bool {
	s.t.Helper()
	s.receive("heavy", join)
	ids := asked(s.t, s)
	if len(ids) == 0 {
		s.t.Fatal("nobody was asked")
	}
	for _, id := range ids {
		s.receive(id, answer(s, id, delay))
	}
	return len(s.sent("heavy", tree.Ack)) > 0
}

// However much is gained by it, no child is sent where it would hang plainly badly: half as
// long again as the way from the top need be, and more.
func TestNoChildPaysForASwapByHangingBadly(t *testing.T) {
	for delay, goes := range map[time.Duration]bool{60 * time.Millisecond: true, 120 * time.Millisecond: false} {
		s, _ := full(t, 1, 0)
		if s.swaps(better(100), delay) != goes {
			t.Errorf("a child 40 ms from the top that would be %v from it by the tree: swapped: %v", delay, !goes)
		}
	}
}

// What others may gain by a newcomer's room is no reason to send a child far away.
func TestNoChildGoesFarForTheRoomThatANewcomerBrings(t *testing.T) {
	for delay, goes := range map[time.Duration]bool{55 * time.Millisecond: true, 70 * time.Millisecond: false} {
		s, _ := wanted(t, 12, 2)
		join := better(1)
		join.Self.Room, join.RTT = 15, 2*time.Millisecond
		if s.swaps(join, delay) != goes {
			t.Errorf("a child at 50 ms that would be at %v: swapped: %v", delay, !goes)
		}
	}
}

// However many say that they want it, a node remembers a dozen.
func TestThoseThatAskInVainAreBounded(t *testing.T) {
	s, _ := wanted(t, 12, 2)
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	for i := range 10_000 {
		own := tree.Standing{Delay: time.Second, Weight: uint32(200 + i), Height: 1, At: at(80)}
		s.receive(overlay.ID(fmt.Sprint("asks too ", i)), tree.Message{Type: tree.Probe, Group: group, Self: &own})
	}
	if after := inUse(); after > before+200_000 {
		t.Errorf("%d bytes more after 10,000 asked", after-before)
	}
	runtime.KeepAlive(s)
}

// Who is at the top asks nobody, and hears from many: it learns where it is from those.
func TestWhoIsAskedLearnsWhereItIs(t *testing.T) {
	c := &chart{rtts: map[overlay.ID]time.Duration{}}
	s := alone(t, tree.Config{}, c)
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	const here = 70
	rng := rand.New(rand.NewPCG(1, 1))
	ask := func(i int) *tree.Message {
		id, where := overlay.ID(fmt.Sprint("asks ", i)), rng.Int32N(200)
		c.rtts[id] = time.Duration(math.Abs(float64(where-here)))*time.Millisecond + time.Millisecond
		own := tree.Standing{Delay: time.Second, Weight: 1, At: at(where)}
		s.receive(id, tree.Message{Type: tree.Probe, Group: group, Self: &own})
		return s.one(id, tree.Offer)
	}
	for i := range 40 {
		ask(i)
	}
	o := ask(40)
	if !o.Self.At.Known() {
		t.Fatal("it does not know where it is")
	}
	for _, where := range []int32{0, 70, 150} {
		want := math.Abs(float64(where - here))
		if got := float64(o.Self.At.RTT(at(where))) / float64(time.Millisecond); math.Abs(got-want) > 15 {
			t.Errorf("%.0f ms to who is %.0f ms away", got, want)
		}
	}
}

// Of the many that are below the top hardly anybody asks there, but who lives next door
// does now and then: not where all do.
func TestWhoLivesNextDoorToTheTopAsksThere(t *testing.T) {
	const runs = 200
	count := func(lazy time.Duration) (asked int) {
		for seed := range uint64(runs) {
			c := &chart{rtt: 2 * time.Millisecond, rtts: map[overlay.ID]time.Duration{}}
			s := searching(t, c, seed, 0, 90*time.Millisecond, 180*time.Millisecond)
			for i := range 8 {
				id := overlay.ID(fmt.Sprint("member ", i))
				c.rtts[id] = lazy
				s.link(id)
			}
			for _, id := range s.probes(5*time.Minute, silent) {
				if id == "above 0" {
					asked++
				}
			}
		}
		return asked
	}
	far, near := count(200*time.Millisecond), count(4*time.Millisecond)
	if far < runs/20 || far > 3*runs || near > far/4 {
		t.Errorf("of %d next door to the top %d asked there, where all are as near %d", runs, far, near)
	}
}
