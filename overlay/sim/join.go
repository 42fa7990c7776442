package sim

import (
	"math/bits"
	"time"
)

// How many nodes join at the same time: of those that are there already one in
// joinShare, and no more than joinMost.
const (
	joinShare = 32
	joinMost  = 512
)

// joinAll lets nodes that came up join, some at a time: they look at tables as these
// are before any of them is known to others.
func (n *Net[M]) joinAll(batch []int32) {
	took := make([]time.Duration, min(len(batch), joinMost))
	for len(batch) > 0 {
		k := min(max(len(n.order.joined)/joinShare, 1), joinMost, len(batch))
		some := batch[:k]
		batch = batch[k:]
		parts := len(n.walks)
		if n.deaths || n.parted || k < parts {
			parts = 1
		}
		part := func(i int) {
			for j := i * k / parts; j < (i+1)*k/parts; j++ {
				took[j] = n.search(&n.walks[i], some[j], n.nodes[some[j]].life > 1)
			}
		}
		if parts > 1 {
			n.cfg.Lanes.Do(parts, part)
		} else {
			part(0)
		}
		for j, a := range some {
			n.nodes[a].flags &^= newcomer
			if n.nodes[a].life == 1 && !n.nodes[a].hidden {
				n.order.joined = append(n.order.joined, a)
			}
			n.routesAt(a, n.own.now+took[j])
		}
		n.count()
		n.introduceAll(k)
		for _, a := range some {
			if n.lost(a) {
				n.refreshLater(a)
			}
		}
	}
}

// join fills the table of a node that has joined before.
func (n *Net[M]) join(a int32) {
	took := n.search(&n.walks[0], a, true)
	n.count()
	for k := range n.lanes {
		n.introduce(&n.walks[0], k)
	}
	n.routesAt(a, n.own.now+took)
	if n.lost(a) {
		n.refreshLater(a)
	}
}

// search fills a's table as kad-dht does after it met its first peers: a walk
// toward the own key, then one into each bucket. Nothing but the node and the walker
// changes by it.
func (n *Net[M]) search(w *walker, a int32, again bool) (took time.Duration) {
	w.joins = true
	for range boots {
		if p := n.someone(a); p >= 0 {
			n.meets(w, a, p)
		}
	}
	took = routesAfter
	if again {
		_, took = n.walkBy(w, a, n.pos[a], beta, alpha)
	} else {
		n.walkBy(w, a, n.pos[a], beta, 1) // finds the same nodes; how long a first join takes matters to nobody
	}
	n.refill(w, a)
	w.joins = false
	return took
}

// meets is a's contact with p during a walk.
func (n *Net[M]) meets(w *walker, a, p int32) {
	n.take(w, a, p)
	if w.joins {
		if w.met == nil {
			w.met = make([][]meeting, len(n.lanes))
		}
		lane := n.lane[p]
		if n.deaths {
			lane = 0 // it is kept who has whom, in the order in which they met
		}
		w.met[lane] = append(w.met[lane], meeting{a, p})
	} else {
		n.insert(p, a)
	}
}

// take puts p into a's table, unless too many have it who joined before. Those nearest to
// it are taken all the same, for without them routes would end elsewhere, and so are those
// whom it meets first: who is told of none but such would know nobody at all.
func (n *Net[M]) take(w *walker, a, p int32) {
	most := n.cfg.Tables.Holders
	if most == 0 || n.deaths || !w.joins {
		n.insert(a, p)
		return
	}
	far := bits.Len(uint(len(n.order.joined)/n.cfg.Tables.Bucket)) - 1 // buckets; nearer than these are as many nodes as one or two hold
	had := len(n.nodes[a].table.peers)
	if had >= boots && int(n.held[p]) >= most && n.bucketOf(a, p) < far {
		return
	}
	n.insert(a, p)
	if len(n.nodes[a].table.peers) > had {
		w.took = append(w.took, p)
	}
}

// count adds what those who joined at the same time took.
func (n *Net[M]) count() {
	for i := range n.walks {
		for _, p := range n.walks[i].took {
			n.held[p]++
		}
		n.walks[i].took = n.walks[i].took[:0]
	}
}

// introduceAll makes those who joined known to those whom they asked: those of all lanes
// at once, unless few joined or what is done concerns more than one lane.
func (n *Net[M]) introduceAll(joined int) {
	lane := func(k int) {
		for i := range n.walks {
			n.introduce(&n.walks[i], k)
		}
	}
	if n.deaths || joined < len(n.walks) {
		for k := range n.lanes {
			lane(k)
		}
		return
	}
	n.cfg.Lanes.Do(len(n.lanes), lane)
}

// introduce makes those who joined known to those of a lane whom they asked.
func (n *Net[M]) introduce(w *walker, lane int) {
	if w.met == nil {
		return
	}
	for _, m := range w.met[lane] {
		n.insert(m.other, m.joiner)
	}
	w.met[lane] = w.met[lane][:0]
}
