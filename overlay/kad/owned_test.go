package kad

import (
	"slices"
	"testing"

	"github.com/feedtree/feedtree/overlay"
)

// A root asks again and again whether somebody is nearer than itself. In a network in
// which nobody comes and goes that costs nothing, and who comes is found all the same.
func TestARootAsksOnce(t *testing.T) {
	nodes, _ := gather(t, 6, Config{})
	full(t, nodes)
	late, err := New(quiet(t, Config{Key: seeded(6), Listen: []string{}}))
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	i := 0 // of a name that is the newcomer's once it is there
	for root(append([]*Node{late}, nodes...), overlay.KeyOf(name(i))) != late.Self() {
		i++
	}
	key := name(i)
	at := slices.IndexFunc(nodes, func(n *Node) bool { return n.Self() == root(nodes, overlay.KeyOf(key)) })
	n, other := nodes[at], nodes[(at+1)%len(nodes)]
	ask := func(n *Node) []overlay.ID {
		t.Helper()
		found, err := n.Lookup(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := ask(n)
	eventually(t, "the second answer is the first", func() bool { // a table may still have been filling
		before := n.Counters()
		again := ask(n)
		after := n.Counters()
		return after["lookups_spared"] == before["lookups_spared"]+1 && after["lookups"] == before["lookups"] && slices.Equal(first[:1], again[:1])
	})

	before := other.Counters()["lookups"]
	for range 2 {
		ask(other)
	}
	if asked := other.Counters()["lookups"] - before; asked != 2 {
		t.Errorf("who is not nearest asked the network %d times of 2", asked)
	}

	newcomer, _ := start(t, Config{Key: seeded(6), Bootstrap: n.Addrs()[:1]})
	eventually(t, "the newcomer is known", func() bool { return n.dht.RoutingTable().Find(newcomer.host.ID()) != "" })
	eventually(t, "the newcomer is found nearest", func() bool { return ask(n)[0] == newcomer.Self() }) // once it has time to answer
	_ = newcomer.Close()
	eventually(t, "it is found gone", func() bool {
		found, err := n.Lookup(t.Context(), key)
		return err == nil && found[0] != newcomer.Self()
	})
}
