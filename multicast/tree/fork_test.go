package tree_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// Liars, and honest publishers that crash, are played in sim/forks. Here is what
// neighbours can do who lie about others.

// told is the seq-th event of a source: of the two that it may have said, if it
// forks its line at the second.
func told(g multicast.Group, source multicast.Source, seq uint64, other bool) multicast.Event {
	tag := func(seq uint64) multicast.Tag {
		return multicast.TagOf(sha256.Sum256(fmt.Append(nil, source, seq, other && seq > 1)))
	}
	return multicast.Event{Group: g, Stamp: multicast.Stamp{Source: source, Epoch: 1, Seq: seq}, Tag: tag(seq), Prev: tag(seq - 1), Body: []byte("x")}
}

// What a neighbour says of another's head convicts nobody, and moves nothing but a
// question to that neighbour, now and then (invariant 6).
func TestHearsayConvictsNobody(t *testing.T) {
	const liar, honest = overlay.ID("n3"), overlay.ID("n0")
	lying, doubts, notices := false, 0, 0
	w := sim.NewTrees(sim.TreesConfig{Nodes: 12,
		Net: oversim.Config[*tree.Message]{Seed: 4, Latency: oversim.Uniform(10*time.Millisecond, 80*time.Millisecond)},
		Lie: func(from, to overlay.ID, m *tree.Message) *tree.Message {
			if from != liar || !lying || m.Type != tree.Heads {
				return m
			}
			twin := *m
			twin.Entries = nil
			for _, e := range m.Entries {
				e.Heads = append([]multicast.Stamp(nil), e.Heads...)
				for i := range e.Heads {
					e.Heads[i].Tag[0]++
				}
				twin.Entries = append(twin.Entries, e)
			}
			return &twin
		},
		Sent: func(_ time.Duration, _, to overlay.ID, m *tree.Message) {
			if m.Type == tree.Pull && to == liar {
				doubts++
			}
		},
		Watch: func(_ time.Duration, _ overlay.ID, n tree.Notice) {
			if n.Kind == tree.Contradiction || n.Kind == tree.Forked {
				notices++
			}
		},
	})
	g := w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	w.Join(g, w.IDs()...)
	w.RunFor(20 * time.Second)
	source := sim.SourceOf(honest)
	lying = true
	for seq := uint64(1); seq <= 60; seq++ {
		w.Say(honest, told(g, source, seq, false))
		w.RunFor(time.Second)
	}
	st, _ := w.Node(liar).Status(g)
	near := len(st.Children) + len(st.Lazy) + 1
	if notices != 0 {
		t.Errorf("%d notices about an honest source", notices)
	}
	if doubts == 0 || doubts > near*(60/5+1) {
		t.Errorf("the liar was asked %d times in a minute by up to %d neighbours, want some and at most once in 5 s each", doubts, near)
	}
	whole(t, w, g)
}

// Keys are free, and so are forks of one's own line: proofs pass at a bounded rate,
// and what does not is counted.
func TestProofsPassAtABoundedRate(t *testing.T) {
	w, g := world(6, 5, tree.Config{})
	w.Join(g, w.IDs()...)
	w.RunFor(10 * time.Second)
	const many = 200
	for i := range many {
		stamp := multicast.Stamp{Source: sim.SourceOf(overlay.ID(fmt.Sprint("stranger ", i))), Epoch: 1, Seq: 1}
		w.Input("n0", tree.Input{Kind: tree.Convict, Event: multicast.Event{Group: g, Stamp: stamp, Body: []byte("proof")}})
	}
	w.RunFor(5 * time.Second)
	if c := w.Node("n0").Counters(); c.ForksFull < many-20 {
		t.Errorf("%d of %d were held back", c.ForksFull, many)
	}
	for _, id := range w.IDs() {
		if n := len(w.Record(g, id).Forks); n == 0 || n > 20 {
			t.Errorf("%s was told %d proofs at once", id, n)
		}
	}
}

// A proof is told once for each source and epoch, to who is there and to who comes,
// and outlives those who made it.
func TestAProofReachesWhoComesLater(t *testing.T) {
	w, g := world(20, 6, tree.Config{})
	ids := w.IDs()
	w.Join(g, ids[:10]...)
	w.RunFor(20 * time.Second)
	proof := multicast.Event{Group: g, Stamp: multicast.Stamp{Source: sim.SourceOf("n0"), Epoch: 3, Seq: 2}, Body: []byte("proof")}
	for range 3 {
		w.Input(ids[4], tree.Input{Kind: tree.Convict, Event: proof})
		w.RunFor(time.Second)
	}
	older := proof
	older.Stamp.Epoch = 2
	w.Input(ids[5], tree.Input{Kind: tree.Convict, Event: older})
	w.Crash(ids[4])
	w.RunFor(20 * time.Second)
	w.Join(g, ids[10:]...)
	w.RunFor(20 * time.Second)
	for _, id := range w.Live() {
		if forks := w.Record(g, id).Forks; len(forks) != 1 || forks[0].Stamp != proof.Stamp {
			t.Errorf("%s was told %v, want the one proof", id, forks)
		}
	}
}
