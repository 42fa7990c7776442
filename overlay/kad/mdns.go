package kad

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
)

// neighbourhood greets the nodes that mDNS finds on the local network.
type neighbourhood struct {
	n    *Node
	slot chan struct{}
}

// greetLast is the longest pause between two tries of a node on the local network,
// after which it is given up.
const greetLast = 32 * time.Second

// HandlePeerFound is called by mDNS, on a goroutine of its own for each, and once only
// until what was announced expires: a node that was busy just then is tried again here.
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
	for wait := retryFirst; m.n.host.Network().Connectedness(info.ID) != network.Connected; wait *= 2 {
		err := m.n.meetWithin(dialPatience, info)
		m.n.set.Log.Debug("a node on the local network", "peer", info.ID, "err", err)
		if err == nil || wait > greetLast || !m.n.pause(wait) {
			return
		}
	}
}

// announcement is what of this node the local network hears.
type announcement struct {
	mu      sync.Mutex
	service mdns.Service // nil: nothing
	closed  bool
}

// announceLocally starts mDNS, anew if it runs: it listens on the interfaces that
// there are at that moment. A machine without multicast does without.
func (n *Node) announceLocally() {
	if n.set.NoMDNS || len(n.set.listen) == 0 {
		return
	}
	a := &n.local
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.service != nil {
		_ = a.service.Close()
	}
	a.service = mdns.NewMdnsService(n.host, n.set.mdnsService(), neighbourhood{n, make(chan struct{}, 16)})
	if err := a.service.Start(); err != nil {
		n.set.Log.Warn("cannot look for nodes on the local network; other ways of finding peers still work", "err", err)
	}
}

func (a *announcement) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.service == nil {
		return nil
	}
	return a.service.Close()
}
