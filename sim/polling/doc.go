// Package polling replays feeds' histories against the policies of feed/schedule
// and tells what each loses and how long items wait.
//
// [Run] is all of it: workloads × budgets × seeds × policies. A workload is a
// synthetic one of [Workloads], made after Han's measurements (§3), or the item
// dates of real feed documents in a directory ([ReadTrace]).
//
// # The synthetic feeds
//
// Rates are lognormal around Han's 1,083 postings a day for 1,000 feeds, with
// σ = 2. That is a choice: the 6 % of feeds above ten a day of Han's Figure 11 fit
// no lognormal of that mean (σ = 2.1 comes nearest, with under 2 %), and uniform
// polling loses Han's 37 % at about σ = 1.8. 83 % of the documents hold 10 to 15 items, the
// others 1 to 60 (Figure 12). "bursty" feeds post bursts of geometric size, four
// items on average and an hour apart, also a choice: minimum missing then loses
// some 1.4 % at M = 20,000, where Han has 2 %. "hours" feeds have a time of day, each its own around the
// afternoon (von Mises, κ = 2); "bursty-hours" are both; "smooth" are neither.
//
// # Invariants
//
//  1. All policies see the same histories, and before the replay the same three
//     weeks of polls every two hours, as Han's did (§3).
//  2. A budget M is polls per three weeks and 1,000 feeds; worlds of another size
//     get their share. No policy spends more, but what our own may save for a day.
//  3. A poll collects the latest S of the items posted since the last one; the
//     others are lost. Delay is the mean over items collected. At the end every
//     feed is asked once more, for every policy alike, so that what nobody asked
//     for counts.
//  4. Minimum delay and minimum missing plan once, from the three weeks, as Han
//     did; half an item is added to every count, so that a feed that was silent
//     is not left for ever.
//  5. The same Config gives the same Result.
package polling
