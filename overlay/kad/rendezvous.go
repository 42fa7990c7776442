package kad

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/multiformats/go-multihash"
)

const (
	visitLimit = time.Minute
	mostFound  = 20 // nodes that a visit is to name
	visitConns = 48
)

// rendezvous is what a node has of the public DHT.
type rendezvous struct {
	mu     sync.Mutex
	state  Rendezvous
	relays []peer.AddrInfo // of that network, for a node that nobody can dial
}

// meetingPoint is where the nodes of a network write themselves down. There is one
// for all feeds: one for each would tell the public who reads what.
func meetingPoint(network string) cid.Cid {
	sum, err := multihash.Sum([]byte("feedtree/rendezvous/1\x00"+network), multihash.SHA2_256, -1)
	if err != nil {
		panic("kad: SHA-256: " + err.Error())
	}
	return cid.NewCidV1(cid.Raw, sum)
}

// attend visits the public DHT when it is time to, for as long as the node lives.
func (n *Node) attend() {
	plan := meetings{ask: time.Now().Add(askFirst)}
	for {
		on, woken := n.rest(askFirst)
		if !on {
			return
		}
		now := time.Now()
		if woken {
			plan.wake(now)
		}
		addrs := n.tellable()
		where := strings.Join(texts(addrs), " ")
		ask, tell := plan.due(now, len(n.Connected()), where)
		if !ask && !tell {
			continue
		}
		n.count.inc(visits)
		told, err := n.visit(ask, addrs, tell)
		if err != nil && n.ctx.Err() == nil {
			n.count.inc(visitsFailed)
			n.set.Log.Debug("the public DHT was visited in vain", "err", err)
		}
		plan.asked(now)
		if told {
			plan.told, plan.where = now, where
		}
	}
}

// tellable returns the addresses at which anybody may find the node: public ones, of
// a node that nobody can dial those over its relays.
func (n *Node) tellable() []ma.Multiaddr {
	private := n.reach.now().state == Private
	return slices.DeleteFunc(n.host.Addrs(), func(a ma.Multiaddr) bool {
		return !manet.IsPublicAddr(a) || relayed(a) != private
	})
}

// visit asks who is there, tells that this node is, and leaves. The host that it goes
// with has the node's identity, or the record would not be taken; it listens nowhere
// and is closed afterwards, so that nothing of that network stays.
func (n *Node) visit(ask bool, addrs []ma.Multiaddr, tell bool) (told bool, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, visitLimit)
	defer cancel()
	h, err := n.visitor(addrs)
	if err != nil {
		return false, err
	}
	defer h.Close()
	sub, err := h.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		return false, err
	}
	defer sub.Close()
	d, err := dht.New(h, dht.Mode(dht.ModeClient), dht.DisableAutoRefresh())
	if err != nil {
		return false, err
	}
	defer d.Close()
	if err := n.enterDHT(ctx, h, d); err != nil {
		return false, err
	}
	point := meetingPoint(n.set.Network)
	if ask {
		n.greet(ctx, d.FindProvidersAsync(ctx, point, mostFound))
		n.learnOutside(sub)
		n.noteRelays(h)
	}
	if !tell {
		return false, nil
	}
	if err := d.Provide(ctx, point, true); err != nil {
		return false, err
	}
	n.meeting(func(r *rendezvous) { now := time.Now(); r.state.Told = &now })
	return true, nil
}

// visitor makes the host of a visit.
func (n *Node) visitor(addrs []ma.Multiaddr) (host.Host, error) {
	conns, err := connmgr.NewConnManager(visitConns/2, visitConns)
	if err != nil {
		return nil, err
	}
	return libp2p.New(
		libp2p.Identity(n.set.key), libp2p.UserAgent("feedtree"), libp2p.NoListenAddrs,
		libp2p.Transport(libp2pquic.NewTransport), libp2p.Transport(tcp.NewTCPTransport),
		libp2p.ConnectionManager(conns), libp2p.WithDialTimeout(dialPatience), libp2p.DisableRelay(), libp2p.DisableMetrics(),
		libp2p.AddrsFactory(func([]ma.Multiaddr) []ma.Multiaddr { return addrs }),
	)
}

