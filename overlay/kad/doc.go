// Package kad is the overlay of real nodes: key-based routing, lookups and one
// ordered stream of frames to each neighbour, over go-libp2p and its Kademlia
// DHT.
//
// A [Node] listens on QUIC and TCP, joins through the addresses it was given,
// the peers it remembers and mDNS, and keeps joining for as long as it lives. It
// implements [overlay.Router] from the DHT's routing table by XOR over SHA-256,
// and carries opaque frames for the layer above, which it calls back through
// [Inbound]. What the routing common API (Dabek et al., IPTPS 2003) calls
// route is left to that layer: a frame goes one hop.
//
// # Links
//
// What this node and one neighbour have between them is a link: a bounded queue
// in front of one long-lived outbound stream, and the newest stream the other
// opened. A frame is a varint length and that many bytes. A link is lost when
// either stream breaks, a dial fails, or the neighbour stays silent although
// something was sent to it. A link that nobody keeps and nothing uses is closed
// after a while, which is no loss.
//
// # Invariants
//
//  1. NextHop answers only with peers of the routing table that are connected
//     now, are not suspected of being dead, and are strictly closer than Self.
//  2. NextHop, Closest, RTT, Send, Keep, Learn and AddrsOf answer from memory.
//     Lookup and Connect wait for others; they alone take a context.
//  3. Frames from one peer arrive in the order sent, none twice, on one
//     goroutine at a time. While [Inbound.Frame] blocks, nothing more is read from
//     that peer: backpressure.
//  4. Gone follows the last frame of the link that was lost and precedes the
//     first of the next one, and comes once for each loss. What was queued on a
//     lost link is gone with it; the loss says so, and a counter how many.
//  5. A frame's length is checked before anything is allocated for it, and
//     memory grows with what arrives, not with what is announced.
//  6. Lookup names only peers that answered it. The DHT is a hint: nothing that
//     others say about a third party enters the routing table unasked.
//  7. No callback comes after Close.
//
// # The meeting point
//
// Without a server of its own a network needs a place where strangers meet. Unless
// [Config.NoRendezvous] is set, a node that knows fewer than four others visits the
// public IPFS DHT, asks who provides a key that follows from the network's name, and
// meets some of them; one that others can reach, itself or over relays, writes itself
// down there twice a day. There is one key for all feeds, as one for each would tell
// the public who reads what; only public addresses are told. A visit goes with a host
// of its own, which is closed after at most a minute: nothing of that network stays
// connected, and a node that stays alone asks ever less often, down to once an hour.
// Relays met on a visit serve a private node that knows none of its own network.
//
// # What it spends
//
// [Node.Spending] says what went over the wire, by protocol and with all headers, and
// [Node.Neighbours] with whom. A node with [Config.MaxUpload] that has sent so much in an
// hour that a fourth of it, or 4 MiB, is left spares: it serves the DHT and relays no
// more, and tells the layer above ([Node.Sparing]), which sends its children to others.
// What is left is for what has to go on: its own events, acknowledgements and
// keep-alives. Handshakes that came to nothing are not counted, nor is the meeting point.
//
// A quiet node spends little: the root of many trees, asked again and again whether
// somebody is nearer, asks the network again only once somebody came or went, or after a
// quarter of an hour (owned.go).
//
// # Coming back
//
// Every two seconds the node looks at the clocks and at whether anybody is connected, and
// every six at the interfaces. After a sleep, on another network or with everybody lost it
// pings every connection, starts mDNS anew, and calls bootstrap peers and those met before
// at once, instead of after up to a minute.
//
// # Networks
//
// Every protocol id and the mDNS service carry [Config.Network], so nodes of
// different networks on one machine or LAN do not meet: a peer met through an
// address that turns out to belong to another network is disconnected. Only
// Ed25519 identities are let in; their public key is the peer ID.
//
// # Reachability
//
// [Node.Reach] says whether others can dial the node. AutoNAT v2 finds out by
// trying, which takes two others, or minutes. Until then a node that others see at
// an address not its own counts as private, and one that somebody outside called
// unasked as public: in a network of three, all know within seconds. A router that
// speaks UPnP or NAT-PMP is asked to forward the ports.
//
// A private node is a client of the DHT, so it is in no routing table and the root
// of nothing; see [Node.Reachable]. It reserves a place at two relays, which are
// the public nodes of the network, each for 64 others; they relay for members only,
// two minutes or 128 KiB at a time. A relay introduces: the two then punch a hole,
// or the private one calls the other back. No frame travels over a relay. A link
// that breaks at the limit, in the middle of whatever it carries, is worth less than
// none; where no hole can be punched, Send fails as if the peer were gone, and the
// tree finds a way over public nodes.
//
// Where nobody can be dialled, private nodes that are connected stand in: each
// serves the DHT and may be a root, until somebody is found who can be dialled. So
// two nodes behind NATs go on when the node that introduced them is gone.
//
// # What kad-dht leaves to us
//
// A node can be connected and yet have an empty table for minutes, when the one
// probe of a busy seed fails; the node kicks the DHT until the table has somebody.
// The table keeps the dead for up to an hour; a doubt redials whoever disconnects
// and evicts who does not answer. A lookup waits seconds for a dead peer; Lookup
// stops listening when nobody has answered for a second.
//
// # What libp2p leaves to us
//
// A killed process leaves QUIC connections that look alive for half a minute; a
// neighbour that acknowledges nothing for two seconds after a write is pinged, and
// disconnected two seconds later if nothing at all came from it. On a machine so busy
// that this process itself is late, what came may be unread, and nobody is blamed: to
// close the connections that stand, and make them again, would leave it less time yet.
// A dial given up in its last instant leaves the
// other side a connection to nobody; new inbound connections are vetted. TCP
// listeners share a port in silence; the port is tried without sharing first.
package kad
