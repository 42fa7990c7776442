// Package signing makes a feed's updates provable: Ed25519 identities, the
// signed envelope every update travels in, the dense line a source numbers its
// envelopes along, and the key states that tie keys to a feed's URL.
//
// [Identity.Seal] turns a [Header] and a payload into wire bytes, [Open] turns
// wire bytes back into an [Envelope] or refuses them with a [Reason]. What is
// signed is bytes: a header of fixed layout that holds the hash of an opaque
// payload. A payload is never parsed, normalised or re-serialised here, so a
// verifier in another language needs SHA-256, Ed25519 and the layout that
// stands above the encoder in envelope.go; testdata/vectors.json says whether
// it got them right.
//
// A source speaks along a [Line]: within an epoch its events count 1, 2, 3, …
// and each carries the hash of the header before it, so that a hole, a replay
// and a fork are all visible to whoever holds the line. A heartbeat repeats the
// head of the line at a later time: nothing was published since. A source keeps
// its own Line durably and stores the next one before it sends; one that may
// have lost its place, by a restored backup or a lost disk, calls [Line.Bump]
// rather than guess, because two different statements at one place are a proof
// against it: a [ForkProof], which needs no payload and no trust in who made it.
// The first statements of an epoch name the last head that their source knew
// before ([Line.Linked]), so that the line is unbroken from one epoch to the next.
//
// A volunteer's word about a feed that is not its own is a [Testimony]: which
// document, under which validators, with which items. It travels in the volunteer's
// envelopes and proves that the volunteer said so, no more. Package feed/witness
// weighs what several say.
//
// Two kinds of keys speak for a feed. Root keys say who may: they are needed
// seldom and can be kept offline. Signing keys are where the feed is published,
// and end by themselves. A [KeyState] is signed by the roots and lists the signing
// keys, and those that were revoked, with the last word that was still theirs.
// The feed announces the fingerprint of its roots, and where its [Certificate] is:
// the file of the key states that lead from older roots to those in force. A
// state is believed if it follows one that is, by the signatures of the roots of
// both; so roots can be replaced (where their holders are several, one after the
// other signs a [Draft]), and a lost signing key costs nothing. A feed
// that has a single key and no certificate needs none of this: the key is then
// its own root, and no different fingerprint is announced when it gets one.
//
// # Invariants
//
//  1. An Envelope that Open returned is what the holder of its Key signed:
//     altering any one byte of the wire makes Open refuse it.
//  2. Parse and marshal are inverse: an envelope or a key state has exactly
//     one encoding of its contents, so comparing bytes compares meaning. (The
//     holder of a key can sign one header twice with different signature bytes;
//     [Envelope.Hash] leaves the signature out for that reason.)
//  3. Whatever Open returned is within bounds: the payload at most
//     [MaxPayload], times before the year 10000, TTL at most [MaxTTL], epoch
//     and seq at most [MaxNumber]. Arithmetic on them does not overflow.
//  4. Open says nothing about whether the key may speak for the feed. That is
//     the subscriber's question, answered by [KeyState.Covers] and by what
//     the feed itself announced.
//  5. Every refusal of foreign bytes is an [*Error] whose Reason can be
//     counted. [ReasonUnsupported] alone does not convict the sender: the
//     envelope may come from a newer version of the protocol.
//  6. There is no clock here: times are arguments. Randomness is read only by
//     [Generate] and for the salt of an encrypted key file.
//  7. Key states only go forward: [Certificate.Learn] never returns an older
//     version, nor one that the roots of the version before did not sign.
//  8. What a stranger's file asks of this machine is bounded before it is done:
//     lengths, counts, and what deriving a key costs.
//
// # Choices
//
// The domain prefix is plain bytes in front of the header rather than
// Ed25519ctx, since few libraries of other languages offer the latter. A byte
// names the algorithm although there is one, so that another can follow.
// Unknown media and codings are let through by Open: to a forwarder they are
// opaque, and a network must not cut itself in two over a new one. Unknown
// kinds and set reserved bits are refused, since they can change what an
// envelope means. A key state does not carry the group: it is a hash of the
// URL, so computing it leaves one way fewer to be wrong. Public keys of small
// order are refused, because signatures "by" them can be made by anyone.
//
// Versions of key states may leave numbers out, unlike TUF's, so that a
// certificate holds one state for each change of roots and not one for each
// signing key there ever was; by at most [MaxStep], so that a stolen root cannot
// take the last number. A key state has no end of its own: where all signing keys
// have ended, nobody speaks for the feed until its roots say so again, and who
// keeps the newer state from a reader gains the time to that end. Signing keys
// have no beginning: the roots list them when they begin, and clocks that differ
// then do no harm. Root and signing keys are never the same key, so that a root
// is not needed where the feed is published.
//
// Keys under a passphrase are in a format of our own, since OpenSSH's bcrypt
// costs a guesser with graphics cards too little; keys in the open, and imported
// ones, are in OpenSSH's.
//
// FeedTree §4.3 asks for all of it (each update a document with a sequence
// number and a timestamp, signed with the publisher's private key, a
// certificate whose URL and fingerprint the feed announces, peers that verify)
// and leaves the format open.
package signing
