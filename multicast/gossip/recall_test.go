package gossip

import (
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// Two members have each other and nobody else. When one of pubsub's two streams between
// them ends and their connection stays, as happens where they had dialled each other at
// once, pubsub forgets on that side what the other one is in; and it is not told again.
func TestWhoIsForgottenIsFoundAgain(t *testing.T) {
	nets, all := members(t, 2, func(_ int, net *kad.Node) (Overlay, multicast.Callbacks[*signing.Envelope]) {
		return net, multicast.Callbacks[*signing.Envelope]{}
	})
	knows := func(c *Carrier, others int) func() bool {
		return func() bool {
			s, _ := c.Group(news)
			return s.Audience == others
		}
	}
	for _, c := range all {
		eventually(t, "they know each other", knows(c, 1))
	}
	peer1 := nets[1].Host().ID()
	member := func() bool {
		all[0].mu.Lock()
		g := all[0].groups[news]
		all[0].mu.Unlock()
		return all[0].isMember(t.Context(), g, peer1)
	}
	ends := 0
	for _, conn := range nets[0].Host().Network().ConnsToPeer(peer1) {
		for _, s := range conn.GetStreams() {
			if s.Stat().Direction == network.DirOutbound && strings.Contains(string(s.Protocol()), "meshsub") {
				_ = s.Reset()
				ends++
			}
		}
	}
	if ends != 1 {
		t.Fatalf("%d streams of pubsub, want 1", ends)
	}
	eventually(t, "one is forgotten", knows(all[0], 0))
	for _, c := range all {
		eventually(t, "they know each other again", knows(c, 1))
	}
	if !member() {
		t.Error("a member says that it is none")
	}
	if err := all[1].Leave(news); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one is alone", knows(all[0], 0))
	if err := all[1].Join(t.Context(), news, nil, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other is back", knows(all[0], 1))
	eventually(t, "nobody is asked any more", func() bool {
		f := &all[0].finder
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.recalling) == 0
	})
	if done, _ := all[0].Counters(); done[renewed] != 1 {
		t.Errorf("connected anew %d times, want once: not to who came back", done[renewed])
	}
	if err := all[1].Leave(news); err != nil {
		t.Fatal(err)
	}
	if member() {
		t.Error("who left says that it is a member, and would be connected anew for it")
	}
}

// Few are asked at once, and each once.
func TestFewAreRecalledAtOnce(t *testing.T) {
	var f finder
	id := func(i int) peer.ID { return peer.ID(rune('a' + i)) }
	for i := range maxRecalls {
		if first, full := f.recalls(id(i)); !first || full {
			t.Fatalf("the %d. is not asked: %v, %v", i, first, full)
		}
	}
	if first, full := f.recalls(id(0)); first || full {
		t.Errorf("one that is asked is asked again: %v, %v", first, full)
	}
	if first, full := f.recalls(id(maxRecalls)); first || !full {
		t.Errorf("one too many: %v, %v", first, full)
	}
	f.recalled(id(0))
	if first, _ := f.recalls(id(maxRecalls)); !first {
		t.Error("there is room, and one is not asked")
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("waited in vain: ", what)
		}
	}
}
