package main

import (
	"errors"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/overlay/kad"
)

// networkFlags say how a node finds others.
type networkFlags struct {
	P2PListen    []string `name:"p2p-listen" env:"FEEDTREE_P2P_LISTEN" help:"Address to listen on for other nodes, e.g. /ip4/0.0.0.0/udp/4001/quic-v1. Repeatable; default: free ports of all interfaces, QUIC and TCP." placeholder:"MULTIADDR" group:"Network"`
	Bootstrap    []string `help:"Node to join through, with its /p2p/ part. Repeatable." placeholder:"MULTIADDR" group:"Network"`
	Multicast    string   `help:"How events travel: tree or gossip. All nodes of a network use the same." enum:"tree,gossip" default:"tree" group:"Network"`
	Network      string   `help:"Name of the network; nodes of different names never meet." default:"main" group:"Network"`
	NoMDNS       bool     `name:"no-mdns" help:"Do not look for nodes on the local network." group:"Network"`
	NoRendezvous bool     `name:"no-rendezvous" help:"Do not use the public IPFS DHT to find nodes." group:"Network"`
	Rendezvous   []string `help:"Node of the IPFS DHT to begin with, with its /p2p/ part. Repeatable; default: those that IPFS names." placeholder:"MULTIADDR" group:"Network"`
	NoNAT        bool     `name:"no-nat" help:"No port mapping, no hole punching." group:"Network"`
	MaxUpload    int64    `help:"Most bytes an hour sent to other nodes; near it, nothing more is handed on for others. 0: no limit." default:"0" placeholder:"N" group:"Network"`
}

func (f networkFlags) overlay() kad.Config {
	return kad.Config{
		Network: f.Network, Listen: f.P2PListen, Bootstrap: f.Bootstrap,
		NoMDNS: f.NoMDNS, NoRendezvous: f.NoRendezvous, Rendezvous: f.Rendezvous, NoNAT: f.NoNAT,
		MaxUpload: uint64(max(f.MaxUpload, 0)),
	}
}

// checkUpload refuses what would silently mean no limit.
func (f networkFlags) checkUpload() error {
	if f.MaxUpload < 0 {
		return errors.New("--max-upload must not be negative; 0 is no limit")
	}
	return nil
}

// originFlags say how sites are asked.
type originFlags struct {
	Resolve []string `help:"Connect to ADDR for HOST:PORT, as curl does. Repeatable." placeholder:"HOST:PORT:ADDR" group:"Sites"`
}

func (f originFlags) fetch() fetch.Config { return fetch.Config{Resolve: f.Resolve} }

// pollFlags say when sites are polled.
type pollFlags struct {
	PollMin     time.Duration `help:"Shortest time between two polls of a feed, by all who poll for one another." default:"1h" group:"Sites"`
	PollMax     time.Duration `help:"Longest time, for feeds that post little; how often each is worth it is learned." default:"6h" group:"Sites"`
	Overload    int           `help:"Poll feeds N times as often as one alone would, together with others and within what sites allow one client. 0: by how many follow each." default:"0" placeholder:"N" group:"Sites"`
	NoVolunteer bool          `help:"Do not poll feeds for others." group:"Sites"`
	MaxRequests int           `help:"Most requests an hour on behalf of others; 0: no limit." default:"0" placeholder:"N" group:"Sites"`
	MaxBytes    int64         `help:"Most bytes an hour on behalf of others; 0: no limit." default:"0" placeholder:"N" group:"Sites"`
}

func (f pollFlags) polling() feedtree.Polling {
	return feedtree.Polling{
		Min: f.PollMin, Max: f.PollMax, Overload: f.Overload, Off: f.NoVolunteer, Requests: f.MaxRequests, Bytes: f.MaxBytes,
	}
}

// Validate refuses what would silently mean the default.
func (f pollFlags) Validate() error {
	switch {
	case f.PollMin <= 0:
		return errors.New("--poll-min must be longer than 0s")
	case f.PollMax <= 0:
		return errors.New("--poll-max must be longer than 0s")
	case f.MaxRequests < 0 || f.MaxBytes < 0:
		return errors.New("--max-requests and --max-bytes must not be negative; to do nothing for others, use --no-volunteer")
	case f.Overload < 0:
		return errors.New("--overload must not be negative")
	}
	return nil
}
