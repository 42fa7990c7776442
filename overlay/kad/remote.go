package kad

import (
	"net/netip"
	"slices"

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
