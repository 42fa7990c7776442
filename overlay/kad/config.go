package kad

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
)

// Config says who a node is and how it finds the others. Its zero value is a
// fresh node of the main network, on free ports of all interfaces.
type Config struct {
	// Key is the node's identity. Nil: a fresh one.
	Key ed25519.PrivateKey

	// Network keeps apart nodes that must not meet: up to 32 lower-case
	// letters, digits and hyphens. Empty: "main".
	Network string

	// Listen holds the multiaddrs to listen on, QUIC or TCP. Nil: free ports of
	// all interfaces, both protocols, both IP versions. Empty but not nil: none;
	// the node then only dials.
	Listen []string

	// Before holds the addresses of an earlier run, as [Node.Listening] named
	// them: where Listen leaves the port open, the same one is taken again if it
	// is free.
	Before []string

	// Bootstrap holds full multiaddrs, with /p2p/, of nodes to join through.
	// They are tried for ever; that none answers is no error.
	Bootstrap []string

	// Remembered holds peers met before, as [Node.Peers] named them. Unusable
	// ones are skipped.
	Remembered []Peer

	NoMDNS bool // do not look for nodes on the local network
	NoNAT  bool // no port mapping, no AutoNAT, no hole punching

	// NoRendezvous keeps the node from the public IPFS DHT, where it otherwise
	// looks for others while it knows few, and writes itself down.
	NoRendezvous bool

	// Rendezvous holds full multiaddrs of nodes of that DHT to begin with. Nil:
	// those that IPFS names.
	Rendezvous []string

	// Client makes the node use the DHT without serving it: it is in nobody's
	// routing table and so never the root of anything.
	Client bool

	// MaxUpload is how many bytes the node may send to others in an hour, 0 for as
	// many as it takes: see the package's part about what a node spends.
	MaxUpload uint64

	// BucketSize is the k of Kademlia. 0: 20.
	BucketSize int

	// Idle is how long a link that nobody keeps lives without a frame to send.
	// 0: 5 minutes.
	Idle time.Duration

	// HostOptions are further options of the libp2p host, for who measures it or
	// puts something between it and the network.
	HostOptions []libp2p.Option

	deaf bool // tests: let in only whom a relay introduces

	// Log gets what a person running the node wants to know. Nil: nothing.
	Log *slog.Logger
}

// Peer is a node and the addresses it was reached at, as text that can be
// stored.
type Peer struct {
	ID    string   // as in /p2p/ID
	Addrs []string // multiaddrs without /p2p/
}

const (
	defaultNetwork    = "main"
	defaultBucketSize = 20
	defaultIdle       = 5 * time.Minute
)

var defaultListen = []string{
	"/ip4/0.0.0.0/udp/0/quic-v1", "/ip4/0.0.0.0/tcp/0",
	"/ip6/::/udp/0/quic-v1", "/ip6/::/tcp/0",
}

// settings is a Config that was checked.
type settings struct {
	Config
	key       crypto.PrivKey
	listen    []ma.Multiaddr
	strict    bool // every listen address was asked for by name
	bootstrap []peer.AddrInfo

	rendezvous []peer.AddrInfo // nodes of the public DHT; nil: stay away from it
}

var networkName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

func (c Config) check() (*settings, error) {
	s := &settings{Config: c, strict: c.Listen != nil}
	if s.Network == "" {
		s.Network = defaultNetwork
	}
	if !networkName.MatchString(s.Network) {
		return nil, fmt.Errorf("network %q: a name is 1 to 32 lower-case letters, digits and hyphens", s.Network)
	}
	if s.BucketSize < 0 || s.Idle < 0 {
		return nil, fmt.Errorf("bucket size %d, idle time %v: neither may be negative", s.BucketSize, s.Idle)
	}
	if s.BucketSize == 0 {
		s.BucketSize = defaultBucketSize
	}
	if s.Idle == 0 {
		s.Idle = defaultIdle
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	return s, errors.Join(s.checkKey(), s.checkListen(), s.checkBootstrap(), s.checkRendezvous())
}

func (s *settings) checkKey() (err error) {
	if s.Key == nil {
		if _, s.Key, err = ed25519.GenerateKey(rand.Reader); err != nil {
			return err
		}
	}
	s.key, err = crypto.UnmarshalEd25519PrivateKey(s.Key)
	if err != nil {
		return fmt.Errorf("the node's key is no Ed25519 private key: %w", err)
	}
	return nil
}

func (s *settings) checkListen() error {
	addrs := s.Listen
	if addrs == nil {
		addrs = defaultListen
	}
	for _, text := range addrs {
		addr, err := ma.NewMultiaddr(text)
		if err == nil && !listenable(addr) {
			err = errors.New("not an IP address with TCP or QUIC")
		}
		if err != nil {
			return fmt.Errorf("listen address %q: %w; it must look like /ip4/0.0.0.0/udp/4001/quic-v1 or /ip4/0.0.0.0/tcp/4001", text, err)
		}
		s.listen = append(s.listen, addr)
	}
	s.listen = steady(s.listen, s.Before)
	return nil
}

func (s *settings) checkBootstrap() error {
	for _, text := range s.Bootstrap {
		info, err := parseFull(text)
		if err != nil {
			return fmt.Errorf("bootstrap address %w", err)
		}
		i := slices.IndexFunc(s.bootstrap, func(b peer.AddrInfo) bool { return b.ID == info.ID })
		if i < 0 {
			s.bootstrap = append(s.bootstrap, *info)
		} else {
			s.bootstrap[i].Addrs = append(s.bootstrap[i].Addrs, info.Addrs...)
		}
	}
	return nil
}

// parseFull reads a multiaddr that names the peer too.
func parseFull(text string) (*peer.AddrInfo, error) {
	if len(text) > maxAddrText {
		return nil, fmt.Errorf("%.40q…: an address of %d bytes, at most %d are read", text, len(text), maxAddrText)
	}
	info, err := peer.AddrInfoFromString(text)
	if err == nil && !allowed(info.ID) {
		err = errForeignKey
	}
	if err == nil && len(info.Addrs) == 0 {
		err = errors.New("the address before /p2p/ is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w; it must look like /ip4/203.0.113.7/udp/4001/quic-v1/p2p/12D3Koo…", text, err)
	}
	return info, nil
}

// The protocols, both with the network's name in them.
func (s *settings) dhtPrefix() protocol.ID { return protocol.ID("/feedtree/" + s.Network) }
func (s *settings) treeProtocol() protocol.ID {
	return protocol.ID("/feedtree/" + s.Network + "/tree/1")
}
func (s *settings) mdnsService() string { return "_feedtree-" + s.Network + "._udp" }
