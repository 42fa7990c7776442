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
//	/feed/URL?ft:page=N a page of its history, to which the documents link (RFC 5005)
//	/feed/?url=URL      a redirect to the above
//	/feed/PAGE          of a web page: a redirect to the feed that it announces, the
//	                    others in Link headers
//	/                   the page: feeds and their state in words, the newest items
//	/show?feed=URL      the page of one feed, with its tree as this node sees it
//	/item?feed=URL&key= an item: its text, cleaned, in a frame that runs and loads nothing
//	/opml               the feeds followed here as a list for a reader (OPML), each
//	                    behind the proxy, or with plain=1 as it is
//	/opml/result        what became of the feeds of the last list, as a page or JSON
//	/healthz            "ok" as soon as the node listens
//	/readyz             "ok" while the node answers and keeps what it is given, else 503 and why
//	/metrics            for Prometheus, see below
//
// and, with POST, hints that a feed has news, for feeds that are followed here:
//
//	/ping, /RPC2        XML-RPC weblogUpdates.ping and extendedPing, as WordPress sends
//	/hub                WebSub publish: hub.mode=publish with hub.url or hub.topic
//	/hook/URL           a webhook of any content; or /hook with a parameter url
//	/websub/TOKEN       what the hubs send that feeds name (rel=hub)
//
// and, with POST, changes; the token goes with them, as the field "token" of a form
// or in the header X-FeedTree-Token. They answer 303, or an error as text, or on
// the page where a browser asks for HTML:
//
//	/subscribe          follows the feed of the parameter url
//	/unsubscribe        leaves it and forgets what was kept of it
//	/opml               follows the feeds of a list: the file of a form, in the field
//	                    "file", or the whole body
//	/volunteer          polls for others if the parameter on is 1, not if it is 0
//	/pin                pins the feed of url to the root keys of a fingerprint; with forget=1 to none
//	/limits             the most in an hour for others: requests, megabytes; 0 is no limit
//
// Programs have as JSON what the page shows:
//
//	/api/v1/status      the node's status: a feedtree.Status
//	/api/v1/items       {"items": [...]}, the newest first; of one feed with the
//	                    parameter feed, else the newest of all; limit is at most 500,
//	                    and of all feeds there are 40
//	/api/v1/item        one of them, by feed and key, and its text as safe html
//	/api/v1/pins        the root keys that feeds are pinned to; POST with url and
//	                    fingerprint sets one by hand, an empty one takes it back
//	/api/v1/token       {"token": ...}, for changes
//	/api/v1/events      what changes, as server-sent events, while the client stays
//
// An item has feed, feed_title, key, title, link, trust, doubt, date, received and ways.
// Trust is signed, fetched, corroborated or unconfirmed; doubt is empty, disputed or
// contradicted, and then trust is unconfirmed. Ways is how it came, oldest first, each a
// feedtree.Way with how, from, at, asked and why; it is empty where that is not known
// any more. What a publisher took back by revoking the key that said it is in no answer,
// on no page and in no document, unless its site was seen to say it, too. The events are "item", an item that
// came since somebody began to listen, and "change", {"feeds": [URL, ...]}, whose
// status is another one now; with no feed, it is the rest of the status. One comes
// at once, for what the client knows may be from before. They come once a second
// at most, connections and places in trees every five seconds, and of one feed the
// 40 newest items. Up to 32 can listen; one that does not read is cut off, to
// connect again and ask for what it needs.
//
// URL is the feed's own address as it is, with its "//" and its query; with the
// "//" collapsed, as some clients do; or percent-encoded as one segment.
//
// # Invariants
//
//  1. Once a document of a feed was held, requests for it are answered 200 or
//     304, at a web page's address 302. What its origin does wrong is told in X-FeedTree-State and on the page,
//     never as an error, Retry-After or slowness: readers punish a whole host for
//     it, and here all feeds share one host. Nor is a feed that never was held
//     429 or 5xx: it is 424, or 403, 404 or 422 where asking again does not help.
//  2. The same strong entity tag means the same bytes, and no byte depends on
//     time, on the client, or on the name it used for the proxy.
//  3. Identities of items are the source's byte for byte; only rel=self is ours, the
//     mark ft:trust and, with Config.Labels, a line at the end of an item's text.
//  4. A feed not held costs its origin one request however many readers ask at
//     once, and a feed that could not be had is not asked for again before a pause
//     that grows from 5 seconds to an hour.
//  5. Only GET and HEAD, and POST for hints and changes, only by a name of this
//     machine (or one that was configured), and not at the request of other sites'
//     pages: they can neither read anything here nor change anything, and a link on
//     one of them does not make the node follow a feed. A change needs a token that
//     only the own pages and programs on this machine can read, and that is another
//     one after each start. What is refused is counted, in the status.
//     Config.PublicURL opens the routes for hints to the outside, and no other.
//  6. Errors are plain text that says what, where and what to do. Text from
//     elsewhere is shown escaped, or without control characters.
//  7. A hint brings no content and is no proof of anything. The node asks the
//     feed's origin, at most once in 5 minutes (feedtree.Node.Hint). Of a request
//     with a hint at most 16 KiB are kept in memory, and only while it lasts; 50
//     a second are taken, and 2 a second from one address. What is refused is
//     counted, in the status.
//  8. A subscription at a hub is confirmed only if it was asked for within the
//     hour, under an address that only the hub was told; what it sends counts
//     only if it is signed with the secret that the hub was told over HTTPS. SHA-1
//     counts only from a hub that never signed with anything better.
//
// # Hints from outside
//
// By default only this machine, and who else may read here, can hint: a WordPress
// beside the proxy names http://127.0.0.1:8089/ping in Settings, Writing. Where
// hints shall come from elsewhere, a reverse proxy passes /ping, /hub, /hook and
// /websub of a public name on, with that name in Host, and Config.PublicURL says
// so. By that name nothing else is served, and hints are answered alike whether
// the feed is followed here or not, so that nobody learns who reads what. A
// reverse proxy that puts another name into Host, as some do by default, makes
// strangers look like this machine: pass on no other paths.
//
// With a public URL the node also subscribes at the hubs that feeds name. Of
// these, each learns that somebody at that URL follows the feed; local feeds are
// left out. Subscriptions are renewed when a quarter of the lease is left; a
// hub that refuses is left alone for an hour to a day. A feed that is left is not
// taken back from the hub: what it sends next is answered 410, which ends it. A
// hub that is asked over plain HTTP is told no secret, so what it sends counts as
// an unsigned hint to an address that is hard to guess.
//
// # Metrics
//
// What /metrics tells is of this node as a whole; no label names a feed or a peer.
// A name that ends in _total counts since the start.
//
//	feedtree_reader_requests_total{code}  readers' requests for feeds, by the answer's status
//	feedtree_origin_requests_total        requests sent to sites, each hop of a redirect being one
//	feedtree_origin_bytes_total           bytes of the bodies that came back
//	feedtree_outcomes_heard_total         polls by others and words of publishers: requests spared here
//	feedtree_week_requests, _week_alone_requests, _week_bytes, _week_tree_bytes, _week_alone_bytes
//	                                      what the feeds cost their sites in a week, and would have alone
//	feedtree_items_total{trust}           items that were new or changed, by why they are believed
//	feedtree_items                        items held
//	feedtree_feeds{role}                  feeds by what the node does: volunteer, subscriber, local, publisher
//	feedtree_feeds_failing                feeds with which something is wrong now
//	feedtree_refused_total{reason}        what was refused or dropped, of peers, readers and pages
//	feedtree_feed_events_refused{reason}  events refused of the feeds that are followed now
//	feedtree_peers, _links{kind}          nodes connected: direct, punched, relayed
//	feedtree_reachable{state}             1 for public, private or unknown
//	feedtree_trees{place}                 root, inside, leaf, apart (none of the neighbours kept is in the tree) or detached
//	feedtree_tree_depth_max, _children    hops to the farthest top; nodes that events are handed on to
//	feedtree_traffic_bytes_total{direction}  sent to and received from other nodes, with all headers
//	feedtree_upload_hour_bytes, _upload_limit_bytes, _upload_sparing, _upload_spared_total
//	                                      what of that counts against the limit, and whether it is near
//	feedtree_volunteer_…                  what is done for others; volunteering is 0 while that is off
//	feedtree_waiting                      posts that the node's goroutine has not come to
//	feedtree_store_ok, _archive_bytes     whether what comes can be kept; what that takes on the disk
//	feedtree_archive_damaged              places of it that are not as they were written
//	feedtree_clock_ahead_seconds          of this machine's clock before those of sites
//	feedtree_build_info{version}, _start_time_seconds
//	feedtree_NAME_total                   each other counter of the status: frames, bytes, links, lookups, …
//	go_…, process_…                       the runtime and the process
//
// # The page
//
// It works without scripts; with them it is kept current by the events, and asks for
// itself again only when something changed. It loads nothing but its own style and
// script, and its policy (Content-Security-Policy) allows nothing else. What feeds
// and strangers say is text to it. The HTML of an item is cut down to an allow-list
// of elements that only mark text up, and shown in a frame without scripts, forms
// or pictures whose own policy loads nothing; either would do alone. What was chosen
// about polling for others is kept in Config.Store and outlives the process, unless
// Config.Polling says otherwise. Of 1,000 feeds 50 are listed on one page.
//
// # History
//
// A document links to the pages with what it no longer shows (prev-archive; next_url
// in JSON Feed), where the store keeps a history (store.Historian) of 100 versions of
// items or more. A page holds 100 versions in the order in which they arrived. Its
// entries never change, but that what the store lets go is gone, so it may be kept for
// a day; why they are believed, which can change, is said in the current document only.
// The current document and all pages leave nothing out. A feed that is not
// followed is not followed because somebody asks for a page of it.
//
// A feed's address can have a parameter "page", so ours is "ft:page", and only as the
// last one and written so: a feed that had such a parameter is asked for with %3A.
//
// # Choices
//
// A feed that no reader asked for in 14 days (Config.Forget) is left: it is polled no
// more and in no tree. What it brought is kept for half a year more; who asks for it
// again gets that and what the others and the site have by then. A feed of which a
// program holds a subscription at the same node is not left, since such programs
// read items and no documents; one that a program only added by way of this proxy
// is.
//
// A list of feeds is answered within two seconds, whatever is done by then: eight
// feeds are asked for at a time, hosts in turn, each when the node's pace for its
// host allows it, and a host that wants to be left alone is come back to. What
// waits is in the store and goes on after a restart. A feed that cannot be had is
// refused for good: reader or person may ask for it again. Titles and folders of
// lists are kept for the lists that are given out.
//
// Last-Modified is when this process first saw the document as it is, so after a
// restart a reader that sends no entity tag is answered once in full: dates in the
// document can stay the same when an item changes, and a wrong 304 hides news.
// A feed's own ttl is not passed on: it is about polling the origin. Range requests
// and If-Match work as net/http has them.
package proxy
