package kad

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// reach is what a node knows of how others reach it. Its judgement is told to the
// rest of libp2p as AutoNAT v1 would: the DHT, the relay service and the search for
// relays follow it.
type reach struct {
	node *Node

	mu      sync.Mutex
	posture posture
	local   string                  // the addresses that the posture is for
	called  map[string]bool         // connections, by ID, that somebody outside made to us
	seenAs  map[string]ma.Multiaddr // by connection: the address the other end sees
	punched map[peer.ID]bool        // introduced by a relay; true once there is a direct connection
	relays  []ma.Multiaddr
	sparing bool // it has sent enough for others in this hour
	outside bool // others see an address that is none of this machine's
	tried   event.EvtHostReachableAddrsChanged
	mapper  basichost.NATManager // nil: no port mapping
	tell    event.Emitter
}

func newReach(n *Node) *reach {
	return &reach{
		node: n, posture: posture{state: Unknown},
		called: make(map[string]bool), seenAs: make(map[string]ma.Multiaddr), punched: make(map[peer.ID]bool),
	}
}

// options make libp2p find out, map ports, relay and punch.
func (r *reach) options() []libp2p.Option {
	return append([]libp2p.Option{
		noAutoNATv1,
		libp2p.EnableAutoNATv2(),
		libp2p.NATManager(func(nw network.Network) basichost.NATManager {
			r.mapper = basichost.NewNATManager(nw)
			return mapping{r.mapper, r}
		}),
		libp2p.EnableHolePunching(holepunch.WithTracer(r)),
	}, r.relayOptions()...)
}

// noAutoNATv1 keeps AutoNAT v1 from having a judgement of its own.
func noAutoNATv1(c *libp2p.Config) error {
	unknown := network.ReachabilityUnknown
	c.AutoNATConfig.ForceReachability = &unknown
	return nil
}

// mapping is the port mapping of the router, and where there is none the address
// at which others see a port. libp2p itself takes the word of no fewer than four
// for that, which are more than a small network has. A lie costs a vain try of
// AutoNAT's.
type mapping struct {
	basichost.NATManager
	reach *reach
}

func (m mapping) GetMapping(listening ma.Multiaddr) ma.Multiaddr {
	if mapped := m.NATManager.GetMapping(listening); mapped != nil {
		return mapped
	}
	return m.reach.seen(listening)
}

// seen returns the public address that most of those connected see for a port.
func (r *reach) seen(listening ma.Multiaddr) ma.Multiaddr {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes, best := map[string]int{}, ma.Multiaddr(nil)
	for _, id := range slices.Sorted(maps.Keys(r.seenAs)) {
		addr := r.seenAs[id]
		if !likewise(addr, listening) {
			continue
		}
		votes[addr.String()]++
		if best == nil || votes[addr.String()] > votes[best.String()] {
			best = addr
		}
	}
	return best
}

// likewise reports whether two addresses are of one IP version and transport.
func likewise(a, b ma.Multiaddr) bool {
	return slices.EqualFunc(a, b, func(x, y ma.Component) bool { return x.Code() == y.Code() })
}

// identified takes note of what a peer says that it sees.
func (r *reach) identified(e event.EvtPeerIdentificationCompleted) {
	conn, addr := e.Conn, e.ObservedAddr
	if conn == nil || addr == nil || conn.Stat().Limited || relayed(addr) || !manet.IsPublicAddr(addr) {
		return
	}
	own := r.own(addr)
	inbound := conn.Stat().Direction == network.DirInbound
	r.mu.Lock()
	defer r.mu.Unlock()
	if conn.IsClosed() {
		return
	}
	_, introduced := r.punched[e.Peer]
	if inbound && own && manet.IsPublicAddr(conn.RemoteMultiaddr()) && !introduced {
		r.called[conn.ID()] = true
	}
	if !own && r.listens(conn.LocalMultiaddr()) {
		r.seenAs[conn.ID()] = addr
	}
}

// own reports whether an address is of an interface of this machine.
func (r *reach) own(addr ma.Multiaddr) bool {
	ip, err := manet.ToIP(addr)
	if err != nil {
		return false
	}
	all, err := manet.InterfaceMultiaddrs()
	return err == nil && slices.ContainsFunc(all, func(a ma.Multiaddr) bool {
		mine, err := manet.ToIP(a)
		return err == nil && mine.Equal(ip)
	})
}

// sighted takes whether others see this machine at an address that it has not.
func (r *reach) sighted(elsewhere bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outside = elsewhere
}

// listens reports whether a connection's own end is a port listened on: what others
// see of another port is of no use.
func (r *reach) listens(local ma.Multiaddr) bool {
	return slices.ContainsFunc(r.node.host.Network().ListenAddresses(), func(a ma.Multiaddr) bool {
		return port(a) != "" && port(a) == port(local)
	})
}

func port(addr ma.Multiaddr) string {
	for _, code := range []int{ma.P_UDP, ma.P_TCP} {
		if p, err := addr.ValueForProtocol(code); err == nil {
			return ma.ProtocolWithCode(code).Name + p
		}
	}
	return ""
}

