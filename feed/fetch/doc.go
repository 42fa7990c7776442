// Package fetch is a well-behaved HTTP client for feeds: it asks
// conditionally, takes compressed answers, bounds everything a server can
// send, and never connects to a private address by accident.
//
// It fetches one URL once. When to ask, how often and what to do about an
// error is decided above it; [Result] and [Error] carry what that needs:
// validators, freshness, Retry-After, permanent moves, and a typed [Reason]
// for every way to fail.
//
// # Invariants
//
//  1. Validators travel byte for byte, both ways, and are renewed by every
//     answer, 304 included.
//  2. No connection is made to an address that is not of the public internet,
//     whatever the name, the DNS or a redirect says: the check is made on the
//     address being dialled. Exempt are only the hosts of Config.Resolve and
//     Config.AllowPrivate, and hosts that are private by their very name or
//     address in a request that says it is local.
//  3. A body is held only up to Config.MaxBytes on the wire and
//     Config.MaxDecoded after decompression; an answer takes no longer than
//     Config.Timeout, whether the server is slow, silent or both.
//  4. A body that is cut off is an error, never a short document.
//  5. No cookies, no referrer, nothing added to the URL.
//
// FeedTree §4.4.2 and §5 have proxies poll on behalf of the feeds that publish
// nothing themselves: this is what polls.
package fetch
