package kad

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	kb "github.com/libp2p/go-libp2p-kbucket"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// routesEvery is the shortest time between two calls of Inbound.Routes.
const routesEvery = 100 * time.Millisecond

// table is the DHT's routing table as this package reads it: a copy with the
// positions computed, renewed when the original has changed.
type table struct {
	self    overlay.Key
	rt      *kb.RoutingTable
	doubts  doubts
	owned   owned
	mu      sync.Mutex // while renewing
	stale   atomic.Bool
	copy    atomic.Pointer[[]entry]
	changed chan struct{} // one token: routes changed
}

type entry struct {
	peer peer.ID
	key  overlay.Key
}

// newTable hooks into rt, which must not be in use yet: its callbacks are plain
// fields. They run with rt's lock held, so they only leave a mark.
func newTable(self overlay.Key, rt *kb.RoutingTable) *table {
	t := &table{self: self, rt: rt, changed: make(chan struct{}, 1)}
	t.doubts.of = make(map[peer.ID]bool)
	t.copy.Store(&[]entry{})
	added, removed := rt.PeerAdded, rt.PeerRemoved
	rt.PeerAdded = func(p peer.ID) { added(p); t.owned.forget(); t.renew() }
	rt.PeerRemoved = func(p peer.ID) { removed(p); t.renew() }
	return t
}

// renew marks the copy as old.
func (t *table) renew() {
	t.stale.Store(true)
	t.touch()
}

// touch says that answers may have changed.
func (t *table) touch() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *table) entries() []entry {
	if !t.stale.Load() {
		return *t.copy.Load()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stale.Swap(false) {
		return *t.copy.Load()
	}
	peers := t.rt.ListPeers()
	all := make([]entry, len(peers))
	for i, p := range peers {
		all[i] = entry{p, overlay.ID(p).Key()}
	}
	t.copy.Store(&all)
	return all
}

// Self returns the node's own identity.
func (n *Node) Self() overlay.ID { return overlay.ID(n.host.ID()) }

// Host returns the libp2p host, for whoever speaks other protocols over the
// node's connections. It is the node's to close.
func (n *Node) Host() host.Host { return n.host }

// NextHop returns the connected peer closest to key, if it is closer than Self.
func (n *Node) NextHop(key overlay.Key) (overlay.ID, bool) {
	best, found := entry{key: n.table.self}, false
	for _, e := range n.table.entries() {
		if key.Closer(e.key, best.key) && n.usable(e.peer) {
			best, found = e, true
		}
	}
	return overlay.ID(best.peer), found
}

func (n *Node) usable(p peer.ID) bool {
	return n.host.Network().Connectedness(p) == network.Connected && !n.table.doubts.avoid(p)
}

// Closest returns up to count peers of the routing table, nearest to key first.
func (n *Node) Closest(key overlay.Key, count int) []overlay.ID {
	return nearest(key, slices.Clone(n.table.entries()), count)
}

// nearest sorts all by distance to key and returns the first count.
func nearest(key overlay.Key, all []entry, count int) []overlay.ID {
	slices.SortFunc(all, func(a, b entry) int {
		da, db := key.Distance(a.key), key.Distance(b.key)
		return bytes.Compare(da[:], db[:])
	})
	all = all[:min(max(count, 0), len(all))]
	ids := make([]overlay.ID, len(all))
	for i, e := range all {
		ids[i] = overlay.ID(e.peer)
	}
	return ids
}

// announce calls Routes when the answers above may have changed, at most once in
// routesEvery.
func (n *Node) announce() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.table.changed:
		}
		n.in.Routes()
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(routesEvery):
		}
	}
}
