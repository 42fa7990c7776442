package kad

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/feedtree/feedtree/overlay"
)

const (
	retryFirst, retryLast = time.Second, time.Minute     // between tries of one bootstrap peer
	kickFirst, kickLast   = time.Second, 8 * time.Second // between kicks of the DHT
	lookAfter             = 5 * time.Second              // at a bootstrap peer that is connected
	foreignAfter          = time.Second                  // a peer connected that has not named our protocol
	rememberedAtOnce      = 4
	rememberEvery         = 6 // looks at who is connected, to know them when all are lost
	enoughPeers           = 8 // in the table: no need of more remembered ones
	maxRemembered         = 256
)

// settling is when a node that has just joined asks again who is near it. The DHT
// does so only every hour: a refresh costs a few hundred messages, and links tell
// sooner who is gone. Nodes that start together would miss each other for as long. The
// last time it asks its nearest only.
var settling = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 12 * time.Second, time.Minute, 3 * time.Minute}

const settled = 15 * time.Minute

var errForeign = errors.New("it speaks another network's protocols, or is no FeedTree node")

// Connect dials the peer of a full multiaddr and waits until the connection
// stands.
func (n *Node) Connect(ctx context.Context, addr string) error {
	info, err := parseFull(addr)
	if err != nil {
		return fmt.Errorf("cannot connect to %w", err)
	}
	if !n.enter() {
		return ErrClosed
	}
	defer n.leave()
	if err := n.meet(ctx, *info); err != nil {
		return fmt.Errorf("cannot connect to %s: %w", addr, err)
	}
	return nil
}

// dial connects, even where an earlier failure makes libp2p hold back: our own
// loops keep their distance between tries.
func (n *Node) dial(ctx context.Context, info peer.AddrInfo) error {
	if sw, ok := n.host.Network().(*swarm.Swarm); ok {
		sw.Backoff().Clear(info.ID)
	}
	return n.host.Connect(ctx, info)
}

// meet dials a peer that an address promised and parts from it if it is of
// another network.
func (n *Node) meet(ctx context.Context, info peer.AddrInfo) error {
	if info.ID == n.host.ID() {
		return ErrPeer
	}
	if err := n.dial(ctx, info); err != nil {
		return err
	}
	err := n.awaitMember(ctx, info.ID)
	if err == errForeign {
		n.count.inc(refusedNetwork)
	}
	if err != nil {
		_ = n.host.Network().ClosePeer(info.ID)
	}
	return err
}

// awaitMember waits until a peer just connected has named our protocol. libp2p takes
// up new protocols in the background: who started a moment ago may tell the first who
// connects what it spoke before that, and the rest later.
func (n *Node) awaitMember(ctx context.Context, p peer.ID) error {
	sub, err := n.host.EventBus().Subscribe(new(event.EvtPeerProtocolsUpdated), eventbus.Name("feedtree (meet)"))
	if err != nil {
		return err
	}
	defer sub.Close()
	limit := time.NewTimer(foreignAfter)
	defer limit.Stop()
	for !n.member(p) {
		select {
		case <-sub.Out():
		case <-limit.C:
			return errForeign
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return ErrClosed
		}
	}
	return nil
}

// member reports whether a peer has said that it speaks our network's protocol.
func (n *Node) member(p peer.ID) bool {
	spoken, err := n.host.Peerstore().SupportsProtocols(p, n.set.treeProtocol())
	return err == nil && len(spoken) > 0
}

// Connected returns the peers of the network with a direct connection now.
func (n *Node) Connected() []overlay.ID {
	var all []overlay.ID
	for _, p := range n.host.Network().Peers() {
		if n.host.Network().Connectedness(p) == network.Connected && n.member(p) {
			all = append(all, overlay.ID(p))
		}
	}
	return all
}

// accompanied reports whether there is any of them. Who was there last is asked for first:
// mostly that one still is.
func (n *Node) accompanied() bool {
	beside := func(p peer.ID) bool {
		return n.host.Network().Connectedness(p) == network.Connected && n.member(p)
	}
	if last := n.companion.Load(); last != nil && beside(*last) {
		return true
	}
	for _, p := range n.host.Network().Peers() {
		if beside(p) {
			n.companion.Store(&p)
			return true
		}
	}
	return false
}

// pursue keeps a bootstrap peer connected, for ever: two halves of a network that
// was cut may have nobody else in common.
func (n *Node) pursue(info peer.AddrInfo) {
	wait, told := retryFirst, false
	for {
		pause := lookAfter
		if n.host.Network().Connectedness(info.ID) != network.Connected {
			err := n.meetWithin(dialPatience, info)
			switch {
			case n.ctx.Err() != nil:
				return
			case err == nil:
				n.set.Log.Info("joined through a bootstrap peer", "peer", info.ID)
				wait, told = retryFirst, false
			default:
				if !told {
					n.set.Log.Warn("a bootstrap peer does not answer; trying on", "peer", info.ID, "addr", info.Addrs[0], "err", err)
				}
				told = true
				n.count.inc(joinsFailed)
				pause = wait + rand.N(wait/4+1)
				wait = min(2*wait, retryLast)
			}
		}
		on, woken := n.rest(pause)
		if woken {
			wait = retryFirst
		}
		if !on {
			return
		}
	}
}

func (n *Node) meetWithin(patience time.Duration, info peer.AddrInfo) error {
	ctx, cancel := context.WithTimeout(n.ctx, patience)
	defer cancel()
	return n.meet(ctx, info)
}

// pause waits and reports whether the node lives on.
func (n *Node) pause(d time.Duration) bool {
	on, _ := n.rest(d)
	return on
}

