package kad

import (
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/feedtree/feedtree/overlay"
)

// State says whether others can dial a node.
type State string

// The states. A node whose state is not known counts as one that can be dialled:
// on a LAN nobody can tell.
const (
	Unknown State = "unknown"
	Public  State = "public"  // somebody outside dialled it
	Private State = "private" // nobody outside gets through: it is behind a NAT or a firewall
)

// Reach is how a node and others reach each other.
type Reach struct {
	State    State    `json:"state"`
	StandIn  bool     `json:"stand_in"` // private, but serves the others all the same, since nobody known can be dialled
	Dialled  []string `json:"dialled"`  // own addresses at which others outside got through
	Vain     []string `json:"vain"`     // own addresses at which they did not
	Mapped   bool     `json:"mapped"`   // the router forwards a port here (UPnP, NAT-PMP)
	Relays   []string `json:"relays"`   // peer IDs of the relays that introduce others to this node
	Relaying bool     `json:"relaying"` // it introduces others itself
	Links    Links    `json:"links"`

	Rendezvous Rendezvous `json:"rendezvous"`
}

// Links counts the peers connected, each by the best connection to it.
type Links struct {
	Direct  int `json:"direct"`
	Punched int `json:"punched"` // direct too, after a relay had introduced the two
	Relayed int `json:"relayed"` // introduced, and no hole punched yet: no frames go this way
}

// Rendezvous is what came of the meeting point on the public IPFS DHT.
type Rendezvous struct {
	Off   bool       `json:"off"`
	Asked *time.Time `json:"asked"` // last
	Found int        `json:"found"` // nodes named by the last answer
	Told  *time.Time `json:"told"`  // when the node last wrote itself down there
}

// Kind says how a connection came about.
type Kind string

// The kinds of connections, best first.
const (
	Direct  Kind = "direct"
	Punched Kind = "punched"
	Relayed Kind = "relayed"
)

var kinds = []Kind{Direct, Punched, Relayed}

// Conn is one connection.
type Conn struct {
	Peer    string `json:"peer"`
	Addr    string `json:"addr"`
	Kind    Kind   `json:"kind"`
	Inbound bool   `json:"inbound"`
}

// Conns returns the connections to nodes of the network.
func (n *Node) Conns() []Conn {
	all := []Conn{}
	for _, c := range n.host.Network().Conns() {
		if n.member(c.RemotePeer()) {
			all = append(all, n.describe(c))
		}
	}
	return all
}

// Neighbour is a node of the network that is connected.
type Neighbour struct {
	Conn // the best
	Traffic
	Since time.Time     `json:"since"`
	RTT   time.Duration `json:"rtt"` // 0: not known yet
}

// Neighbours returns the nodes connected, in the order of their IDs.
func (n *Node) Neighbours() []Neighbour {
	n.readMeter()
	best := map[peer.ID]Neighbour{}
	for _, c := range n.host.Network().Conns() {
		p := c.RemotePeer()
		if !n.member(p) {
			continue
		}
		is := Neighbour{Conn: n.describe(c), Since: c.Stat().Opened}
		was, known := best[p]
		if known && was.Since.Before(is.Since) {
			is.Since = was.Since
		}
		if known && slices.Index(kinds, was.Kind) <= slices.Index(kinds, is.Kind) {
			is.Conn = was.Conn
		}
		best[p] = is
	}
	all := make([]Neighbour, 0, len(best))
	for p, is := range best {
		is.Traffic = n.meter.with(p)
		is.RTT, _ = n.RTT(overlay.ID(p))
		all = append(all, is)
	}
	slices.SortFunc(all, func(a, b Neighbour) int { return strings.Compare(a.Peer, b.Peer) })
	return all
}

func (n *Node) describe(c network.Conn) Conn {
	return Conn{
		Peer: c.RemotePeer().String(), Addr: c.RemoteMultiaddr().String(),
		Kind: n.reach.kindOf(c), Inbound: c.Stat().Direction == network.DirInbound,
	}
}

func (r *reach) kindOf(c network.Conn) Kind {
	if c.Stat().Limited || relayed(c.RemoteMultiaddr()) {
		return Relayed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.punched[c.RemotePeer()] {
		return Punched
	}
	return Direct
}

// relayed reports whether an address leads over a relay.
func relayed(addr ma.Multiaddr) bool {
	_, err := addr.ValueForProtocol(ma.P_CIRCUIT)
	return err == nil
}

// countLinks counts peers by their best connection.
func countLinks(conns []Conn) (l Links) {
	best := map[string]Kind{}
	for _, c := range conns {
		if was, ok := best[c.Peer]; !ok || slices.Index(kinds, c.Kind) < slices.Index(kinds, was) {
			best[c.Peer] = c.Kind
		}
	}
	for _, k := range best {
		switch k {
		case Direct:
			l.Direct++
		case Punched:
			l.Punched++
		case Relayed:
			l.Relayed++
		}
	}
	return l
}

// Reach returns how the node and others reach each other now.
func (n *Node) Reach() Reach {
	r := n.reach
	links := countLinks(n.Conns())
	var meeting Rendezvous
	n.meeting(func(r *rendezvous) { meeting = r.state })
	meeting.Off = len(n.set.rendezvous) == 0
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Reach{
		State: r.posture.state, StandIn: r.posture.standIn, Mapped: r.maps(),
		Dialled: texts(r.tried.Reachable), Vain: texts(r.tried.Unreachable), Relays: []string{},
		Relaying: !n.set.NoNAT && r.posture.state == Public, Links: links,
		Rendezvous: meeting,
	}
	for _, addr := range r.relays {
		if p, err := addr.ValueForProtocol(ma.P_P2P); err == nil && !slices.Contains(out.Relays, p) {
			out.Relays = append(out.Relays, p)
		}
	}
	return out
}

// Reachable reports whether the node counts as one that others may dial: one that
// does not is no root. It does so until it knows better.
func (n *Node) Reachable() bool { return !n.set.Client && n.reach.now().serves() && !n.Sparing() }

// Sparing reports whether the node has sent so much in this hour that it does
// nothing more for others: it is no root, and nobody's parent.
func (n *Node) Sparing() bool {
	n.reach.mu.Lock()
	defer n.reach.mu.Unlock()
	return n.reach.sparing
}

// Spending returns what the node has sent and received.
func (n *Node) Spending() Spending {
	n.readMeter()
	return n.meter.spending(time.Now())
}

// readMeter brings the meter up to date, to a second.
func (n *Node) readMeter() {
	if now := time.Now(); !n.meter.fresh(now) {
		n.meter.look(now, n.host.Network().Conns())
	}
}

// LimitUpload sets how many bytes the node may send in an hour; 0 is as many as it
// takes. It holds within two seconds.
func (n *Node) LimitUpload(most uint64) { n.meter.limit(most) }
