package kad

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/x/rate"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

const (
	connsLow, connsHigh = 128, 192 // the connection manager trims from high to low
	connsMax            = 1024     // a hard limit, reached only in a storm
	connsPerHost        = 128      // from one IPv4 address or IPv6 /64: a NAT or a LAN of nodes
	streamsPerPeer      = 8        // inbound, of our own protocol; one is in use

	dialPatience      = 5 * time.Second // for a dial to anywhere
	dialPatienceLocal = 2 * time.Second // for a dial within a LAN
)

// newHost makes the libp2p host. It does not listen yet.
func newHost(s *settings, r *reach, count *counters, m *meter) (host.Host, error) {
	conns, err := connmgr.NewConnManager(connsLow, connsHigh)
	if err != nil {
		return nil, err
	}
	resources, err := newResources(s.treeProtocol())
	if err != nil {
		return nil, err
	}
	options := []libp2p.Option{
		libp2p.Identity(s.key),
		libp2p.UserAgent("feedtree"),
		libp2p.NoListenAddrs,
		libp2p.Transport(libp2pquic.NewTransport),
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.ConnectionManager(conns),
		libp2p.ResourceManager(resources),
		libp2p.ConnectionGater(gate{count, s.deaf}),
		libp2p.WithDialTimeout(dialPatience),
		libp2p.SwarmOpts(swarm.WithDialRanker(quicFirst), swarm.WithDialTimeoutLocal(dialPatienceLocal)),
		libp2p.DisableMetrics(),
		libp2p.BandwidthReporter(m),
	}
	if !s.NoNAT {
		options = append(options, r.options()...)
	}
	return libp2p.New(append(options, s.HostOptions...)...)
}

// tcpAfter is how much later than libp2p would TCP is tried beside QUIC. On a busy
// machine its 30 ms let both succeed, and the one given up can leave a ghost: see
// vet.
const tcpAfter = 500 * time.Millisecond

func quicFirst(addrs []ma.Multiaddr) []network.AddrDelay {
	ranked := swarm.DefaultDialRanker(addrs)
	if slices.ContainsFunc(addrs, hasQUIC) {
		for i := range ranked {
			if !hasQUIC(ranked[i].Addr) {
				ranked[i].Delay += tcpAfter
			}
		}
	}
	return ranked
}

func hasQUIC(addr ma.Multiaddr) bool {
	_, err := addr.ValueForProtocol(ma.P_QUIC_V1)
	return err == nil
}

// newResources bounds connections, streams and memory. libp2p's own defaults
// take eight connections and one new one in five seconds from an address, which
// refuses most of a LAN or of the nodes behind one NAT.
func newResources(tree protocol.ID) (network.ResourceManager, error) {
	scaling := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&scaling)
	limits := rcmgr.PartialLimitConfig{
		System: rcmgr.ResourceLimits{
			Conns: connsMax, ConnsInbound: connsMax * 3 / 4, ConnsOutbound: connsMax * 3 / 4,
			Streams: 16 * connsMax, StreamsInbound: 8 * connsMax, StreamsOutbound: 8 * connsMax,
		},
		Transient: rcmgr.ResourceLimits{
			Conns: connsMax / 2, ConnsInbound: connsMax / 4, ConnsOutbound: connsMax / 4,
		},
		Protocol: map[protocol.ID]rcmgr.ResourceLimits{tree: {
			Streams: 4 * connsMax, StreamsInbound: 2 * connsMax, StreamsOutbound: 2 * connsMax,
			Memory: 256 << 20,
		}},
		ProtocolPeer: map[protocol.ID]rcmgr.ResourceLimits{tree: {
			Streams: 2 * streamsPerPeer, StreamsInbound: streamsPerPeer, StreamsOutbound: streamsPerPeer,
			Memory: 4 * MaxFrame,
		}},
	}.Build(scaling.AutoScale())
	return rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(limits),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: connsPerHost}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 64, ConnCount: connsPerHost}, {PrefixLength: 48, ConnCount: 4 * connsPerHost}},
		),
		rcmgr.WithConnRateLimiters(newRates()),
	)
}

// newRates bounds new connections for each address, except from this machine.
func newRates() *rate.Limiter {
	perHost := rate.Limit{RPS: 4, Burst: connsPerHost}
	perSite := rate.Limit{RPS: 16, Burst: 4 * connsPerHost}
	return &rate.Limiter{
		NetworkPrefixLimits: []rate.PrefixLimit{
			{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
			{Prefix: netip.MustParsePrefix("::1/128")},
		},
		SubnetRateLimiter: rate.SubnetLimiter{
			IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: perHost}},
			IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 64, Limit: perHost}, {PrefixLength: 48, Limit: perSite}},
			GracePeriod:      time.Minute,
		},
	}
}

