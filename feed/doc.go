// Package feed reads, names, compares and writes news feeds: RSS 0.90 to 2.0,
// RSS 1.0, Atom 0.3 and 1.0, and JSON Feed 1.0 and 1.1.
//
// It is what FeedTree §4.3 calls the conventional feed: the document that a
// publisher has anyway, that a volunteer polls, and that a reader is served.
// Nothing here does I/O or knows what time it is.
//
// [Parse] makes a [Feed] out of a document as readers would: broken entities,
// stray ampersands, control characters, wrong charsets and unclosed elements are
// repaired ([Feed.Defects] says what), and only what cannot be a feed is an error.
// [Render] writes a Feed in any of the three formats. [Diff] tells what is new,
// [Feed.Only] and [Assemble] put items of several documents into one.
// [Canonical] is the one spelling of a feed's URL and [Public] says whether that
// URL may be spoken of to strangers. [Tree] and [Poll] are the elements by which a
// conventional feed announces that it can be had by push.
//
// # Invariants
//
//  1. An item's fields depend on the item's own element, the namespaces it uses,
//     and the xml:base it inherits, never on its siblings or its channel. Hence
//     Parse(Render(f.Only(items), f.Format)) gives items with the same [Item.Key]
//     and [Item.Hash], whatever document the items came from: a pushed payload
//     says exactly what the source's own document says.
//  2. Rendering in the format of the source copies the bytes of each item, as
//     repaired: extensions, attributes and markup that this package does not know
//     survive. Rendering in another format maps what it knows and copies elements
//     of foreign namespaces wherever the target is XML.
//  3. A GUID is the source's byte for byte (without surrounding white space). An
//     item without one gets an id only where the target demands it, derived from
//     its key, and Parse recognises that id and takes it away again. Atom demands
//     an IRI: a GUID that is none is wrapped in a URN there, and unwrapped by Parse.
//  4. Dates are what the source said. A missing date stays missing, a future one
//     stays in the future. Where Atom demands a date that nobody gave, the Unix
//     epoch stands for "none" and is read back as none.
//  5. The same Feed, format and options give the same bytes.
//  6. Work and memory are linear in the size of the document, nesting is limited
//     to 100, items to 10,000, people, categories and files of an item to 256. The
//     size itself is the caller's to limit.
//
// # Choices
//
// Two items of one document with the same key are versions of one item: the
// later date wins, and without dates the first in the document; a defect says so.
// RSS 1.0 has no guid, its rdf:about does the same duty and is taken as one.
// An item with neither guid, title nor link is known by its content.
//
// The content hash leaves out dates and foreign extensions: servers that stamp
// every answer with the current time, or count comments, would otherwise make
// each poll look like news, and k volunteers would never agree. Titles are plain
// text, summaries and contents are HTML unless the item says that they are text.
//
// Comments, processing instructions and document type declarations are dropped
// on reading: they are no part of what a feed says.
package feed
