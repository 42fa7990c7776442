package sim_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/sim"
)

// Scribe's network: 5,050 routers, 50 of them in the core, whose links take
// 40.7 ms in the mean; all of it is connected.
func TestTransitStubShape(t *testing.T) {
	topo := sim.NewTransitStub(1)
	if topo.Routers() != 5050 {
		t.Errorf("%d routers", topo.Routers())
	}
	var core, sum time.Duration
	for _, l := range topo.Links() {
		if l.From < 50 && l.To < 50 {
			core, sum = core+1, sum+l.Delay
		}
	}
	if mean := sum / core; mean < 40*time.Millisecond || mean > 42*time.Millisecond {
		t.Errorf("core links take %v in the mean", mean)
	}
	for r, d := range shortest(topo, 777) {
		if d < 0 {
			t.Fatalf("router %d cannot be reached", r)
		}
	}
}

// shortest is Bellman and Ford's algorithm over all links: it knows nothing of
// domains.
func shortest(topo *sim.Topology, from int) []time.Duration {
	far := make([]time.Duration, topo.Routers())
	for i := range far {
		far[i] = -1
	}
	far[from] = 0
	links := topo.Links()
	for changed := true; changed; {
		changed = false
		relax := func(a, b int, d time.Duration) {
			if far[a] >= 0 && (far[b] < 0 || far[a]+d < far[b]) {
				far[b], changed = far[a]+d, true
			}
		}
		for _, l := range links {
			relax(l.From, l.To, l.Delay)
			relax(l.To, l.From, l.Delay)
		}
	}
	return far
}

// Routes are shortest paths over links that exist, and take what Latency says.
func TestTransitStubRoutes(t *testing.T) {
	topo := sim.NewTransitStub(2)
	latency := topo.Latency()
	exists := map[sim.Link]bool{}
	for _, l := range topo.Links() {
		exists[l] = true
		exists[sim.Link{From: l.To, To: l.From, Delay: l.Delay}] = true
	}
	const from = 12345
	home := topo.AppendRoute(nil, from, 1)[0].To
	far := shortest(topo, home)
	near := 0
	for place := range uint64(3000) {
		route := topo.AppendRoute(nil, from, place)
		var sum time.Duration
		at := sim.End
		for i, l := range route {
			if l.From != at || i > 0 && i < len(route)-1 && !exists[l] {
				t.Fatalf("to %d: no way along %+v", place, route)
			}
			at, sum = l.To, sum+l.Delay
		}
		last := route[len(route)-1].From
		if at != sim.End || sum != latency(from, place, 0) || sum != far[last]+2*time.Millisecond {
			t.Fatalf("to %d: %v along the route, latency %v, shortest %v", place, sum, latency(from, place, 0), far[last])
		}
		if latency(place, from, 7) != sum {
			t.Fatalf("back from %d it takes %v, there %v", place, latency(place, from, 7), sum)
		}
		if len(route) <= 5 {
			near++
		}
	}
	if near == 0 {
		t.Error("of 3,000 places none is near: nobody shares a stub domain")
	}
}

func TestTransitStubFollowsFromSeed(t *testing.T) {
	a, b, c := sim.NewTransitStub(3).Latency(), sim.NewTransitStub(3).Latency(), sim.NewTransitStub(4).Latency()
	other := 0
	for p := range uint64(100) {
		if a(0, p, 0) != b(0, p, 0) {
			t.Fatalf("same seed, to place %d %v and %v", p, a(0, p, 0), b(0, p, 0))
		}
		if a(0, p, 0) != c(0, p, 0) {
			other++
		}
	}
	if other < 50 {
		t.Errorf("another seed changes %d of 100 delays", other)
	}
}
