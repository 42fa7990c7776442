package kad

import (
	"net"
	"strings"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Listening returns the addresses the node listens on, ports and all, as
// [Config.Before] takes them.
func (n *Node) Listening() []string {
	var addrs []string
	for _, a := range n.host.Network().ListenAddresses() {
		addrs = append(addrs, a.String())
	}
	return addrs
}

// steady replaces the ports that Listen leaves open by those of an earlier run
// where they are free: others remember a node by its addresses, and one that
// comes back somewhere else has to be found anew.
func steady(listen []ma.Multiaddr, before []string) []ma.Multiaddr {
	out := make([]ma.Multiaddr, len(listen))
	for i, addr := range listen {
		out[i] = addr
		for _, text := range before {
			if old, err := ma.NewMultiaddr(text); err == nil && fills(old, addr) && free(old) {
				out[i] = old
				break
			}
		}
	}
	return out
}

// fills reports whether old is addr with its port of 0 replaced by another.
func fills(old, addr ma.Multiaddr) bool {
	for _, proto := range []int{ma.P_UDP, ma.P_TCP} {
		port, err := old.ValueForProtocol(proto)
		if err != nil {
			continue
		}
		name := "/" + ma.ProtocolWithCode(proto).Name + "/"
		return port != "0" && strings.Replace(old.String(), name+port, name+"0", 1) == addr.String()
	}
	return false
}

// free reports whether an address can be listened on now.
func free(addr ma.Multiaddr) bool {
	if _, err := addr.ValueForProtocol(ma.P_TCP); err == nil {
		return probe(addr) == nil
	}
	udp, _ := ma.SplitFunc(addr, func(c ma.Component) bool { return c.Protocol().Code == ma.P_QUIC_V1 })
	version, hostPort, err := manet.DialArgs(udp)
	if err != nil {
		return false
	}
	l, err := net.ListenPacket(version, hostPort)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
