package feedtree

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

func numbered(n int) (key signing.PublicKey) {
	binary.BigEndian.PutUint32(key[:], uint32(n))
	return key
}

func TestWhereNodesWereMetIsRememberedForAWhile(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s sightings
	s.meet(numbered(1), "192.0.0.0/16", now)
	s.meet(numbered(1), "198.51.0.0/16", now.Add(time.Minute)) // it has moved
	for after, want := range map[time.Duration]string{0: "198.51.0.0/16", 13 * 24 * time.Hour: "198.51.0.0/16", 15 * 24 * time.Hour: ""} {
		if got := s.network(numbered(1), now.Add(after)); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	if got := s.network(numbered(2), now); got != "" {
		t.Errorf("nobody met it: %q", got)
	}
	for i := range 3 * maxSightings {
		s.meet(numbered(10+i), "203.0.0.0/16", now.Add(time.Duration(i)*time.Second))
	}
	if len(s.met) != maxSightings || s.network(numbered(10), now) != "" || s.network(numbered(9+3*maxSightings), now.Add(time.Hour)) == "" {
		t.Errorf("%d are remembered, want the %d met last", len(s.met), maxSightings)
	}
}

func TestSightingsOutliveTheProgram(t *testing.T) {
	n := &Node{config: Config{Store: store.NewMemory()}}
	now := time.Now()
	n.places.meet(numbered(1), "192.0.0.0/16", now)
	n.saveSightings(t.Context())
	var again sightings
	if err := again.load(t.Context(), n.config.Store); err != nil || again.network(numbered(1), now) != "192.0.0.0/16" {
		t.Errorf("%v, %+v", err, again.met)
	}
	if err := n.config.Store.PutSetting(t.Context(), sightingsSetting, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := again.load(t.Context(), n.config.Store); err == nil {
		t.Error("nonsense is taken up")
	}
}

// A volunteer is not run over by all who hear it, nor does it make a node dial around.
func TestVisitsAreFewAndSpread(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var s sightings
	planned, last := 0, time.Duration(-1)
	for i := range 10 * visitsAtOnce {
		pause, ok := s.plan(numbered(i), 1, now)
		if !ok {
			continue
		}
		if last >= 0 && pause-last < visitsApart {
			t.Errorf("two visits %v apart", pause-last)
		}
		planned, last = planned+1, pause
		if _, again := s.plan(numbered(i), 1, now); again {
			t.Error("one is visited twice at once")
		}
	}
	if planned != visitsAtOnce {
		t.Errorf("%d wait, want %d", planned, visitsAtOnce)
	}
	s.visited(numbered(0), false, now)
	if _, ok := s.plan(numbered(0), 1, now.Add(visitAgain/2)); ok {
		t.Error("one that cannot be reached is tried again at once")
	}
	if _, ok := s.plan(numbered(0), 1, now.Add(visitAgain+time.Second)); !ok {
		t.Error("it is never tried again")
	}
	const crowd = 100_000
	within, most := 0, 0
	for range crowd / 100 { // of so many nodes one in a hundred, each on its own
		var one sightings
		pause, ok := one.plan(numbered(1), crowd, now)
		if !ok {
			continue
		}
		within++
		if pause < time.Minute {
			most++
		}
	}
	if got := most * 100 / 60; got > 2*visitsASecond || within == 0 {
		t.Errorf("about %d visits a second by %d nodes, want at most %d", got, crowd, visitsASecond)
	}
}
