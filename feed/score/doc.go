// Package score says from a server's access log how well the clients that poll its
// feeds behave.
//
// [Read] reads a log, in the combined format of Apache and nginx or as the JSON
// lines of Caddy; a [Judge] takes its entries in order and holds each client to
// eight criteria, which are those that people who run feeds have published
// ([Criteria]).
//
// # Invariants
//
//  1. Only what a log shows is judged. What it cannot show for want of headers
//     is Unknown, never Pass: the combined format has no validators in it.
//  2. A client is its address and the name of its program: a new version is the
//     same client.
//  3. The judge knows nothing of any client. Its limits stand in this package,
//     not in the code of the client that this module has.
//  4. What is held is bounded by the clients and documents in the log, each a few
//     hundred bytes; entries are not kept.
//  5. Two seconds are nobody's fault: logs have whole seconds, and may tell when
//     a request ended or when it began.
package score
