// Package opml reads and writes OPML, the lists in which people carry their feeds
// from one reader to another, and puts a proxy's address in front of each feed.
//
// It is how a person with a reader moves in: [Parse] the list the reader exports,
// [Wrap] it, import the result again. From then on the reader's unmodified requests
// go to the proxy of FeedTree §4.1. [Unwrap] is the way out.
//
// # Reading
//
// Of the lists that readers export, and that they all import again, most are not
// well-formed XML: a "&" that stands for itself is in two of three. [Parse] reads
// with the tokenizer of golang.org/x/net/html, with the elements that HTML reads
// differently switched off. It has the right rule for the worst case: in an
// attribute, "&copy=1" is not a copyright sign but the rest of an address. And it
// never fails: outlines that are not closed and cut off ends cost nothing beyond
// themselves. encoding/xml, not strict, would do for stray ampersands, but ends at
// an end tag too many, and takes a document with one wrong byte for none.
//
// One thing no tokenizer does: descriptions whose markup stands in an attribute as
// it is, quotes and all. Before it reads a tag, the quotes that end nothing are
// made harmless. Charsets are found as for feeds ([feed.Decode]).
//
// What is read is a tree of outlines with their attributes, known or not, so that
// a list keeps what its reader put there. Comments are dropped, and so are elements
// other than outlines in the body.
//
// # Invariants
//
//  1. What is written is well-formed XML in UTF-8, and Parse of it gives the same
//     list.
//  2. Unwrap(Wrap(l, base), base) has the feeds of l, byte for byte as they stood,
//     unless l was wrapped already. Wrap of a wrapped list changes nothing.
//  3. Every outline that names a feed is listed or refused with a [Reason], never
//     left out in silence. Other lists that a list includes are not fetched: it may
//     include itself. They are refused, by name.
//  4. Work and memory are linear in the size of the list, which is at most
//     [MaxBytes]; outlines are at most 50,000 and nest at most 32 deep: what is
//     deeper stands at that depth.
package opml