// told takes what AutoNAT v2 found.
func (r *reach) told(e event.EvtHostReachableAddrsChanged) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried = e
}

// reserved takes the addresses that lead here over relays.
func (r *reach) reserved(e event.EvtAutoRelayAddrsUpdated) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.relays = e.RelayAddrs
}

// opened takes note of whom a relay introduced, and of who then came directly.
func (r *reach) opened(conn network.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := conn.RemotePeer()
	if _, introduced := r.punched[p]; conn.Stat().Limited || introduced {
		r.punched[p] = !conn.Stat().Limited || r.punched[p]
	}
}

// closed forgets a connection.
func (r *reach) closed(conn network.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.called, conn.ID())
	delete(r.seenAs, conn.ID())
}

// parted forgets a peer.
func (r *reach) parted(p peer.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.punched, p)
}

// Trace hears how hole punching goes.
func (r *reach) Trace(e *holepunch.Event) {
	end, ok := e.Evt.(*holepunch.EndHolePunchEvt)
	switch {
	case !ok:
	case end.Success:
		r.node.count.inc(holesPunched)
		r.node.set.Log.Debug("punched a hole to a peer", "peer", e.Remote)
	default:
		r.node.count.inc(punchesFailed)
	}
}

// settle draws the conclusion and tells it, if it is another than before.
func (r *reach) settle(now time.Time, at place) {
	v, before := r.verdict(at)
	after := before.next(v, v != Private || r.node.someoneDialable(), now)
	r.mu.Lock()
	r.posture = after
	r.mu.Unlock()
	if after.state == before.state && after.standIn == before.standIn {
		return
	}
	r.say()
	r.node.set.Log.Info("reachability changed", "state", after.state, "stands_in", after.standIn)
}

// verdict weighs what is known. Judge alone asks for it, and changes the posture.
func (r *reach) verdict(at place) (v State, before posture) {
	f := r.facts(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	v = f.verdict()
	if at.addrs != r.local {
		r.outside = false
	} else if v == Unknown { // nobody is there to ask, and nothing has changed
		v = r.posture.state
	}
	r.local = at.addrs
	return v, r.posture
}

// say tells the rest of libp2p and the layer above how the node behaves now.
func (r *reach) say() {
	r.mu.Lock()
	is := r.posture.reachability()
	if r.sparing {
		is = network.ReachabilityPrivate // so that the DHT and the relay serve nobody
	}
	r.mu.Unlock()
	_ = r.tell.Emit(event.EvtLocalReachabilityChanged{Reachability: is})
	r.node.table.touch()
}

// spend looks at the meter, and begins or ceases to spare.
func (r *reach) spend(now time.Time) {
	n := r.node
	sparing := n.meter.look(now, n.host.Network().Conns())
	r.mu.Lock()
	was := r.sparing
	r.sparing = sparing
	r.mu.Unlock()
	if sparing == was {
		return
	}
	r.say()
	up := n.meter.spending(now).Upload
	if sparing {
		n.set.Log.Warn("the upload limit is near: nothing more is done for other nodes in this hour", "sent", up.Hour, "limit", up.Most, "until", up.Until)
	} else {
		n.set.Log.Info("below the upload limit again: other nodes are served", "sent", up.Hour, "limit", up.Most)
	}
}

// reachability puts a posture into libp2p's words. Who stands in says that it does
// not know, which makes the DHT a server and leaves the relays in place.
func (p posture) reachability() network.Reachability {
	switch {
	case p.state == Public:
		return network.ReachabilityPublic
	case p.serves():
		return network.ReachabilityUnknown
	}
	return network.ReachabilityPrivate
}

func (r *reach) facts(at place) facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return facts{
		dialled: len(r.tried.Reachable), vain: len(r.tried.Unreachable), called: len(r.called) > 0,
		translated: (r.outside || len(r.seenAs) > 0) && !at.public && !r.maps(),
	}
}

// maps reports whether the router forwards a port to this node.
func (r *reach) maps() bool {
	return r.mapper != nil && r.node.host != nil && slices.ContainsFunc(r.node.host.Network().ListenAddresses(),
		func(a ma.Multiaddr) bool { return r.mapper.GetMapping(a) != nil })
}

// someoneDialable reports whether a connected node serves the DHT and can be
// dialled: it relays, or this one dialled it. Of two behind one NAT that dialled each
// other, one counts.
func (n *Node) someoneDialable() bool {
	for _, c := range n.host.Network().Conns() {
		p := c.RemotePeer()
		switch {
		case n.reach.kindOf(c) != Direct || !n.serves(p):
		case n.relays(p), c.Stat().Direction == network.DirOutbound && p < n.host.ID():
			return true
		}
	}
	return false
}

// serves reports whether a peer has said that it serves the network's DHT.
func (n *Node) serves(p peer.ID) bool {
	spoken, err := n.host.Peerstore().SupportsProtocols(p, n.set.dhtPrefix()+"/kad/1.0.0")
	return err == nil && len(spoken) > 0
}
