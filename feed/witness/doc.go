// Package witness weighs what the volunteers of a feed say that its origin
// answered. Nobody can prove to another what a web server sent: a volunteer can
// invent an item. What helps is that others ask the same origin, at other times and
// from elsewhere, and say what they saw (FeedTree §5 has them poll for one another
// anyway).
//
// A [Panel] is one node's view of one feed. [Panel.Hear] takes one [Statement] after
// the other and says what follows from it; [Panel.State] says how an item stands.
//
// # States
//
//   - Unconfirmed: fewer than K independent volunteers list the item.
//   - Corroborated: K list it, with different keys, from different networks, under
//     different parents in the tree, and nobody says otherwise.
//   - Disputed: somebody asked the origin later and did not see it, although what
//     was seen reaches back beyond it; or only a volunteer caught lying says so.
//     Edits and answers that differ by region look like this, too.
//   - Contradicted: this node, or K independent volunteers, were given the same
//     document, and the item is not in it.
//
// Two statements are about the same document if its hash is the same, or the URL,
// Last-Modified and a strong entity tag: an origin gives one tag to one sequence of
// bytes (RFC 9110 §8.8.1). Of two that differ all the same, one is a lie.
//
// A volunteer is a liar if it contradicts what this node got itself, by the hash of
// the document, or by its validators with at least one other agreeing with this
// node, so that an origin that keeps one tag for whatever it sends convicts
// nobody; or if it contradicts K independent volunteers who agree with each other,
// and this node did not ask under those validators. What a liar says is forgotten
// and no longer heard.
//
// # Invariants
//
//  1. Fewer than K volunteers that are independent, however many keys they have,
//     never make an item corroborated.
//  2. A network that is not known is nobody's: it makes nobody independent.
//  3. Whom only edits, regional answers, late words or a slow clock set apart from
//     others is no liar: that takes the same document.
//  4. An item this node saw at the origin itself is never doubted.
//  5. What a statement says of an item stands until its source says otherwise.
//     Dropping off the end of a document is not saying otherwise.
//  6. Size is bounded by [Config], whatever is said.
//  7. There is no clock, no chance and no I/O here. The same calls give the same
//     answers.
//
// # What it does not prove
//
// Keys are free, parents are claimed, and only networks cost something: K machines
// in K networks corroborate what they like, until one who is not theirs asks the
// origin. Then it is disputed, and stays so. A liar who invents validators as well
// is never convicted, only disputed. Who disputes everything keeps everything from
// being corroborated. Of an origin that gives one strong tag to different bodies
// in different regions, volunteers of one region take those of another for liars.
package witness
