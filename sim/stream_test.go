package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// While items come ten times a second, parents die in silence: whoever hangs below one
// goes on within three seconds, although its lazy links hear of a stream but seldom.
func TestAStreamGoesOnAfterASilentDeath(t *testing.T) {
	w, g := world(5, 300, oversim.Plane(5*time.Millisecond, 80*time.Millisecond))
	ids := w.IDs()
	w.Join(g, ids...)
	settled(t, w, 3*time.Minute)
	stream := func(items int) {
		for range items {
			w.Publish(g, ids[0], 0)
			w.RunFor(100 * time.Millisecond)
		}
	}
	stream(100)
	var dead []overlay.ID
	for _, id := range ids[1:] {
		if st, ok := w.Node(id).Status(g); ok && len(st.Children) > 2 && len(dead) < 12 {
			dead = append(dead, id)
		}
	}
	for _, id := range dead {
		w.Crash(id)
		stream(50)
	}
	w.RunFor(30 * time.Second)
	whole(t, w, g, 0)
	var late []time.Duration
	for _, lag := range w.Lags(g) {
		if lag > time.Second/2 {
			late = append(late, lag)
		}
	}
	if len(dead) < 12 || len(late) == 0 {
		t.Fatalf("nobody noticed %d deaths", len(dead))
	}
	if most := slices.Max(late); most > 3*time.Second {
		t.Errorf("an item of a stream came %v late", most)
	}
}
