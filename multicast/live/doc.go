// Package live runs the tree protocol of package multicast/tree over a real
// overlay: one goroutine owns the tree's node, and everything that comes from
// the network is decoded, bounded and verified before that node sees it.
//
// A [Loop] is made with [New] over an [Overlay] and run with [Loop.Run]. The
// overlay hands it frames, lost peers and changed routes ([Loop.Frame],
// [Loop.Gone], [Loop.Routes]); the application joins, leaves and publishes,
// and hears back through the callbacks of [Config].
//
// # The way of a frame
//
// Frames are judged on the overlay's goroutines, cheapest check first: size;
// a census of the fields that allocates nothing; decoding; the sender's rate;
// then, for an event, its signature and the application's judgement of its
// key. What passes goes through a bounded mailbox to the loop. A frame that
// fails is dropped and counted under a typed reason ([Loop.Counters]).
//
// The mailbox is bounded in bytes, and senders wait for room in the order they
// came: a flooding peer delays itself, not the others, and nothing is lost.
//
// # Invariants
//
//  1. An event that is stepped carries the stamp and the group that its source
//     signed, and its TTL if that is a publisher, since a volunteer promises
//     nothing with it; they are never sent beside the envelope. A message
//     about one group cannot carry an event of another.
//  2. What the judge refuses is neither delivered nor forwarded. What it does
//     not know yet waits in a small budget of its own and is judged again when
//     the application asks for it ([Loop.Recheck]).
//  3. A peer is charged only for what an honest forwarder cannot have sent: an
//     envelope that is malformed, forged or of another group. What the judge
//     refuses is not charged, since a forwarder need not know the feed's key;
//     otherwise anybody could cut a member off by speaking into the tree.
//  4. Each node named in a message travels with addresses as its sender knows
//     them, and no other node does. Addresses are hints: the overlay's dial
//     proves who is there.
//  5. A node joins for itself: a join is from the peer at the other end of the
//     authenticated stream. One that names others is dropped, but for those that
//     who moves says it leaves.
//  6. Callbacks come from the loop's goroutine, in the order in which the tree
//     produced them, and may call any method of the Loop but Run.
//
// An overlay that is [Metered] is asked, with each change of routes, whether to send
// less; the tree then hands on nothing for others.
//
// # Choices
//
// Joins, and requests that make this node work, are limited per peer with
// bursts in the hundreds: a node that restarts joins all its feeds through one
// hop, and one dropped join costs a feed seconds. Data is not limited by
// rate: waiting for room slows its sender, and dropping it would only have it
// sent again.
//
// Status is read from the node under a lock that is held for single steps, not
// asked of the loop: it works from callbacks and after the end, and no call of
// this package can wait for itself. The exceptions are Join, Lease and Publish,
// which wait while requests of 16 MiB are queued before them.
//
// FeedTree §4.2 (events are pushed along the tree and verified by whoever
// receives them) and §4.4 (signed, numbered events) are what this package
// joins. The wire is in internal/wire/wire.proto.
package live
