package kad

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/feedtree/feedtree/overlay"
)

const (
	maxLearned   = 1024 // peers whose addresses others named
	maxPeerAddrs = 8    // addresses told or learned of one peer
	maxAddrLen   = 256
	maxAddrText  = 1024 // base58, in which IDs are written, takes the square of its length to read

	// learnFor is how long a learned address is kept. The odd nanosecond tells
	// these from every other address in the peerstore, which knows them by how
	// long they are to live.
	learnFor = 10*time.Minute + time.Nanosecond
)

// Text returns the ID as people write it: what follows /p2p/ in a multiaddr.
func Text(id overlay.ID) string { return peer.ID(id).String() }

// ParseText reads what Text writes.
func ParseText(text string) (overlay.ID, error) {
	if len(text) > maxAddrText {
		return "", errForeignKey
	}
	p, err := peer.Decode(text)
	if err == nil && !allowed(p) {
		err = errForeignKey
	}
	return overlay.ID(p), err
}

// Addrs returns the full multiaddrs at which others may reach the node, /p2p/
// included.
func (n *Node) Addrs() []string {
	addrs, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: n.host.ID(), Addrs: n.host.Addrs()})
	if err != nil {
		panic("kad: own address: " + err.Error())
	}
	return texts(addrs)
}

func texts(addrs []ma.Multiaddr) []string {
	all := make([]string, len(addrs))
	for i, addr := range addrs {
		all[i] = addr.String()
	}
	return all
}

// AddrsOf returns up to eight addresses of a peer, or of the node itself, in the
// binary form that Learn takes; nil if none is known.
func (n *Node) AddrsOf(id overlay.ID) [][]byte {
	var all [][]byte
	for _, addr := range n.addrsOf(peer.ID(id)) {
		all = append(all, addr.Bytes())
	}
	return all
}

// addrsOf leaves out loopback addresses unless there is nothing else, because
// elsewhere they mean somebody else.
func (n *Node) addrsOf(p peer.ID) []ma.Multiaddr {
	known := n.host.Peerstore().Addrs(p)
	if p == n.host.ID() {
		known = n.host.Addrs()
	}
	var addrs, loopback []ma.Multiaddr
	for _, addr := range known {
		switch {
		case !shape(addr, true):
		case manet.IsIPLoopback(addr):
			loopback = append(loopback, addr)
		default:
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		addrs = loopback
	}
	return addrs[:min(len(addrs), maxPeerAddrs)]
}

// Peers returns the connected peers worth remembering: those that serve the DHT,
// with the addresses to find them at.
func (n *Node) Peers() []Peer {
	var all []Peer
	for _, e := range n.table.entries() {
		addrs := n.addrsOf(e.peer)
		if len(addrs) > 0 && n.host.Network().Connectedness(e.peer) == network.Connected {
			all = append(all, Peer{ID: e.peer.String(), Addrs: texts(addrs)})
		}
	}
	return all
}

// learned holds the peers whose addresses were named by others, oldest first.
type learned struct {
	mu    sync.Mutex
	order []peer.ID
	known map[peer.ID]bool
}

// note adds p and returns the peer that had to make room, if any.
func (l *learned) note(p peer.ID) (out peer.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[p] {
		return ""
	}
	if len(l.order) >= maxLearned {
		out, l.order = l.order[0], l.order[1:]
		delete(l.known, out)
	}
	l.order = append(l.order, p)
	l.known[p] = true
	return out
}

// Learn notes where a peer named in a message may be found. It connects to
// nobody. What it notes is forgotten after ten minutes, or earlier to make room:
// the memory that messages can fill is bounded. Connected peers are left alone:
// they have told their addresses themselves.
func (n *Node) Learn(id overlay.ID, addrs [][]byte) {
	p := peer.ID(id)
	if p == n.host.ID() || n.host.Network().Connectedness(p) == network.Connected {
		return
	}
	if !allowed(p) {
		n.count.inc(refusedAddr)
		return
	}
	var good []ma.Multiaddr
	for _, b := range addrs[:min(len(addrs), maxPeerAddrs)] {
		if addr, ok := dialable(b); ok {
			good = append(good, addr)
		} else {
			n.count.inc(refusedAddr)
		}
	}
	if len(good) == 0 {
		return
	}
	if out := n.learned.note(p); out != "" {
		n.host.Peerstore().UpdateAddrs(out, learnFor, 0)
	}
	n.host.Peerstore().UpdateAddrs(p, learnFor, 0) // the newest word replaces the last
	n.host.Peerstore().AddAddrs(p, good, learnFor)
}

// dialable reads an address that a stranger named. Names to resolve are refused:
// nobody shall make us ask his DNS server.
func dialable(b []byte) (ma.Multiaddr, bool) {
	if len(b) > maxAddrLen {
		return nil, false
	}
	addr, err := ma.NewMultiaddrBytes(b)
	if err != nil || !shape(addr, true) {
		return nil, false
	}
	ip, err := manet.ToIP(addr)
	return addr, err == nil && !ip.IsUnspecified() && !ip.IsMulticast()
}