var errNoDHT = errors.New("no node of the public DHT answered")

// enterDHT connects to the nodes to begin with, all at once, and waits until one
// of them is in the table.
func (n *Node) enterDHT(ctx context.Context, h host.Host, d *dht.IpfsDHT) error {
	var all sync.WaitGroup
	for _, info := range n.set.rendezvous {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 2*dialPatience)
			defer cancel()
			_ = h.Connect(ctx, info)
		})
	}
	all.Wait()
	for range 10 {
		if d.RoutingTable().Size() > 0 {
			return nil
		}
		if len(h.Network().Peers()) == 0 || !n.pause(time.Second) {
			break
		}
	}
	return errNoDHT
}

// greet meets the nodes that are named.
func (n *Node) greet(ctx context.Context, named <-chan peer.AddrInfo) {
	var found []peer.AddrInfo
	for info := range named {
		info.Addrs = slices.DeleteFunc(info.Addrs, func(a ma.Multiaddr) bool { return !shape(a, true) })
		if info.ID == n.host.ID() || !allowed(info.ID) || len(info.Addrs) == 0 {
			continue
		}
		info.Addrs = info.Addrs[:min(len(info.Addrs), maxPeerAddrs)]
		found = append(found, info)
	}
	now := time.Now()
	n.meeting(func(r *rendezvous) { r.state.Asked, r.state.Found = &now, len(found) })
	n.set.Log.Debug("asked the public DHT for other nodes", "named", len(found))
	for len(found) > 0 && ctx.Err() == nil {
		some := found[:min(len(found), rememberedAtOnce)]
		n.meetAll(some)
		found = found[len(some):]
	}
}

// learnOutside takes what strangers see: an address that is not this machine's is a
// sign of a NAT, the only one for a node that is alone.
func (n *Node) learnOutside(sub event.Subscription) {
	for {
		select {
		case e := <-sub.Out():
			if seen := e.(event.EvtPeerIdentificationCompleted).ObservedAddr; seen != nil && manet.IsPublicAddr(seen) {
				n.reach.sighted(!n.reach.own(seen))
			}
		default:
			return
		}
	}
}

// noteRelays keeps some of those met that relay, should no node of the network do.
func (n *Node) noteRelays(h host.Host) {
	var relays []peer.AddrInfo
	for _, p := range h.Network().Peers() {
		spoken, err := h.Peerstore().SupportsProtocols(p, proto.ProtoIDv2Hop)
		if err == nil && len(spoken) > 0 && allowed(p) && len(relays) < relaysKnown && h.Network().Connectedness(p) == network.Connected {
			relays = append(relays, peer.AddrInfo{ID: p, Addrs: h.Peerstore().Addrs(p)})
		}
	}
	n.meeting(func(r *rendezvous) { r.relays = relays })
}

func (n *Node) meeting(change func(*rendezvous)) {
	n.public.mu.Lock()
	defer n.public.mu.Unlock()
	change(&n.public)
}

// checkRendezvous reads the nodes of the public DHT to begin with. Those of IPFS that
// have names are enough: addresses without one change hands.
func (s *settings) checkRendezvous() error {
	if s.NoRendezvous {
		return nil
	}
	if s.Rendezvous == nil {
		for _, info := range dht.GetDefaultBootstrapPeerAddrInfos() {
			if _, err := info.Addrs[0].ValueForProtocol(ma.P_DNSADDR); err == nil {
				s.rendezvous = append(s.rendezvous, info)
			}
		}
	}
	for _, text := range s.Rendezvous {
		info, err := peer.AddrInfoFromString(text)
		if err != nil {
			return fmt.Errorf("rendezvous address %q: %w; it must look like /dnsaddr/bootstrap.libp2p.io/p2p/Qm… or /ip4/203.0.113.7/tcp/4001/p2p/12D3Koo…", text, err)
		}
		s.rendezvous = append(s.rendezvous, *info)
	}
	return nil
}
