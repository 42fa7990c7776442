package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// Nobody dials an undialable node or has it in a table; what it connects to
// answers it.
func TestUndialable(t *testing.T) {
	for _, joined := range []bool{false, true} {
		ids := append(names(30), "hidden", "lurking")
		w := newWorld(sim.Config[note]{
			Tables:     sim.Tables{Joined: joined},
			Undialable: func(id overlay.ID) bool { return id == "hidden" || id == "lurking" },
		}, plain, ids...)
		w.send("n00001", "hidden", 1)
		w.send("lurking", "hidden", 1)
		w.Run(10 * time.Second)
		for _, from := range []overlay.ID{"n00001", "lurking"} {
			if a := w.toys[from]; !slices.Equal(a.gone, []overlay.ID{"hidden"}) || a.goneAt[0] != 5*time.Second {
				t.Errorf("joined %v: %s lost %v at %v, want the dial to fail after 5s", joined, from, a.gone, a.goneAt)
			}
		}
		if got := w.toys["hidden"].got; got != nil {
			t.Errorf("joined %v: it got %v from who cannot dial it", joined, got)
		}
		w.send("hidden", "n00002", 7)
		w.Run(11 * time.Second)
		w.send("n00002", "hidden", 8)
		w.Run(12 * time.Second)
		if got := w.toys["n00002"].got; !slices.Equal(got, []note{7}) {
			t.Errorf("joined %v: it sent 7, %v arrived", joined, got)
		}
		if got := w.toys["hidden"].got; !slices.Equal(got, []note{8}) {
			t.Errorf("joined %v: over its own connection it got %v, want 8", joined, got)
		}
		for _, id := range ids {
			if near := w.toys[id].net.Closest(key(1), 40); slices.Contains(near, "hidden") || len(near) < 20 {
				t.Errorf("joined %v: %s knows %d peers, among them the hidden one: %v", joined, id, len(near), slices.Contains(near, "hidden"))
			}
		}
	}
}
