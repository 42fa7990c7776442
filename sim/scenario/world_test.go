package scenario

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// byHand is a world without a network: eight nodes, all up, 100 ms apart, and
// one feed that the first six are members of.
func byHand() (*world, *feed) {
	w := &world{
		run:  &run{latency: latency{delay: oversim.Constant(100 * time.Millisecond)}},
		spot: make([]uint64, 8), lane: make([]uint8, 8), up: newBits(8), of: map[multicast.Group]*feed{},
	}
	for i := range 8 {
		w.up.set(i)
	}
	w.load.init(8, 1)
	f := &feed{group: multicast.GroupOf("https://feeds.example/news"), members: []int32{0, 1, 2, 3, 4, 5}}
	w.feeds, w.of[f.group] = []*feed{f}, f
	return w, f
}

// An item is due at every member but the publisher that is up when it is
// published and up a minute later. Who was down in between is due and says
// nothing about delays.
func TestDue(t *testing.T) {
	w, f := byHand()
	it := &item{seq: 1, up: newBits(6), arrival: []float32{-1, 0.2, -1, 0.4, 30, -1}}
	for _, m := range []int{1, 2, 3, 4, 5} {
		it.up.set(m)
	}
	it.stayed = newBits(6)
	for _, m := range []int{1, 2, 3, 5} {
		it.stayed.set(m) // 4 went, came back and caught up
	}
	f.open = []*item{it}
	w.went(5) // and does not come back
	w.judge(f, it)
	c := f.tally.cover
	if c.due != 4 || c.held != 3 || c.within != [3]int{2, 2, 3} {
		t.Errorf("due at 1, 2, 3 and 4, held by all but 2 and late by 4: %+v", c)
	}
	if f.tally.worst != 0.75 || len(f.open) != 0 {
		t.Errorf("coverage %v, %d items open", f.tally.worst, len(f.open))
	}
	if got := f.tally.rad.median(); got < 2.99 || got > 3.01 {
		t.Errorf("RAD of 200 and 400 ms over 100 is 3, not %v", got)
	}
	if got := f.tally.rmd.median(); got < 3.99 || got > 4.01 {
		t.Errorf("RMD of 400 ms over 100 is 4, not %v", got)
	}
	exempt, g := byHand()
	g.exempt = newBits(8)
	g.exempt.set(2)
	again := &item{seq: 1, up: it.up, stayed: it.stayed, arrival: it.arrival}
	exempt.judge(g, again)
	if g.tally.cover.due != 4 || g.tally.cover.held != 3 {
		t.Errorf("nothing is due at 2: %+v", g.tally.cover)
	}
}

// Only the first arrival counts, for members alone.
func TestDelivered(t *testing.T) {
	w, f := byHand()
	it := &item{seq: 7, at: time.Second, arrival: []float32{-1, -1, -1, -1, -1, -1}}
	f.open = []*item{it}
	d := multicast.Delivery{Hops: 3, Event: multicast.Event{Group: f.group, Stamp: multicast.Stamp{Epoch: 1, Seq: 7}}}
	w.delivered(3*time.Second, 2, &d)
	w.delivered(4*time.Second, 2, &d)
	w.delivered(4*time.Second, 7, &d) // no member
	d.Event.Stamp.Beat = 1
	w.delivered(5*time.Second, 3, &d)
	d.Event.Stamp = multicast.Stamp{Epoch: 1, Seq: 6}
	w.delivered(5*time.Second, 4, &d)
	for m, want := range []float32{-1, -1, 2, -1, -1, -1} {
		if it.arrival[m] != want {
			t.Errorf("member %d has it after %v, want %v", m, it.arrival[m], want)
		}
	}
	if f.tally.hops != 3 {
		t.Errorf("%d hops", f.tally.hops)
	}
}

