package sim_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/sim"
)

// A node costs a few hundred bytes beside its table: a million fit.
func TestNodeBudget(t *testing.T) {
	const nodes, budget = 10000, 750
	ids := names(nodes)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	hosts := make([]relay, 0, nodes)
	net := sim.New(sim.Config[note]{Expect: nodes, Tables: sim.Tables{Joined: true}})
	for _, id := range ids {
		net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
			hosts = append(hosts, relay{ep})
			return hosts[len(hosts)-1]
		})
	}
	net.Run(time.Second)
	all := (heap() - before) / nodes
	entries := 0
	for i, h := range hosts {
		entries += len(h.net.Closest(ids[i].Key(), nodes))
	}
	tables := int64(entries) * 4 / nodes
	if all > tables+budget {
		t.Errorf("%d bytes per node, %d of them for its table of %d peers; beside that %d may be (its spare room counts), or say why more", all, tables, entries/nodes, budget)
	}
	runtime.KeepAlive(net)
	runtime.KeepAlive(ids)
}
