// Package schedule decides when a feed's origin is asked, and by whom.
//
// # Who polls
//
// A [Volunteer] is the decision of one node about one feed (FeedTree §5), so that
// all the feed's subscribers together ask hardly more often than one would. An
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
// # When to poll
//
// The rest of the package is about how a number of polls is best spent. [Uniform],
// [MinDelay] and [MinMissing] divide a period's polls ahead, [Adaptive] is
// FeedEx's rule for one interval, and [Habit] and [Agenda] are this project's own
// policy. A Habit is what the polls of one feed have taught, and [Habit.Next] says
// when to ask it next; an Agenda holds many, says which one is due, and keeps to a
// budget.
//
// What is weighed are lost items. A poll has a price, an hour that an item waits
// another (0.005: eight days are as bad as a loss), and the next poll is where
// all costs together are least per item expected. What is expected:
//
//   - A mean number from the rate learned and the hours of the day learned.
//   - A scatter around it, negative binomial: items come in bursts, and rates are
//     not known for certain. What a feed has not shown is assumed to be as with
//     the others.
//   - More soon, if the last poll came upon a burst.
//
// Under a budget the price follows from it: if polls are saved it falls, if they
// are short it rises. The time of a feed in the queue is of the price at its last
// poll, and is found anew when it comes.
//
// # Invariants
//
//  1. A node never begins a poll less than 0.9·T after its last one ended, nor
//     before a time given to NotBefore.
//  2. There is no clock here. Times are arguments that never go back, and all
//     randomness comes from the generator given to [New].
//  3. Next lies within Min and Max after the last poll, whatever was learned, and
//     an Agenda gives no feed out before its minimum, nor before the time that
//     NotBefore or Failed told.
//  4. In any time d an Agenda with a budget gives out at most Polls·(d + a
//     day)/Period. What a day cannot save is spent on whoever is next.
//  5. A Habit has one size, whatever was observed, and is all there is to store.
//  6. The same calls give the same answers.
//
// FeedTree leaves open who of many silent observers begins and how an incumbent
// knows to stop; rules 1 to 3 are this package's answer.
package schedule