// What a message counts as: payload to members, noise to others, leased buffers
// apart; heartbeats are neither payload nor control.
func TestLoad(t *testing.T) {
	w, f := byHand()
	event := func(beat uint64) *multicast.Event {
		return &multicast.Event{Group: f.group, Stamp: multicast.Stamp{Epoch: 1, Seq: 1, Beat: beat}, Body: make([]byte, 1000)}
	}
	w.up.unset(5)
	for _, m := range []struct {
		to  int32
		msg *tree.Message
	}{
		{1, &tree.Message{Type: tree.Data, Group: f.group, Event: event(0)}},
		{5, &tree.Message{Type: tree.Data, Group: f.group, Event: event(0)}}, // down: no copy arrives
		{6, &tree.Message{Type: tree.Data, Group: f.group, Event: event(0)}},
		{7, &tree.Message{Type: tree.Data, Group: f.group, Event: event(0), Flags: tree.Replica}},
		{1, &tree.Message{Type: tree.Data, Group: f.group, Event: event(9)}},
		{1, &tree.Message{Type: tree.Join, Group: f.group}},
		{1, &tree.Message{Type: tree.Join, Group: f.group}},
		{2, &tree.Message{Type: tree.Ping}},
	} {
		w.sent(0, named(0), named(m.to), m.msg)
	}
	a := w.load.all()
	if a.messages != 8 || a.control != 3 || a.toMembers != 1 || w.load.sends[0] != 4 {
		t.Errorf("%+v, %d payloads sent", a, w.load.sends[0])
	}
	if a.noise*2 != a.payload || a.leased*4 != a.payload || a.payload < 4000 || a.payload > 6000 {
		t.Errorf("of four payloads two are noise and one of them leased: %+v", a)
	}
	if w.load.round(); w.load.busiest != 2 {
		t.Errorf("node 1 was asked twice, not %d times", w.load.busiest)
	}
	w.sent(0, named(0), named(1), &tree.Message{Type: tree.Join, Group: f.group})
	if w.load.round(); w.load.busiest != 2 {
		t.Errorf("the next round has one more, not %d", w.load.busiest)
	}
}

// A size that differs counts in place of the one that all events share.
func TestSizedBodies(t *testing.T) {
	w, f := byHand()
	e := &multicast.Event{Group: f.group, Stamp: multicast.Stamp{Epoch: 1, Seq: 2}, Body: make([]byte, 4096)}
	m := &tree.Message{Type: tree.Data, Group: f.group, Event: e}
	w.sent(0, named(0), named(1), m)
	plain := w.load.all().payload
	f.sizes = []int{9, 100}
	w.sent(0, named(0), named(1), m)
	if got := w.load.all().payload - plain; got != plain-4096+100 {
		t.Errorf("a body of 100 bytes travels as %d, one of 4096 as %d", got, plain)
	}
}

// Nodes are where the simulator puts them: a place is the front of the key.
func TestPlace(t *testing.T) {
	key := named(7).Key()
	if got := place(named(7)); byte(got>>56) != key[0] || byte(got) != key[7] {
		t.Errorf("the place %x is not the front of the key %v", got, key)
	}
	if index(named(123456)) != 123456 {
		t.Error("names and numbers differ")
	}
}

// The busiest node of a round is asked by all lanes, and nobody who asked is left out or counted in
// the next round.
func TestBusiest(t *testing.T) {
	w, f := byHand()
	w.load.init(8, 2)
	w.lane = []uint8{0, 1, 0, 1, 0, 1, 0, 1}
	ask := func(from, to string, times int) {
		for range times {
			w.sent(0, overlay.ID(from), overlay.ID(to), &tree.Message{Type: tree.Probe, Group: f.group})
		}
	}
	ask("n0", "n3", askedTogether+1)
	ask("n1", "n3", 5)
	ask("n2", "n5", 7)
	w.sent(0, "n2", "n3", &tree.Message{Type: tree.Ping})
	w.load.round()
	if w.load.busiest != askedTogether+6 {
		t.Errorf("the busiest node was asked %d times, want %d", w.load.busiest, askedTogether+6)
	}
	ask("n0", "n5", askedTogether+3)
	w.load.round()
	if w.load.busiest != askedTogether+6 {
		t.Errorf("then %d: another one was asked %d times in a round of its own", w.load.busiest, askedTogether+3)
	}
}
