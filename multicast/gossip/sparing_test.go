package gossip

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// metered is a node whose limit the test sets.
type metered struct {
	*kad.Node
	spares *atomic.Bool
}

func (m metered) Sparing() bool { return m.spares.Load() }

// A node that has sent what it may gets its own events, and hands none on. It does
// again when it may.
func TestANodeThatSparesHandsNothingOn(t *testing.T) {
	author, err := signing.FromSeed(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	var spares atomic.Bool
	spares.Store(true)
	got := make(chan uint64, 16)
	_, all := members(t, 3, func(i int, net *kad.Node) (o Overlay, out multicast.Callbacks[*signing.Envelope]) {
		if i != 1 {
			return net, out
		}
		out.Deliver = func(d multicast.Delivery, _ *signing.Envelope) { got <- d.Event.Stamp.Seq }
		return metered{net, &spares}, out
	})
	var last [32]byte
	say := func(seq uint64) {
		t.Helper()
		wire, err := author.Seal(signing.Header{
			Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS, Group: news,
			Epoch: 1, Seq: seq, Prev: last, Time: time.Now(), TTL: time.Hour,
		}, []byte("<rss>an item</rss>"))
		if err != nil {
			t.Fatal(err)
		}
		env, err := signing.Open(wire)
		if err != nil {
			t.Fatal(err)
		}
		last = env.Hash()
		if err := all[0].Publish(t.Context(), wire, 0); err != nil {
			t.Fatal(err)
		}
		select {
		case came := <-got:
			if came != seq {
				t.Fatalf("event %d came, want %d", came, seq)
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %d did not come", seq)
		}
	}
	say(1)
	spares.Store(false)
	say(2)
	done, refused := all[1].Counters()
	if done["gossip_spared"] != 1 || done["gossip_delivered"] != 2 || len(refused) > 0 {
		t.Errorf("it did %v and refused %v, want two delivered and one not handed on", done, refused)
	}
}
