package kad

import (
	"encoding/json"
	"strings"
	"testing"
)

// Programs find every field of a node's reach, those without a value too.
func TestReachOfANewNode(t *testing.T) {
	n, _ := start(t, Config{})
	r := n.Reach()
	if r.State != Unknown || !r.Rendezvous.Off {
		t.Errorf("%+v: nobody has tried to dial it, and it may not ask the public DHT", r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"dialled":[]`, `"vain":[]`, `"relays":[]`, `"mapped":false`, `"asked":null`, `"punched":0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	nodes, _ := gather(t, 3, Config{})
	full(t, nodes)
	if got := nodes[0].Reach().Links; got != (Links{Direct: 2}) {
		t.Errorf("%+v, want two direct ones", got)
	}
	for _, c := range nodes[0].Conns() {
		if c.Kind != Direct || c.Peer == "" || c.Addr == "" {
			t.Errorf("%+v", c)
		}
	}
}

// A peer counts once, by the best connection there is.
func TestLinksAreCountedByTheirBest(t *testing.T) {
	got := countLinks([]Conn{
		{Peer: "a", Kind: Relayed}, {Peer: "a", Kind: Punched}, {Peer: "b", Kind: Relayed}, {Peer: "c", Kind: Direct}, {Peer: "c", Kind: Relayed},
	})
	if want := (Links{Direct: 1, Punched: 1, Relayed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
