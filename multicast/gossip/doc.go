// Package gossip carries events with GossipSub (go-libp2p-pubsub) instead of the
// tree: a [Carrier] is one node over all its groups, and meets the contract of
// [multicast.Carrier].
//
// A group is a topic, named by the group's base32 text under the network's name.
// What travels is the signed envelope and nothing around it: pubsub's own signing
// is off, and so are its authors and sequence numbers.
//
// # The way of an event
//
// A topic validator opens each envelope once, has it judged, and lets pass what is
// accepted; the opened envelope goes along with the message, so that nobody
// verifies it again. What the judge does not know waits in a small budget of its
// own until [Carrier.Recheck]; it is then delivered here but no longer forwarded,
// because pubsub has seen it.
//
// The id of a message is a hash of all its bytes. Its stamp would be shorter, but
// pubsub marks an id as seen before anything is verified: whoever forged an event
// with the stamp of a true one would silence the true one.
//
// An overlay that is [Metered] is asked with each event whether to send less. It is
// then delivered here and goes no further; the others of the mesh hand it on.
//
// # Finding the others
//
// Members find each other through the nodes nearest to the group's key, as the
// overlay's lookup names them. A member keeps a connection to a few of these; each
// node hears from pubsub which topics its peers are in, and names them to whoever
// asks on a protocol of this package. A node asked names at most 16, itself among them
// if it is a member.
//
// Pubsub forgets what a peer is in when its stream to it ends and another connection
// stays. A peer that left a group and is still connected is therefore asked, after a few
// seconds, whether it did; if it says that it is in the group, the connection is made anew.
//
// # Receipts
//
// Gossip does not say who holds an event. A source that wants to know asks some
// members of the topic itself, each on a stream of its own; they answer when they
// hold the event durably, or after a while that they do not.
//
// # Invariants
//
//  1. Nothing unverified or refused is delivered or forwarded.
//  2. A stamp is delivered at most once per join.
//  3. A hole in a line that does not close is told as Missing after one to two
//     times Config.Patience, whoever dropped the event: pubsub's queues, this
//     package's, or a peer.
//  4. Queues, groups' lines, what waits for a key and answers to strangers are
//     bounded; what does not fit is counted under its reason.
//
// # What gossip cannot do that the tree does
//
// There is no history. Peers hold an event for five heartbeats, five seconds, to
// send it again; who was away for longer, or comes later, gets it over HTTP alone.
// The last event of a line has no successor to show that it was lost; the source's
// heartbeat does.
//
// An event costs every member about seven copies instead of one, and its heartbeat
// traffic grows with the number of groups, not with that of neighbours.
//
// No node holds events for others: a source that publishes while no other member is
// connected waits with a bounded queue, and if it ends before somebody came, the
// event is lost to all but those who ask the origin.
//
// A burst larger than a peer's queue (1,024 messages) loses events. They are
// counted, found missing, and fetched over HTTP.
//
// There is no top, no parent and no depth to see, and no bound on what a node
// sends but the size of its mesh, and that of the overlay, if it has one.
package gossip
