package sim

import (
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Faults are what can happen to single messages, each with its probability.
// Connections carry streams, so in a real network these stand for full
// queues, broken implementations and liars rather than for lost packets.
type Faults struct {
	Loss      float64
	Duplicate float64
	Reorder   float64       // these are late by up to By and overtaken
	By        time.Duration // 0: nothing is reordered
}

type faults struct {
	all   Faults
	links map[[2]int32]Faults
}

// SetFaults makes f what happens to messages from now on, on links that have
// no faults of their own.
func (n *Net[M]) SetFaults(f Faults) { n.faults.all = f }

// SetLinkFaults makes f what happens to messages from one node to another.
func (n *Net[M]) SetLinkFaults(from, to overlay.ID, f Faults) {
	if n.faults.links == nil {
		n.faults.links = map[[2]int32]Faults{}
	}
	n.faults.links[[2]int32{n.must(from), n.must(to)}] = f
}

// ClearFaults ends all faults of messages.
func (n *Net[M]) ClearFaults() { n.faults = faults{} }

func (n *Net[M]) faultsOf(a, b int32) Faults {
	if n.faults.links != nil {
		if f, ok := n.faults.links[[2]int32{a, b}]; ok {
			return f
		}
	}
	return n.faults.all
}

// SetSlow makes every message from and to the node take d longer.
func (n *Net[M]) SetSlow(id overlay.ID, d time.Duration) { n.nodes[n.must(id)].slow = d }

// Crash takes the node away without a word: what waits in its uplink is lost,
// its peers go on sending and notice after Detect. A node that is down stays down.
func (n *Net[M]) Crash(id overlay.ID) {
	i := n.must(id)
	if !n.nodes[i].alive {
		return
	}
	n.nodes[i].cut, n.nodes[i].cutOf = n.own.now, n.nodes[i].life
	for _, l := range n.die(i, Crashed) {
		n.push(n.own.now+n.cfg.Detect, n.goneEvent(l.peer, i, n.nodes[i].life))
	}
	n.push(n.own.now+n.cfg.Detect, n.alone(opNoticed, i))
}

// Close takes the node away with its connections closed: each peer notices as
// soon as word of it arrives, after the last message sent.
func (n *Net[M]) Close(id overlay.ID) {
	i := n.must(id)
	if !n.nodes[i].alive {
		return
	}
	for _, l := range n.die(i, Closed) {
		at := max(n.own.now+n.delay(i, l.peer, 1<<63), l.next())
		if n.nodes[l.peer].side != n.nodes[i].side {
			at = n.own.now + n.cfg.Detect
		}
		n.push(at, n.goneEvent(l.peer, i, n.nodes[i].life))
	}
	n.push(n.own.now+routesAfter, n.alone(opNoticed, i))
}

// die takes the node down and returns the links that others have to notice.
func (n *Net[M]) die(i int32, how What) []link {
	nd := &n.nodes[i]
	n.deaths = true
	nd.alive, n.up[i] = false, false
	nd.host, nd.died = nil, n.own.now
	var open []link
	for l := range nd.ends() {
		if l.life() != dialling && n.nodes[l.peer].alive {
			open = append(open, l)
		}
	}
	nd.links, nd.pages = nil, nil
	n.clearTable(i)
	n.trace(how, -1, i)
	return open
}

// Restart brings a node that is down up again, with the same ID, a fresh host
// and a table that a new join fills.
func (n *Net[M]) Restart(id overlay.ID) {
	i := n.must(id)
	if n.nodes[i].alive {
		panic("sim: restart of node " + string(id) + ", which is up")
	}
	n.start(i)
}

// Partition cuts the network: each of the given sets can talk only within
// itself, and so can all nodes in none of them. What held before is replaced.
// Connections across the cut carry nothing from now on and are noticed to be
// broken after Detect.
func (n *Net[M]) Partition(sets ...[]overlay.ID) {
	sides := make([]int32, len(n.nodes))
	for k, set := range sets {
		for _, id := range set {
			sides[n.must(id)] = int32(k + 1)
		}
	}
	for i, side := range sides {
		if n.nodes[i].side != side {
			n.nodes[i].side, n.nodes[i].since = side, n.own.now
		}
	}
	n.parted = len(sets) > 0
	n.push(n.own.now+n.cfg.Detect, event[M]{op: opCut, from: -1, to: -1})
}

const rejoinWithin = 10 * time.Second

// Heal ends the partition. Within ten seconds every node finds the others
// again, as a driver does that goes on calling peers it remembers.
func (n *Net[M]) Heal() {
	n.parted = false
	for i := range n.nodes {
		nd := &n.nodes[i]
		if nd.side != 0 {
			nd.side, nd.since = 0, n.own.now
		}
		if nd.alive {
			n.push(n.own.now+span(n.draw(int32(i)), rejoinWithin), n.alone(opRejoin, int32(i)))
		}
	}
}

// noticeCut breaks the connections whose ends have been on different sides
// for long enough.
func (n *Net[M]) noticeCut() {
	for i := range n.nodes {
		a := int32(i)
		if !n.nodes[i].alive {
			continue
		}
		for l := range n.nodes[i].ends() {
			if l.life() != dialling && n.cutLongAgo(a, l.peer) {
				n.push(n.own.now, n.goneEvent(a, l.peer, l.life()))
			}
		}
		for _, p := range n.nodes[i].table.peers {
			if n.cutLongAgo(a, p.node()) {
				n.setDown(a, p.node())
			}
		}
	}
}

func (n *Net[M]) cutLongAgo(a, b int32) bool {
	x, y := &n.nodes[a], &n.nodes[b]
	return y.alive && x.side != y.side && max(x.since, y.since)+n.cfg.Detect <= n.own.now
}

// noticeDeath marks a node that is still down in the tables of those who hold
// it.
func (n *Net[M]) noticeDeath(i int32, life uint32) {
	if n.nodes[i].alive || n.nodes[i].life != life {
		return
	}
	for _, h := range n.heldBy(i) {
		n.setDown(h, i)
	}
}
