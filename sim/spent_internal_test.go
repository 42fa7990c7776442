package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// One lane only receives, the other only sends: what the first has no use for serves the
// second, and no message is made twice over or handed to both.
func TestSpentMessagesGoWhereTheyAreWanted(t *testing.T) {
	var s spent
	var getting, sending []*tree.Message
	made := 0
	for range 20 * spentLot {
		s.even(&sending, 0)
		m := new(tree.Message)
		if last := len(sending) - 1; last >= 0 {
			m, sending = sending[last], sending[:last]
		} else {
			made++
		}
		s.even(&getting, 0)
		getting = append(getting, m)
	}
	if most := 4 * spentLot; made > most {
		t.Errorf("%d messages were made where %d are enough", made, most)
	}
	if most := 3*spentLot + 1; len(getting) > most {
		t.Errorf("a lane keeps %d spent messages, more than %d", len(getting), most)
	}
	seen := map[*tree.Message]bool{}
	for _, m := range slices.Concat(append(s.lots, getting, sending)...) {
		if seen[m] {
			t.Fatal("a message is kept twice")
		}
		seen[m] = true
	}
}

// After a busy time those are let go of that nobody wants any more, and no others.
func TestSpentMessagesThatNobodyWantsAreLetGo(t *testing.T) {
	var s spent
	var own []*tree.Message
	const busy, calm = 20 * spentLot, 5 * spentLot
	use := func(now time.Duration, n int) (made int) {
		var out []*tree.Message
		for range n {
			if s.even(&own, now); len(own) == 0 {
				own, made = append(own, new(tree.Message)), made+1
			}
			last := len(own) - 1
			out, own = append(out, own[last]), own[:last]
		}
		for _, m := range out {
			own = append(own, m)
			s.even(&own, now)
		}
		return made
	}
	kept := func() int { return len(slices.Concat(append(s.lots, own)...)) }
	if made := use(0, busy); made != busy || kept() != busy {
		t.Fatalf("%d messages were made and %d kept, of %d", made, kept(), busy)
	}
	for now := time.Second; now < time.Minute; now += time.Second {
		if made := use(now, calm); made > 0 {
			t.Fatalf("%d messages had to be made after %v, where no more than %d are used", made, now, calm)
		}
	}
	if most := calm + 3*spentLot; kept() > most {
		t.Errorf("%d messages are kept, of which %d are used at most", kept(), calm)
	}
}

// A message to several is used again once all have read it, and then once: whoever read it
// later would read another.
func TestASharedMessageIsSpentByItsLastReader(t *testing.T) {
	w := NewTrees(TreesConfig{Nodes: 60, Lean: true})
	g, top := w.GroupNamed("feed"), overlay.ID("n0")
	w.Join(g, w.IDs()...)
	if faults := w.Settle(10 * time.Minute); len(faults) > 0 {
		t.Fatal(faults)
	}
	waiting := 0
	for range 5 {
		w.Publish(g, top, 0)
		for range 100 {
			w.RunFor(5 * time.Millisecond)
			free := map[*tree.Message]bool{}
			for _, m := range slices.Concat(append(w.spent.lots, w.lanes[0].out.Spent)...) {
				if free[m] {
					t.Fatal("a message waits twice to be used again")
				}
				free[m] = true
				waiting++
				if m.Type != 0 || m.Others != 0 {
					t.Fatalf("a message waits to be used again and says %+v", m)
				}
			}
		}
	}
	if waiting == 0 {
		t.Error("no message waits to be used again")
	}
}
