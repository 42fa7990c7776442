package gossip

import (
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/feedtree/feedtree/internal/fuzz"
	"github.com/feedtree/feedtree/multicast"
)

var source = multicast.Source{1}

func event(seq uint64) multicast.Event {
	return multicast.Event{Stamp: multicast.Stamp{Source: source, Epoch: 1, Seq: seq}}
}

// A line in which holes open, close and are given up: what is told, and what is
// still taken.
func TestLine(t *testing.T) {
	now := time.Now()
	const patience = time.Second
	var b book
	b.begin([]multicast.Stamp{{Source: source, Epoch: 1, Seq: 10}})
	steps := []struct {
		seq    uint64
		cursor uint64
		why    string
	}{
		{10, 10, whyAgain}, {11, 11, ""}, {11, 11, whyAgain}, {13, 11, ""}, {15, 11, ""}, {12, 13, ""}, {13, 13, whyAgain},
	}
	for _, s := range steps {
		cursor, lost, why := b.accept(event(s.seq), now, patience)
		if cursor != s.cursor || why != s.why || lost != nil {
			t.Errorf("seq %d: cursor %d, %q, lost %v; want %d, %q", s.seq, cursor, why, lost, s.cursor, s.why)
		}
	}
	if got := b.due(now.Add(patience-1), patience); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	got := append(b.due(now.Add(patience), patience), b.due(now.Add(2*patience), patience)...)
	if len(got) != 1 || got[0].Kind != multicast.Missing || got[0].From != 14 || got[0].To != 14 {
		t.Errorf("the hole at 14 became %v", got)
	}
	if got := b.due(now.Add(10*patience), patience); len(got) != 0 {
		t.Errorf("told twice: %v", got)
	}
	if _, _, why := b.accept(event(14), now, patience); why != "" {
		t.Errorf("what was given up is refused when it comes: %s", why)
	}
	if _, _, why := b.accept(event(14), now, patience); why != whyAgain {
		t.Error("delivered twice")
	}
}

// A source that leaps cannot make this node count or remember much: what falls out
// of the window is missing at once.
func TestALeapIsBounded(t *testing.T) {
	now := time.Now()
	var b book
	b.accept(event(1), now, time.Second)
	_, lost, why := b.accept(event(1<<53-1), now, time.Second)
	if why != "" || lost == nil || *lost != (span{2, 1<<53 - 1 - window}) {
		t.Fatalf("lost %v, %q", lost, why)
	}
	l := b.lines[source]
	if len(l.got)+len(l.lost) > 2*window+2 {
		t.Errorf("%d entries", len(l.got)+len(l.lost))
	}
	b.due(now.Add(time.Minute), time.Second)
	if l.cursor != 1<<53-1 || len(l.lost) > window+1 {
		t.Errorf("cursor %d, %d given up", l.cursor, len(l.lost))
	}
}

// The first event of a line may have overtaken others; they are welcome, and not
// missed. In a new epoch the first ones are.
func TestTheBeginningOfALine(t *testing.T) {
	now := time.Now()
	var b book
	for _, seq := range []uint64{7, 5, 6} {
		if _, _, why := b.accept(event(seq), now, time.Second); why != "" {
			t.Errorf("seq %d: %s", seq, why)
		}
	}
	if _, _, why := b.accept(event(5), now, time.Second); why != whyAgain {
		t.Error("delivered twice")
	}
	if got := b.due(now.Add(time.Minute), time.Second); len(got) != 0 {
		t.Errorf("missed what was before: %v", got)
	}
	e := event(2)
	e.Stamp.Epoch = 2
	b.accept(e, now, time.Second)
	if got := b.due(now.Add(time.Minute), time.Second); len(got) != 1 || got[0].From != 1 || got[0].To != 1 {
		t.Errorf("of the new epoch: %v", got)
	}
	if _, _, why := b.accept(event(8), now, time.Second); why != whyStale {
		t.Error("an event of the old epoch is delivered")
	}
}

func TestSourcesAreBounded(t *testing.T) {
	var b book
	for i := range maxLines + 5 {
		e := event(1)
		e.Stamp.Source[1] = byte(i)
		_, _, why := b.accept(e, time.Now(), time.Second)
		if (why == whyLines) != (i >= maxLines) {
			t.Errorf("source %d: %q", i, why)
		}
	}
}

// Whatever a stranger answers is read within bounds and never panics.
func FuzzNamed(f *testing.F) {
	addr := ma.StringCast("/ip4/192.0.2.1/udp/4001/quic-v1")
	id, err := peer.Decode("12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA")
	if err != nil {
		f.Fatal(err)
	}
	good := appendBytes(nil, []byte(id))
	good = append(good, 1)
	good = appendBytes(good, addr.Bytes())
	if all := named(slices.Repeat(good, 2)); len(all) != 2 || all[1].ID != id || !all[1].Addrs[0].Equal(addr) {
		f.Fatalf("read %v", all)
	}
	f.Add(good)
	f.Add(slices.Repeat(good, 40))
	f.Add(good[:len(good)-1])
	f.Add([]byte{255, 255})
	fuzz.Hold(f, func(t *testing.T, b []byte) {
		all := named(b)
		if len(all) > maxNamed {
			t.Errorf("%d named", len(all))
		}
		for _, info := range all {
			if info.ID == "" || len(info.Addrs) > maxAddrs {
				t.Errorf("named %v", info)
			}
		}
	})
}
