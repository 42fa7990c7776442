// Package store keeps what a node must not forget: feeds, their items, the
// signed envelopes that proved them, cursors, the node's own lines and peers.
//
// It holds the record types, the [Store] interface, the rules that every
// implementation follows ([Weigh], [Limits]) and an implementation in memory.
// Package feed/archive is the durable one; storetest runs the same suite
// against both. A client that wants to recover lost items (FeedTree §4.5.2)
// needs the cursors to know what is missing, a parent needs the envelopes to
// answer it.
//
// # Items
//
// An item is identified by (feed, key), a version of it by the hash of its
// content. Of several versions one is current: it is what [Store.Items],
// [Store.Known] and [Store.Count] speak of. A version that was stored once is
// never reported as added again, whichever order versions arrive in.
//
// # Invariants
//
//  1. Apply is one transaction: all of a batch or nothing, and what it wrote
//     survives the process from the moment it returns (in archive, also the
//     machine).
//  2. Apply is idempotent: the same batch again changes nothing and adds
//     nothing.
//  3. An item's trust never sinks, and a version signed by the publisher is
//     replaced only by another signed version.
//  4. Cursors and lines never move backwards. A cursor that would is ignored; a
//     line that would is refused with ErrLine, because whoever sends after it
//     would fork the line.
//  5. An envelope is never replaced by another one with the same place in the
//     line: the first one seen stands.
//  6. Everything that strangers can make grow is bounded by [Limits]; the own
//     feeds, lines and settings are not.
//  7. Times are kept to the millisecond, in UTC. Byte slices given to a store
//     are copied; those it returns may be shared and are only read.
package store
