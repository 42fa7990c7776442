package limbo

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// event is the first event of an epoch in a group, of about so many bytes.
func event(t *testing.T, g byte, epoch uint64, size int) *signing.Envelope {
	t.Helper()
	id, err := signing.FromSeed(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	wire, err := id.Seal(signing.Header{Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS,
		Group: multicast.Group{g}, Epoch: epoch, Seq: 1, Time: noon}, make([]byte, size))
	if err != nil {
		t.Fatal(err)
	}
	env, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestBounds(t *testing.T) {
	var l Limbo[uint64]
	put := func(g byte, seq uint64, size int, want Outcome) {
		t.Helper()
		if got := l.Put(l.Now(), event(t, g, seq, size), seq, noon.Add(MostTime)); got != want {
			t.Errorf("event %d of group %d: %d, want %d", seq, g, got, want)
		}
	}
	put(0, 1, MostBytes/2, Held)
	put(1, 1, MostBytes/2, Full)
	put(0, 1, MostBytes/2, Already)
	for seq := range uint64(MostInGroup - 1) {
		put(0, seq+2, 1, Held)
	}
	put(0, 99, 1, Full)
	for i := range byte(Most - MostInGroup) {
		put(i+1, 1, 1, Held)
	}
	put(200, 1, 1, Full)
	if n := l.Expire(noon.Add(MostTime - 1)); n != 0 {
		t.Errorf("%d were dropped before their time", n)
	}
	if n := l.Expire(noon.Add(MostTime)); n != Most || l.Bytes() != 0 {
		t.Errorf("%d were dropped and %d bytes are left, want %d and 0", n, l.Bytes(), Most)
	}
}

// Invariant 1: what was judged before a recheck is not held after it.
func TestARecheckIsNotMissed(t *testing.T) {
	var l Limbo[uint64]
	before := l.Now()
	for seq := range uint64(3) {
		l.Put(before, event(t, byte(seq%2), seq+1, 1), seq+1, noon)
	}
	out := l.Recheck(multicast.Group{0})
	if len(out) != 2 || out[0].Of != 1 || out[1].Of != 3 {
		t.Errorf("%v came out, want the group's two, oldest first", out)
	}
	if got := l.Put(before, event(t, 1, 9, 1), 9, noon); got != Judge {
		t.Errorf("%d, want that it is judged again: a recheck, though of another group, came in between", got)
	}
}
