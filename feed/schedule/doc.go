// Package schedule decides when one node asks a feed's origin, so that all the
// feed's subscribers together ask hardly more often than one of them would.
//
// A [Volunteer] is that decision for one feed on one node (FeedTree §5). An
// outcome is what one poll found, news or "no news", published for everybody.
// With an interval T and an overload factor N, a node polls if it observes fewer
// than N outcomes in its interval; N volunteers then refresh the feed every T/N
// on average.
//
// # Rules
//
//  1. The node that polled last goes on: its next poll comes T·(0.9…1.0) after
//     its last, at random, so that an item waits at most T. It stops when N
//     others spoke since (§5: the heartbeat informs other instances that the
//     feed is already being polled). Outcomes that cross its own do not
//     count: of two that crossed both would stop. The next round parts them.
//  2. Whoever does not poll and observes fewer than N outcomes within T and a
//     grace of min(T/10, 5 s) sets a timer at random in [0, T/2]. The first
//     outcome heard cancels it (§5: the schedule is jittered to help avoid
//     synchronicity).
//  3. What a new subscriber fetched is an outcome nobody knows yet. If nobody is
//     heard it announces that outcome instead of asking again, at random in
//     T·(0.1…0.5), and is from then on the node that polled last.
//  4. A publisher that promised a sign of life every TTL is live for 2·TTL after
//     its last; nobody polls meanwhile. Its word counts as N outcomes. One that
//     promises nothing replaces no poll.
//  5. A node that may not volunteer polls, for itself, after 3T of silence, and
//     then every T until somebody is heard. One that is alone waits for nobody.
//  6. A failed poll is no outcome: others take over by rule 2. The node itself
//     waits twice as long each time, up to an hour or T.
//
// # Invariants
//
//  1. A node never begins a poll less than 0.9·T after its last one ended, nor
//     before a time given to NotBefore.
//  2. There is no clock here. Times are arguments that never go back, and all
//     randomness comes from the generator given to [New].
//
// FeedTree leaves open who of many silent observers begins and how an incumbent
// knows to stop; rules 1 to 3 are this package's answer.
package schedule
