// Package feedtree is a node of FeedTree: news feeds as push, over a network of
// their subscribers, with no operator.
//
//	node, err := feedtree.New(ctx, feedtree.Config{})
//	...
//	feed, err := node.Subscribe(ctx, "https://example.org/feed.xml")
//	...
//	for update, err := range feed.Items(ctx) {
//
// A [Node] subscribes to any feed of the web. Feeds that somebody publishes come
// signed from the publisher; the others are polled by volunteers, this node
// perhaps among them, each by about one for all (FeedTree §5). A node that is
// alone is an ordinary, polite feed reader. [Node.Publish] pushes what is new in
// a feed's document, [Node.Publisher] also keeps up the heartbeats that let
// subscribers know that they missed nothing (§4.3).
//
// It joins what is below it: overlay/kad finds the others, multicast/tree and
// multicast/live carry signed events, feed and feed/fetch read documents,
// feed/schedule decides who polls, feed/store keeps everything. Package
// feed/archive is a store in one file, for Config.Store; the default keeps
// nothing beyond the process.
//
// # Trust
//
// Every item says why it is believed ([Update.Trust]): it is signed by the
// publisher, was fetched here from its origin, or is the word of one volunteer,
// unconfirmed. The publisher's root keys are those that the feed's own document
// announces, fetched here from the feed's own host over HTTPS, the first time it
// is seen: they are pinned. Whom they let sign stands in the feed's certificate
// ([signing.KeyState]), which is fetched from that host over HTTPS, and comes along
// the tree when it changes. A pin goes where its root keys sign that it should; else
// only, if nobody set it by hand, to root keys that the feed announced for 72 hours
// while others saw them too; [Node.SetPin] sets one. A key seen over plain HTTP is
// used to refuse others, not to believe. Events under any other key in the
// publisher's name are refused and counted; if the feed announced no key so far, or
// its certificate may list that one, its origin is asked once more before that is
// decided, and if there is still no key, they count as a volunteer's. While a
// publisher keeps its promise of heartbeats, volunteers are refused.
//
// With each outcome a volunteer testifies to the validators, the hash and the items of
// the document ([signing.Testimony]), and feed/witness weighs what they say.
// Config.Witnesses of them who are independent, by key, network and parent, make an
// item corroborated. Where one who asked later did not see it, it is unconfirmed
// and disputed ([Update.Doubt]). A volunteer that was given the same document as this node
// and says that another item was in it is not heard again: for a month about any
// feed, for a week about this one if only others say so. The network of a volunteer is
// where it was met: at the other end of a direct connection, in which its key was
// proved, now or in the last two weeks. One that was not met and whose word may decide
// something is visited, which costs it a connection: each node makes one visit in two
// seconds at most, and all who carry the feed together about 20 to one volunteer. What this proves is that K
// independent ones say the same, not that they are independent of each other's owner.
//
// # Invariants
//
//  1. What comes from the tree is in the store before a subscription yields it,
//     before its source is told that it is held, and before the cursor moves:
//     a crash loses nothing and doubles nothing.
//  2. What this node says is in the store before it is sent, and one at a time
//     per line, and each run of the program opens an epoch of its own, behind the
//     last head that it or the network knows: no crash, no restored backup and no
//     job without state makes it say two things at one place.
//  3. An item reaches a subscription's Items once for each version of it, however
//     often and over however many ways it came.
//  4. Nothing about a local feed leaves the node but requests to its origin: a
//     private URL (feed.Public), Cache-Control private or no-store, and, without
//     ft:tree, ft:poll other than "cooperative" and X-Robots-Tag noarchive make it
//     one. Of other feeds the group leaves
//     the node, never the URL.
//  5. Origins are asked by the schedule, by all volunteers together no faster than
//     limits allow one client; out of turn only for the first fetch, when no node
//     has what is missing (at most twice per interval; of a volunteer's line once,
//     at a time of its own), about an unknown key (at most once per interval and
//     per minute, but the first time at once), and because of a hint (at most once
//     in 5 minutes; Hint).
//  6. A feed's trouble is its own: it shows in its status, the others go on.
//  7. After Close no goroutine of the node runs, and the store is no longer used.
//
// # An unbroken line
//
// A source that says two different things at one place of its line is proved to by
// the two, wherever they meet (signing.ForkProof). The proof is kept, told in the
// tree and shown ([FeedStatus.Forks]); nothing that the source says in that epoch is
// believed any more, and the feed's volunteers go on, until it opens a new epoch.
// That takes no more than its key, unless the key stands under a key state, whose
// version then has to be a later one. What of the epoch is held already stays: it is
// what the source said. Two epochs opened beside each other are no proof: the later
// one counts, and that it does not follow the other shows as something missing, for
// which the origin is asked.
//
// What no node has is asked for at the origin, whose document holds items and no head
// of a line: [FeedStatus.Gaps] says which events are missing, and whether the origin
// answered since. Such a gap is closed by items, not by proof.
//
// [FeedStatus.FreshAsOf] is up to when nothing is missing: the time of the
// publisher's latest word, if all that it says precedes it is held here.
//
// # Choices
//
// A volunteer's events are signed with the node's key, which is its identity in
// the overlay. Whoever starts polling tells all of the document that no event
// known here carried, since an item that only its predecessor or its own first
// fetch saw would reach nobody else. A volunteer's heartbeat that promises another
// word (a TTL) says that it asks the origin next, or has asked in vain; an outcome
// promises none, since the next one is somebody else's. Every outcome that is heard
// teaches how the feed posts, so that all who follow it come to the same interval.
// How many polls an interval gets follows from how many nodes the tree's top counts
// and from the other feeds followed here (schedule.Pollers). Whoever overstates the
// count gains no more than what an origin allows one client.
// A feed known to the store is not asked for
// at the start: the tree is heard first, and only a node that stays alone, or
// hears nothing for a minute beyond the feed's interval, asks the origin.
//
// What following a feed cost its origin this week, and what it would have cost this
// node by itself, is in FeedStatus.Week, which says how that is reckoned.
//
// Publishers keep volunteers out with what comes with the feed: ft:poll in the
// document, or a header. robots.txt is not asked for: it would be a request more
// to each host from each node, which those who run hosts complain of, and its rules
// for "*" speak to crawlers; readers' programs fetch feeds that they forbid.
//
// Unsubscribing is explicit: closing a [Subscription] ends only the listening. A
// node leaves no feed by itself; who follows feeds for readers that do not say when
// they stop has [Node.Leave], which keeps what is known, and which refuses while a
// program holds a subscription.
// A feed that only is published from here is not polled and not resumed at the
// start.
package feedtree
