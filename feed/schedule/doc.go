// Package schedule decides when a feed's origin is asked, and by whom.
//
// # Who polls
//
// A [Volunteer] is the decision of one node about one feed (FeedTree §5), so that
// all the feed's subscribers together ask hardly more often than one would. An
// outcome is what one poll found, news or "no news", published for everybody.
// With an interval T and an overload factor N, the feed is refreshed every T/N.
//
// FeedTree counts: a node polls if it observes fewer than N outcomes in its
// interval. Counting alone leaves the N anywhere in the interval, also all at once.
// Here the time since the last one counts, so that the refresh period is T/N not
// only on average.
//
// # Rules
//
//  1. A poll is due T/N after the last request to the origin by anybody, or
//     Config.Least if that is longer: what the origin allows one client is what all
//     have together. Chance adds up to a fiftieth, so that no two feeds stay in step.
//  2. Each turn is dealt at random among the willing. Before it is due, whoever wants
//     it says so at a random time, those first who have waited longest since their
//     last poll, and asks only if nobody else has said so before: the first word
//     heard cancels the timers of all others. The times are exponentially
//     distributed, so that of a thousand nodes a few speak. So the next poll is
//     another's, and confirms or contradicts the last.
//  3. Nobody gets all turns by claiming first, or last. A claim before the turn does
//     not count against those who have waited longer, by doublings of the polls
//     since, nor against one that was left to be contradicted and was not. Of equal
//     ones that cross the one of the lower key counts.
//     Whoever is left out for four of its turns, because those who polled lately go on
//     before they are due, takes one at the pace heard, whatever is said meanwhile.
//  4. The last max(2, N) who polled, up to 8, are the crew, who see to it that there is
//     a poll if nobody claims one. Whose last poll is the longest ago asks when it is
//     due, without a word before, or half a spacing later, 45 s at most, if somebody else
//     has claimed it: claims that cross can undo each other. Whoever misses that has left
//     the crew, and the next one claims it a slot later, in the end everybody.
//  5. What a new subscriber fetched is an outcome nobody knows yet. If nobody is
//     heard it announces that outcome instead of asking again.
//  6. A publisher that promised a sign of life every TTL is live for 2·TTL after
//     its last; nobody polls meanwhile. Its word counts as N outcomes. One that
//     promises nothing replaces no poll.
//  7. A node that may not volunteer polls, for itself, after 3T of silence, and
//     then every T until somebody is heard. One that is alone waits for nobody.
//  8. A request that the origin refused is told, and was a turn as any; each
//     further one in a row, half a spacing after the last or more, doubles the wait of
//     all, up to a day. One that reached nobody is not told: the next of the crew asks a
//     slot later.
//
// Nodes need not agree on T and N. Who wants it fresher takes over from the others,
// who hear enough to be silent, but for the turn of rule 3.
//
// [Pollers] says how large N is best, where the number of subscribers is known.
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
//  1. A node never begins a poll for others less than max(T/N, Least) after the
//     last request it knows of, its own or another's, nor before a time given to
//     NotBefore. If every word is heard within the 1/32 of that time that a claim
//     is left standing, five seconds at most, no two nodes do.
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
// What rule 3 cannot do is tell one node from many keys: who speaks with a new key each
// time keeps others from their turns. That is seen, in who polls, and not prevented.
//
// FeedTree leaves open who of many silent observers begins and how an incumbent
// knows to stop; rules 1 to 5 are this package's answer.
package schedule
