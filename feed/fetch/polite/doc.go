// Package polite decides when an origin may be asked again.
//
// It is the one place where that is decided: [Rules.Next] takes what is known of
// a document, the answer that just came and the time, and returns what is known
// now and the earliest time of the next request. [Hosts] does the same for all
// documents of one host together. What it all rests on is RFC 9110 (Retry-After,
// 301, 308, 410), RFC 9111 (freshness), the syndication module of RSS 1.0
// (sy:updatePeriod), RSS 2.0 (ttl, skipHours, skipDays), and on what the people
// who run origins ask of those who poll them.
//
// # Invariants
//
//  1. Two polls of a document are at least Rules.Conditional apart, and
//     Rules.Unconditional if its origin gives no validators and does not say
//     how long an answer stays fresh.
//  2. No poll begins while the last answer is fresh (max-age, Expires), nor before
//     the ttl, the sy:updatePeriod and the skipped hours and days of the document
//     allow it. None of these keeps a feed from being asked for longer than
//     Rules.Longest: a max-age of a year was meant for pictures.
//  3. No request at all begins before a Retry-After has passed, to that document
//     or, after 429 and 503, to any other of its host. After a 429 the requests to
//     the host are also further apart, for a while.
//  4. Failures double the wait, up to Rules.Longest. An origin that was not even
//     reached bears no load: the wait for it stays short.
//  5. A permanent redirect that was seen on [Confirmations] polls in a row is
//     followed from memory; it is forgotten when its target fails, and after
//     [Recheck]. A document that is gone (410) is polled no more.
//  6. Every wait has some jitter on top of it, never below it, and the sum is kept:
//     a restart neither shortens a wait nor makes waits end together.
//  7. A clock that is set back does not lengthen a wait, and does not shorten it.
//     One that is set forward ends waits early, once; the pace of requests to a
//     host holds all the same.
//  8. Validators are never made, parsed or changed, are replaced by every answer
//     that has a document or confirms one, and go only to the URL they came from.
//
// There is no clock and no I/O here. Randomness comes from State.Seed.
package polite
