// Package archive is the durable store: feeds, items, envelopes, cursors and
// keys of a node in one SQLite file.
//
// It implements store.Store, whose rules it follows to the letter: the same
// suite and the same random histories run against it and the one in memory.
// It is what lets a node answer a child that asks for what it missed (FeedTree
// §4.5.2) after a restart as well as before.
//
// # Invariants
//
//  1. When Apply returns, the batch is on disk: the file is in WAL mode and
//     every commit is synced (synchronous=FULL). After a crash at any moment the
//     file opens and holds each batch whole or not at all.
//  2. There is one writer; readers never wait for it and see only whole batches.
//  3. A file that was not written by this program, by a newer version of it, or
//     that is damaged is refused and left as it is. The error says which file
//     and what to do.
//  4. A file of an older version is migrated when it is opened, in one
//     transaction.
//  5. SQLite before 3.51.3 is refused: until then, two connections that reset
//     the WAL at the same time could damage the file.
//
// The file's user_version is the version of its schema, its application_id
// says that it is one of ours. Only its owner may read it: it says what
// somebody reads.
package archive
