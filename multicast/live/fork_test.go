package live

import (
	"bytes"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/signing"
)

// another seals another event at the place of news.
func another(t testing.TB, id *signing.Identity, g multicast.Group, seq uint64) []byte {
	t.Helper()
	h := signing.Header{Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS,
		Group: g, Epoch: 1, Seq: seq, Time: noon, TTL: time.Minute, Prev: hashOf(t, id, g, seq-1)}
	wire, err := id.Seal(h, []byte("<other/>"))
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func proofOf(t testing.TB, a, b []byte) []byte {
	t.Helper()
	x, err := signing.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := signing.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	p, err := signing.ProveFork(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return p.Marshal()
}

// proofs are those that a member was told.
func (m *member) proofs() (all [][]byte) {
	for _, n := range m.notices {
		if n.Kind == tree.Forked {
			all = append(all, n.Events[0].Body)
		}
	}
	return all
}

// Security reference, rule 4: two headers at one place are a proof, which is told to
// all and held by all, also by those who come later. A source that tells two nodes
// two things is found out, whichever of them each node was told.
func TestTwoThingsAtOnePlaceAreFoundOut(t *testing.T) {
	inNetwork(t, 6, nil, func(t *testing.T, _ *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes[:5] {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		nodes[0].publish(t, news(t, id, groupA, 1), 0)
		pass(time.Second)
		for _, m := range nodes {
			if len(m.proofs()) != 0 {
				t.Fatal("a proof against an honest source")
			}
		}
		nodes[0].publish(t, news(t, id, groupA, 2), 0)
		nodes[4].publish(t, another(t, id, groupA, 2), 0)
		pass(5 * time.Second)
		nodes[5].join(t, nil)
		pass(5 * time.Second)
		want := proofOf(t, news(t, id, groupA, 2), another(t, id, groupA, 2))
		for i, m := range nodes {
			if all := m.proofs(); len(all) != 1 || !bytes.Equal(all[0], want) {
				t.Errorf("node %d was told %d proofs, want the one", i, len(all))
			}
		}
	})
}

// A proof that is none is refused, counted and charged; one of another group too.
func TestForgedProofsAreRefused(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		id := identity(t, 1)
		good := proofOf(t, news(t, id, groupA, 2), another(t, id, groupA, 2))
		altered := bytes.Clone(good)
		altered[len(altered)-1] ^= 1
		send := func(g multicast.Group, proof []byte) {
			l.Frame("p", frameOf(t, &tree.Message{Type: tree.Fork, Group: g, Event: &multicast.Event{Body: proof}}))
		}
		send(groupA, altered)
		send(groupA, good[1:])
		send(groupB, good)
		send(groupA, news(t, id, groupA, 1))
		pass(time.Second)
		if got := s.received(); len(got) != 0 {
			t.Fatalf("stepped %v", got)
		}
		counted(t, l, map[reason]uint64{"fork proof: signature": 1, "fork proof: truncated": 2, forkGroup: 1})
		send(groupA, good)
		pass(time.Second)
		want := multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: 1, Seq: 2}
		if got := s.received(); len(got) != 1 || got[0] != want {
			t.Errorf("stepped %v, want the proof about %v", got, want)
		}
	})
}

// What a node held from before a restart it tells to the group.
func TestAProofHeldIsTold(t *testing.T) {
	inNetwork(t, 3, nil, func(t *testing.T, _ *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		proof := proofOf(t, news(t, id, groupA, 1), another(t, id, groupA, 1))
		if err := nodes[2].loop.Convict(t.Context(), proof[1:]); signing.ReasonOf(err) != signing.ReasonTruncated {
			t.Errorf("no proof: %v", err)
		}
		for range 2 {
			if err := nodes[2].loop.Convict(t.Context(), proof); err != nil {
				t.Fatal(err)
			}
		}
		pass(2 * time.Second)
		for i, m := range nodes {
			if len(m.proofs()) != 1 {
				t.Errorf("node %d was told %d proofs", i, len(m.proofs()))
			}
		}
	})
}
