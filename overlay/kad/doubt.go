package kad

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

const (
	redialAfter = 2 * time.Second
	maxDoubts   = 128
)

// doubts holds the peers being checked on.
type doubts struct {
	mu sync.Mutex
	of map[peer.ID]bool // whether NextHop must avoid it meanwhile
}

func (d *doubts) begin(p peer.ID, avoid bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, already := d.of[p]; already || len(d.of) >= maxDoubts {
		return false
	}
	d.of[p] = avoid
	return true
}

func (d *doubts) end(p peer.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, p)
}

func (d *doubts) avoid(p peer.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[p]
}

// Suspect says that a peer does not seem to answer. NextHop avoids it from now
// until it has answered a ping; if it does not, it is disconnected and reported
// as gone.
func (n *Node) Suspect(id overlay.ID) {
	if p := peer.ID(id); p != n.host.ID() && allowed(p) {
		n.doubt(p, 0)
	}
}

// doubt checks on a peer after a while, once at a time.
func (n *Node) doubt(p peer.ID, after time.Duration) {
	if !n.table.doubts.begin(p, after == 0) {
		return
	}
	n.table.touch()
	n.goes(func() {
		defer n.table.touch()
		defer n.table.doubts.end(p)
		select {
		case <-time.After(after):
			n.verify(p)
		case <-n.ctx.Done():
		}
	})
}

// verify pings a connected peer over each connection it has, closing those that
// are dead, and redials one that is not connected. Who does not answer leaves the
// routing table.
func (n *Node) verify(p peer.ID) {
	if conns := n.host.Network().ConnsToPeer(p); len(conns) > 0 {
		n.closeDead(conns)
		if n.host.Network().Connectedness(p) != network.NotConnected || n.ctx.Err() != nil {
			return
		}
		n.count.inc(peersSilent)
		n.set.Log.Debug("a peer stopped answering", "peer", p)
		n.evict(p)
		return
	}
	if n.dht.RoutingTable().Find(p) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, dialPatience)
	defer cancel()
	if n.dial(ctx, peer.AddrInfo{ID: p}) != nil && n.ctx.Err() == nil {
		n.evict(p)
	}
}

func (n *Node) evict(p peer.ID) {
	n.count.inc(peersEvicted)
	n.dht.RoutingTable().RemovePeer(p)
}