var errForeignKey = errors.New("the peer's identity is not an Ed25519 key")

// keyed is how the ID of an Ed25519 identity begins: a multihash of nothing, of 36 bytes,
// which are a protobuf of the key's type and its 32 bytes.
const keyed = "\x00\x24\x08\x01\x12\x20"

// allowed reports whether a peer's identity is an Ed25519 key. Such an ID
// contains the key, so it takes no lookup and no large RSA key to know. Every frame
// sent asks, so the ID is looked at and not parsed; of forms that a parser would take
// as well there is but the one that others make of a key.
func allowed(p peer.ID) bool {
	return len(p) == len(keyed)+ed25519.PublicKeySize && strings.HasPrefix(string(p), keyed)
}

// gate lets in Ed25519 identities only.
type gate struct {
	count *counters
	deaf  bool // nobody who calls by himself
}

func (g gate) allows(p peer.ID) bool {
	ok := allowed(p)
	if !ok {
		g.count.inc(refusedKey)
	}
	return ok
}

func (g gate) InterceptPeerDial(p peer.ID) bool             { return g.allows(p) }
func (g gate) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }
func (g gate) InterceptAccept(c network.ConnMultiaddrs) bool {
	return !g.deaf || relayed(c.RemoteMultiaddr())
}
func (g gate) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) {
	return true, 0
}
func (g gate) InterceptSecured(_ network.Direction, p peer.ID, _ network.ConnMultiaddrs) bool {
	return g.allows(p)
}

// listenable reports whether addr is one the transports can listen on.
func listenable(addr ma.Multiaddr) bool {
	return shape(addr, false)
}

// shape reports whether addr is an IP address with QUIC or TCP and, where relayed
// is allowed, perhaps a relay behind it.
func shape(addr ma.Multiaddr, relayed bool) bool {
	codes := make([]int, 0, 8)
	for _, part := range addr {
		codes = append(codes, part.Code())
	}
	if len(codes) > 1 && codes[0] == ma.P_IP6ZONE {
		codes = codes[1:]
	}
	if len(codes) < 2 || codes[0] != ma.P_IP4 && codes[0] != ma.P_IP6 {
		return false
	}
	rest := codes[2:]
	switch {
	case codes[1] == ma.P_UDP && len(rest) > 0 && rest[0] == ma.P_QUIC_V1:
		rest = rest[1:]
	case codes[1] == ma.P_TCP:
	default:
		return false
	}
	if relayed && len(rest) == 2 && rest[0] == ma.P_P2P && rest[1] == ma.P_CIRCUIT {
		return true
	}
	return len(rest) == 0
}

// listen opens the node's addresses. An address asked for by name must work; of
// the default ones, one is enough.
func listen(h host.Host, s *settings) error {
	sw, ok := h.Network().(interface{ AddListenAddr(ma.Multiaddr) error })
	if !ok {
		panic("kad: a libp2p host without a swarm")
	}
	var errs []error
	for _, addr := range s.listen {
		err := probe(addr)
		if err == nil {
			err = sw.AddListenAddr(addr)
		}
		if err != nil {
			errs = append(errs, listenError(addr, err))
		}
	}
	if s.strict || len(errs) == len(s.listen) {
		return errors.Join(errs...)
	}
	for _, err := range errs {
		s.Log.Debug("not listening", "err", err)
	}
	return nil
}

// probe finds out whether another program has the TCP port already: libp2p
// listens with SO_REUSEPORT, which would share the port in silence.
func probe(addr ma.Multiaddr) error {
	if port, err := addr.ValueForProtocol(ma.P_TCP); err != nil || port == "0" {
		return nil
	}
	// DialArgs says tcp4 or tcp6: a plain tcp would take both versions and meet
	// our own other listener.
	version, hostPort, err := manet.DialArgs(addr)
	if err != nil {
		return err
	}
	l, err := net.Listen(version, hostPort)
	if err != nil {
		return err
	}
	return l.Close()
}

func listenError(addr ma.Multiaddr, err error) error {
	advice := "try another address"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "another program uses this port: stop it, or choose another port, or 0 for any free one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = "this machine has no such address"
	case errors.Is(err, syscall.EACCES):
		advice = "ports below 1024 need privileges: choose a higher one"
	}
	return fmt.Errorf("cannot listen on %v: %w: %s", addr, err, advice)
}
