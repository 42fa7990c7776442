// Package sim is a deterministic network: it runs any state machine written as
// steps, with latency, faults and churn, and the same seed always gives the same
// run, on one processor or on several.
//
// A [Net] is generic over the message type. Each node is a [Host]: an adapter
// around a core that turns Receive, Gone, Routes and Tick into steps and
// carries out what the step wants through its [Endpoint], which is the
// core's [overlay.Router] and its way to send. Nothing is encoded: messages
// travel as the values they are.
//
// # The network
//
// A connection is opened by the first message between two nodes (one round
// trip more, unless one holds the other in its routing table) and is closed
// by crash, close or partition. Table entries count as connected until their
// loss is noticed. Each node has k-bucket tables of kad-dht's shape. A peer
// that disconnects stays in them, marked; it goes when a dial or a query fails
// or the periodic refresh gives it up, so Closest and Lookup meet stale
// entries the way they do with kad-dht.
//
// What a node sends leaves in turn through its uplink ([Config].Upload), then
// takes what a [Latency] says: a measured [Matrix], a transit–stub [Topology],
// or something simpler.
//
// Joins and lookups walk the tables of live nodes at once and report their
// result after the time such a walk takes; their own messages are not events.
// With [Tables].Joined tables are what that leaves: full where many nodes
// belong, with gaps where a node had no luck, older nodes in more of them. Where many
// join at one instant, one in 32 of those that are there do so at the same time: none of
// them meets another. [Tables].Holders bounds in how many tables a node may be.
//
// # Lanes
//
// [Lanes] part the nodes so that those who run a network can give each part a
// processor of its own. No message between parts is faster than some least delay: for
// so long each part goes on without looking at the others, and nothing else that one
// node does is seen by another at once. A connection's other end is there when word of
// it arrives; a lookup looks at tables a few milliseconds after it was asked for.
// While the network is cut, and once a node has died, it goes on as one.
//
// With many nodes a processor waits for memory most of the time. Hosts that are [Glancer]s
// read what the next events of their lane will look at, of several of them at once.
//
// # Invariants
//
//  1. Same configuration, same calls: same [Net.Hash], which covers time, from,
//     to, kind and size of every event. It depends neither on the order in
//     which nodes were added at one instant nor on how a run is cut into calls,
//     nor on the lanes, nor on the processor if hosts compute the same on all.
//  2. Messages of an ordered pair arrive in the order sent, unless reordering
//     is on. At equal times the order of different nodes' events is drawn from
//     the seed.
//  3. A node never gets an event meant for an earlier life of its ID.
//  4. A peer that a message could not reach for good is reported by Gone once:
//     after Detect if the connection broke silently, after Dial if there was
//     none. Messages lost to [Faults] alone are not reported.
//  5. NextHop names connected peers only, as far as the node can know.
//
// # Size
//
// A node costs some 600 bytes beside its table, its connections and what its host
// holds; its table four bytes per peer, 1.4 KB among a million, and its connections 12
// bytes each, once it has any for 96 of them. An event in flight takes 72
// bytes or a little more beside its message: a cache line, and its number twice. Who has
// whom in a table is kept only once a node has died, at another four bytes per entry.
package sim
