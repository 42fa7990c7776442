// Package archive is the durable store: feeds, items, envelopes, cursors and
// keys of a node in one SQLite file.
//
// It implements store.Store, whose rules it follows to the letter: the same
// suite and the same random histories run against it and the one in memory.
// It is what lets a node answer a child that asks for what it missed (FeedTree
// §4.5.2) after a restart as well as before. Beyond that it finds items by their
// words (store.Searcher), proves who said them ([Archive.Proof]), lets the old ones
// go ([Archive.Retain]), carries all of it elsewhere ([Archive.Export],
// [Archive.Import]), and says what of it is damaged ([Archive.Check]).
//
// # Invariants
//
//  1. When Apply returns, the batch is on disk: the file is in WAL mode and
//     every commit is synced (synchronous=FULL). After a crash or a loss of power
//     at any moment the file opens and holds each batch whole or not at all.
//  2. There is one writer; readers never wait for it, be it stuck on a disk that
//     hangs or is full, and see only whole batches.
//  3. A file that was not written by this program, by a newer version of it, or
//     that is damaged is refused and left as it is. The error says which file
//     and what to do.
//  4. A file of an older version is migrated when it is opened, in one
//     transaction: one that fails leaves the file as it was.
//  5. SQLite before 3.51.3 is refused: until then, two connections that reset
//     the WAL at the same time could damage the file.
//  6. Nothing is served that is not as it was written: each row carries a
//     checksum of all its values, the trust in it included. What fails it is
//     withheld and reported ([Archive.Damage]). Items so withheld are not Known,
//     so that they are fetched again, and replaced when they come; where leaving a
//     row out would do harm, as with a pin or the state of a line, the call fails
//     with ErrDamaged.
//  7. The index of words is part of the transaction that changes the items. It
//     can at worst hide an item: what it finds is read and held against the query.
//  8. An item that its feed's document still shows is not let go for its age, its
//     size or its number: it would come back as news.
//  9. The envelope that an item came in is kept as long as the item, up to 256 MiB
//     for each group, beyond those that store.Limits keeps to answer children.
//
// # The file
//
// The file's user_version is the version of its schema, its application_id
// says that it is one of ours. Only its owner may read it: it says what
// somebody reads. `feedtree archive` works on it beside a running node.
//
// Documents are compressed with S2 and a dictionary of what feeds have in common,
// which is part of this package; up to the third schema with zstd, whose documents
// are smaller by two fifths and took five times as long: 10,000 items a second with
// their words were out of reach of two processors. The index of words knows which
// items have a word, not where (FTS5 without content and detail), so its hits are in
// order of arrival, the newest first, and not of rank. Why it is so, measured with
// 20,000 items of made-up words and of words that follow each other as in real feeds,
// documents and index alone:
//
//	documents  index                     bytes for each byte of the items
//	plain      with a copy of the text   3.10  3.01
//	plain      of places                 1.87  1.74
//	plain      of items                  1.45  1.40
//	zstd       of places                 1.29  1.15
//	zstd       of items and columns      1.12  1.01
//	zstd       of items                  0.87  0.80
//	zstd with a dictionary, of items     0.70  0.68
//	the same, no search                  0.48  0.55
//
// `feedtree bench archive` measures all of the file, and how fast it is.
//
// # Long tests
//
// What the tests do briefly, these do at length, with progress and a seed:
//
//	go test ./feed/archive -run TestPowerLoss -archive.losses 10000 -archive.seed 2005 -timeout 1h
//	go test ./feed/archive -run TestKilled -archive.kills 1000 -timeout 1h
//	go test ./feed/archive -run TestFaults -archive.faults 1 -timeout 1h
//	go test ./feed/archive -run TestBitFlips -archive.flips 2500 -timeout 1h
//
// # Damage
//
// An import believes no signature that it has not verified: see [Archive.Import].
//
// Checksums find accidents. Whoever can write the file can write checksums too;
// envelopes are what proves anything to anybody else.
//
// # Retention
//
// By default an item is kept until its feed has 20,000 others, or 256 MiB of them
// (store.Limits). [Retention] adds an age, and a number of bytes for all feeds
// together. Space that becomes free is used for what comes next, and above a
// quarter of the file given back to the disk, except in files that the first two
// schemas made: those shrink by export and import. What was let go is counted
// ([Archive.Dropped]).
package archive