// rest waits, or until it is time to look at once. It reports whether the node lives
// on, and whether it was woken.
func (n *Node) rest(d time.Duration) (on, woken bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true, false
	case <-n.woken.wait():
		return true, true
	case <-n.ctx.Done():
		return false, false
	}
}

// recall tries the peers of earlier runs, and later those met since, a few at a
// time, until enough are found. As long as nobody is, it tries them again.
func (n *Node) recall() {
	infos := remembered(n.set.Remembered)
	for wait, since := retryFirst, time.Now(); ; wait = min(2*wait, n.patience(since)) {
		rand.Shuffle(len(infos), func(i, j int) { infos[i], infos[j] = infos[j], infos[i] })
		for i := 0; i < len(infos) && n.dht.RoutingTable().Size() < enoughPeers; i += rememberedAtOnce {
			n.meetAll(infos[i:min(i+rememberedAtOnce, len(infos))])
		}
		on, woken := n.rest(wait)
		for turn := 0; on && n.accompanied(); turn++ {
			if turn%rememberEvery == 0 {
				infos = latest(remembered(n.Peers()), infos)
			}
			wait, since = retryFirst, time.Now()
			on, woken = n.rest(lookAfter)
		}
		if woken {
			wait, since = retryFirst, time.Now()
		}
		if !on {
			return
		}
	}
}

// patience is how long to wait at most before peers are tried again.
func (n *Node) patience(since time.Time) time.Duration {
	if time.Since(since) < lostFor {
		return retryLost
	}
	return retryLast
}

// latest puts those met now in front of those met before, within bounds.
func latest(now, before []peer.AddrInfo) []peer.AddrInfo {
	for _, b := range before {
		if len(now) >= maxRemembered {
			break
		}
		if !slices.ContainsFunc(now, func(i peer.AddrInfo) bool { return i.ID == b.ID }) {
			now = append(now, b)
		}
	}
	return now
}

func (n *Node) meetAll(infos []peer.AddrInfo) {
	done := make(chan struct{})
	for _, info := range infos {
		go func() {
			_ = n.meetWithin(dialPatience, info)
			done <- struct{}{}
		}()
	}
	for range infos {
		<-done
	}
}

func remembered(peers []Peer) []peer.AddrInfo {
	var infos []peer.AddrInfo
	for _, r := range peers[:min(len(peers), maxRemembered)] {
		id, err := ParseText(r.ID)
		if err != nil {
			continue
		}
		info := peer.AddrInfo{ID: peer.ID(id)}
		for _, text := range r.Addrs {
			if addr, err := ma.NewMultiaddr(text); err == nil && shape(addr, true) {
				info.Addrs = append(info.Addrs, addr)
			}
		}
		if len(info.Addrs) > 0 {
			infos = append(infos, info)
		}
	}
	return infos
}

// kick keeps pushing the DHT while it has connections and nobody in its table,
// then has it look around while the network settles.
func (n *Node) kick() {
	for {
		wait := kickFirst
		for n.dht.RoutingTable().Size() == 0 {
			if !n.pause(wait) {
				return
			}
			if n.dht.RoutingTable().Size() == 0 && len(n.Connected()) > 0 {
				n.count.inc(joinKicks)
				n.set.Log.Info("connected, but in no routing table yet; asking again")
				_ = n.dht.Bootstrap(n.ctx)
				wait = min(2*wait, kickLast)
			}
		}
		n.set.Log.Debug("joined", "peers", n.dht.RoutingTable().Size())
		for _, d := range settling {
			if !n.pause(d) {
				return
			}
			_ = n.dht.Bootstrap(n.ctx)
		}
		if !n.pause(settled) {
			return
		}
		_, _ = n.Lookup(n.ctx, []byte(n.host.ID()))
		for n.dht.RoutingTable().Size() > 0 {
			if !n.pause(lookAfter) {
				return
			}
		}
	}
}

// follow reads the host's events.
func (n *Node) follow(sub event.Subscription) {
	defer sub.Close()
	for {
		select {
		case <-n.ctx.Done():
			return
		case e, ok := <-sub.Out():
			if !ok {
				return
			}
			n.see(e)
		}
	}
}

func (n *Node) see(e any) {
	switch e := e.(type) {
	case event.EvtHostReachableAddrsChanged:
		n.reach.told(e)
	case event.EvtAutoRelayAddrsUpdated:
		n.reach.reserved(e)
	case event.EvtPeerIdentificationCompleted:
		n.reach.identified(e)
	case event.EvtPeerIdentificationFailed:
		n.goes(func() { n.part(e.Peer) })
	case event.EvtPeerConnectednessChanged:
		if n.dht.RoutingTable().Find(e.Peer) != "" {
			n.table.touch()
			if e.Connectedness == network.NotConnected {
				n.doubt(e.Peer, redialAfter)
			}
		}
		if e.Connectedness == network.NotConnected && n.host.Network().Connectedness(e.Peer) == network.NotConnected {
			n.disconnected(e.Peer)
			n.reach.parted(e.Peer)
		}
	}
}

// part leaves a peer that did not say who it is. libp2p asks once per connection: on a
// busy machine both ends would go on to be connected, and strangers, for good.
func (n *Node) part(p peer.ID) {
	if n.host.Network().Connectedness(p) == network.Connected && !n.member(p) {
		n.count.inc(connsDead)
		_ = n.host.Network().ClosePeer(p)
	}
}

func (n *Node) subscribe() (event.Subscription, error) {
	return n.host.EventBus().Subscribe([]any{
		new(event.EvtPeerConnectednessChanged),
		new(event.EvtHostReachableAddrsChanged),
		new(event.EvtAutoRelayAddrsUpdated),
		new(event.EvtPeerIdentificationCompleted),
		new(event.EvtPeerIdentificationFailed),
	}, eventbus.Name("feedtree"), eventbus.BufSize(256))
}
