// Package fetch is a well-behaved HTTP client for feeds: it asks
// conditionally, takes compressed answers, bounds everything a server can
// send, and never connects to a private address by accident.
//
// [Client.Get] fetches one URL once. [Client.Poll] does so for a document that is
// asked for again and again: it sends what is remembered of the last answers,
// and returns what is to be remembered now, with the earliest time of the next
// request. That is decided by one pure rule, in package polite; who polls keeps
// the state, waits, and paces hosts with [polite.Hosts]. [Result] and [Error]
// say the rest: a typed [Reason] for every way to fail.
//
// # Invariants
//
//  1. Validators travel byte for byte, both ways, and are renewed by every
//     answer that has a document or confirms one, 304 and unchanged 200 included.
//     They are sent to the URL they came from and to no other.
//  2. No connection is made to an address that is not of the public internet,
//     whatever the name, the DNS or a redirect says: the check is made on the
//     address being dialled. Exempt are only the hosts of Config.Resolve and
//     Config.AllowPrivate, and hosts that are private by their very name or
//     address in a request that says it is local.
//  3. A body is held only up to Config.MaxBytes on the wire and
//     Config.MaxDecoded after decompression; an answer takes no longer than
//     Config.Timeout, whether the server is slow, silent or both.
//  4. A body that is cut off is an error, never a short document.
//  5. No cookies, no referrer, nothing added to the URL. One GET is one request
//     at each hop: what was answered, well or badly, is not asked for again.
//  6. A body that is that of the last answer goes no further: Result.Unchanged.
//     What is no feed changes nothing that is remembered but the failure.
//  7. A delta (226) is taken only where it was asked for. What it leaves out is
//     not gone: [Merge].
//
// FeedTree §4.4.2 and §5 have proxies poll on behalf of the feeds that publish
// nothing themselves: this is what polls.
package fetch
