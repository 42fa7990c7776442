// Package sim runs worlds of FeedTree nodes in simulated time and checks what
// the trees promise.
//
// [Trees] puts a [tree.Node] behind every node of a deterministic network
// (package overlay/sim) and plays the application: it joins and leaves groups,
// publishes numbered events, keeps what a store would keep over a crash (the
// cursor, the latest events, the own line) and records every delivery. The
// same configuration and the same calls give the same [Trees.Hash].
//
// Events are made by the world and all alike; [Trees.Say] takes the caller's own,
// signed ones for instance, as sim/forks does.
//
// The checkers look at the whole world at once, as no node can:
//
//   - [Trees.Missed]: events that a live member should hold and does not.
//   - [Trees.Doubled]: events delivered more than once in one join.
//   - [Trees.Faults]: what is wrong with the edges: cycles, ends that disagree,
//     too many children, no root or several, paths that are not the way.
//
// The last is a statement about a tree at rest: while edges move, their ends
// may disagree. [Trees.Settle] runs until nothing is wrong any more.
//
// # What a member is owed
//
// An event is owed to every other node that was a member when it was published
// and is a live member now, whatever happened to it in between: a node that crashed
// stays a member and joins again from its cursor when it is restarted.
package sim
