package kad

import (
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
)

// neighbourhood greets the nodes that mDNS finds on the local network.
type neighbourhood struct {
	n    *Node
	slot chan struct{}
}

// HandlePeerFound is called by mDNS, on a goroutine of its own for each.
func (m neighbourhood) HandlePeerFound(info peer.AddrInfo) {
	if !m.n.enter() {
		return
	}
	defer m.n.leave()
	select {
	case m.slot <- struct{}{}:
		defer func() { <-m.slot }()
	default:
		return
	}
	if m.n.host.Network().Connectedness(info.ID) != network.Connected {
		err := m.n.meetWithin(dialPatience, info)
		m.n.set.Log.Debug("a node on the local network", "peer", info.ID, "err", err)
	}
}

// announceLocally starts mDNS. A machine without multicast does without.
func (n *Node) announceLocally() func() error {
	service := mdns.NewMdnsService(n.host, n.set.mdnsService(), neighbourhood{n, make(chan struct{}, 16)})
	if err := service.Start(); err != nil {
		n.set.Log.Warn("cannot look for nodes on the local network; other ways of finding peers still work", "err", err)
	}
	return service.Close
}
