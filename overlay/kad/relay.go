package kad

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	ma "github.com/multiformats/go-multiaddr"
)

const (
	relaysWanted = 2
	relaysKnown  = 8
	relayRetry   = time.Minute     // of one that refused
	relayLook    = 5 * time.Second // between looks for one, from memory
)

// relayLimits is what this node relays at most. It introduces others, it does not
// carry their feeds: a connection over it is worth two minutes or 128 KiB.
var relayLimits = relay.Resources{
	Limit:           &relay.RelayLimit{Duration: 2 * time.Minute, Data: 128 << 10},
	ReservationTTL:  time.Hour,
	MaxReservations: 64, MaxReservationsPerIP: 8, MaxReservationsPerASN: 32,
	MaxCircuits: 8, BufferSize: 2 << 10,
}

func (r *reach) relayOptions() []libp2p.Option {
	return []libp2p.Option{
		libp2p.EnableRelay(),
		libp2p.EnableRelayService(relay.WithResources(relayLimits), relay.WithACL(members{r})),
		libp2p.EnableAutoRelayWithPeerSource(r.candidates,
			autorelay.WithBootDelay(0), autorelay.WithMinCandidates(1), autorelay.WithMaxCandidates(relaysKnown),
			autorelay.WithNumRelays(relaysWanted), autorelay.WithBackoff(relayRetry), autorelay.WithMinInterval(relayLook)),
	}
}

// members relays for nodes of the network only.
type members struct{ reach *reach }

func (m members) AllowReserve(p peer.ID, _ ma.Multiaddr) bool { return m.reach.node.notForeign(p) }
func (m members) AllowConnect(from peer.ID, _ ma.Multiaddr, to peer.ID) bool {
	return m.reach.node.notForeign(from) && m.reach.node.notForeign(to)
}

// notForeign reports whether a peer is a member, or has not said yet.
func (n *Node) notForeign(p peer.ID) bool {
	all, err := n.host.Peerstore().GetProtocols(p)
	ok := err == nil && len(all) == 0 || n.member(p)
	if !ok {
		n.count.inc(refusedNetwork)
	}
	return ok
}

// candidates names relays to a node that needs one: those of the network that are
// connected, in any order, and only if there is none those of the public DHT.
func (r *reach) candidates(_ context.Context, most int) <-chan peer.AddrInfo {
	out := make(chan peer.AddrInfo, most)
	defer close(out)
	if r.now().state != Private {
		return out
	}
	n := r.node
	peers := n.host.Network().Peers()
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	for _, p := range peers {
		if len(out) == most {
			break
		}
		if n.relays(p) && n.member(p) && n.host.Network().Connectedness(p) == network.Connected {
			out <- peer.AddrInfo{ID: p, Addrs: n.host.Peerstore().Addrs(p)}
		}
	}
	if len(out) == 0 {
		n.meeting(func(public *rendezvous) {
			for _, info := range public.relays[:min(len(public.relays), most)] {
				out <- info
			}
		})
	}
	return out
}

// relays reports whether a peer has said that it relays.
func (n *Node) relays(p peer.ID) bool {
	spoken, err := n.host.Peerstore().SupportsProtocols(p, proto.ProtoIDv2Hop)
	return err == nil && len(spoken) > 0
}

func (r *reach) now() posture {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.posture
}
