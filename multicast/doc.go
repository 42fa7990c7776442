// Package multicast names what every way of carrying a feed's events has in
// common: the group, the event, its stamp, and the contract to join, leave and
// publish.
//
// A group is the multicast tree of one feed. Its identity is a hash of the
// feed's canonical URL ([GroupOf]), so that subscribers meet without anybody
// telling them where, and so that a message names the group and never the URL.
//
// An [Event] is opaque bytes with a [Stamp] that verification took out of
// them: who speaks (the source), in which epoch, and at which place in that
// source's line. Lines are dense: within an epoch seq counts 1, 2, 3, … without
// holes, which is what lets any receiver prove that something is missing.
// An event also names the one before it by a [Tag], so that two that claim one
// place give their source away (signing.ForkProof).
// A stamp with a beat is a heartbeat: it carries no news, it repeats the head
// of the line and says that nothing was published after it.
//
// # Invariants
//
//  1. Nothing unverified is delivered or forwarded. Whoever constructs an Event
//     from the wire has checked that its stamp, group and TTL are what its body
//     says and that the body is signed by the source.
//  2. A (source, epoch, seq) is delivered at most once per join.
//  3. Delivery is immediate, not ordered: an item behind a gap is not held
//     back. [Delivery.Cursor] says up to where the line is unbroken.
//
// # Carriers
//
// A [Carrier] is one way of carrying events. Package multicast/tree is the tree
// protocol as a pure state machine and multicast/live runs it over a real
// overlay: the default. Package multicast/gossip carries them with GossipSub. All
// pass the tests of multicast/conformance; [Abilities] says where they differ.
package multicast
