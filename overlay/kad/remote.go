package kad

import (
	"context"
	"net/netip"
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/feedtree/feedtree/overlay"
)

// RemoteIP returns the IP address at the other end of a direct connection with a
// peer: whoever holds the peer's key is there, or lets itself be reached through
// there. False if there is no such connection; the end of a relayed one is the
// relay's.
func (n *Node) RemoteIP(id overlay.ID) (netip.Addr, bool) {
	var ends []netip.Addr
	for _, c := range n.host.Network().ConnsToPeer(peer.ID(id)) {
		if c.Stat().Limited || relayed(c.RemoteMultiaddr()) {
			continue
		}
		ip, err := manet.ToIP(c.RemoteMultiaddr())
		if err != nil {
			continue
		}
		if at, ok := netip.AddrFromSlice(ip); ok {
			ends = append(ends, at.Unmap())
		}
	}
	if len(ends) == 0 {
		return netip.Addr{}, false
	}
	return slices.MinFunc(ends, netip.Addr.Compare), true // the same one as long as they stand
}

// Visit connects directly with a peer of which nothing but its ID need be known, unless
// there is a connection, and returns what RemoteIP does. Where to dial, it asks the DHT.
func (n *Node) Visit(ctx context.Context, id overlay.ID) (netip.Addr, bool) {
	if at, ok := n.RemoteIP(id); ok {
		return at, true
	}
	if !n.enter() {
		return netip.Addr{}, false
	}
	defer n.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	p := peer.ID(id)
	if len(n.host.Peerstore().Addrs(p)) == 0 {
		n.find(ctx, p)
	}
	if len(n.host.Peerstore().Addrs(p)) == 0 {
		return netip.Addr{}, false
	}
	if err := n.meet(network.WithForceDirectDial(ctx, "whereabouts"), peer.AddrInfo{ID: p}); err != nil {
		return netip.Addr{}, false
	}
	return n.RemoteIP(id)
}
