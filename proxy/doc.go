// Package proxy is ftproxy: the HTTP face of a node, for the readers that people
// already have.
//
// A reader that is given http://127.0.0.1:8089/feed/https://example.org/feed.xml
// instead of the feed's own address is served the newest document that the tree
// brought, as fast as a cache answers. The first request for a feed subscribes the
// node to it; from then on the origin is left to the node's rules and no reader's
// polling reaches it. This is the proxy of FeedTree §4.1 and §5, which lets
// unmodified clients take part.
//
// # What is served
//
//	/feed/URL           the document in its own family of formats
//	/rss/URL            as RSS 2.0; likewise /atom/ (1.0) and /json/ (JSON Feed 1.1)
//	/feed/?url=URL      a redirect to the above, for forms
//	/                   the status page
//	/api/v1/status      the node's status as JSON: a feedtree.Status
//	/healthz            "ok" as soon as the node listens
//
// URL is the feed's own address as it is, with its "//" and its query; with the
// "//" collapsed, as some clients do; or percent-encoded as one segment.
//
// # Invariants
//
//  1. Once a document of a feed was held, requests for it are answered 200 or
//  304. What its origin does wrong is told in X-FeedTree-State and on the page,
//     never as an error, Retry-After or slowness: readers punish a whole host for
//     it, and here all feeds share one host.
//  2. The same strong entity tag means the same bytes, and no byte depends on
//     time, on the client, or on the name it used for the proxy.
//  3. Identities of items are the source's byte for byte; only rel=self is ours.
//  4. A feed not held costs its origin one request however many readers ask at
//     once, and a feed that could not be had is not asked for again before a pause
//     that grows from 5 seconds to an hour.
//  5. Only GET and HEAD, only by a name of this machine (or one that was
//     configured), and not at the request of other sites' pages.
//  6. Errors are plain text that says what, where and what to do. Text from
//     elsewhere is shown escaped, or without control characters.
//
// # Choices
//
// Last-Modified is when this process first saw the document as it is, so after a
// restart a reader that sends no entity tag is answered once in full: dates in the
// document can stay the same when an item changes, and a wrong 304 hides news.
// A feed's own ttl is not passed on: it is about polling the origin. Range requests
// and If-Match work as net/http has them.
package proxy
