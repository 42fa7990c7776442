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

// Where NATs let holes be punched, the undialable are reached, later than others;
// who cannot be dialled and has no such NAT is reached by those who can be, whom it
// calls back.
func TestPunching(t *testing.T) {
	ids := append(names(30), "cone", "crown", "strict")
	w := newWorld(sim.Config[note]{
		Undialable: func(id overlay.ID) bool { return id[0] != 'n' },
		Punches:    func(id overlay.ID) bool { return id[0] == 'c' },
	}, plain, ids...)
	w.send("cone", "crown", 1)
	w.send("cone", "strict", 2)
	w.send("n00001", "strict", 3)
	w.Run(10 * time.Second)
	if got := w.toys["crown"].got; !slices.Equal(got, []note{1}) {
		t.Errorf("through two holes %v arrived, want 1", got)
	}
	if got := w.toys["strict"].got; !slices.Equal(got, []note{3}) {
		t.Errorf("it got %v, want 3 from who can be dialled, and nothing through a hole", got)
	}
	if gone := w.toys["cone"].gone; !slices.Equal(gone, []overlay.ID{"strict"}) {
		t.Errorf("lost %v, want the one that no hole leads to", gone)
	}
}

// Who cannot be dialled and comes before everybody goes on looking until there is
// somebody.
func TestTheUndialableGoOnLooking(t *testing.T) {
	w := newWorld(sim.Config[note]{
		Tables:     sim.Tables{Joined: true},
		Undialable: func(id overlay.ID) bool { return id == "early" },
	}, plain, "early")
	w.Run(time.Second)
	for _, id := range names(30) {
		w.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] { return newToy(ep) })
	}
	w.Run(5 * time.Minute)
	if near := w.toys["early"].net.Closest(key(1), 40); len(near) == 0 {
		t.Error("it knows nobody")
	}
}
