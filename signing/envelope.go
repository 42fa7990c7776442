package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// The signed header, HeaderSize bytes, all integers big endian:
//
//	offset size
//	     0    1  version: 1
//	     1    1  algorithm: 1, Ed25519 (RFC 8032, no context, no prehash)
//	     2    1  kind: 1 event, 2 heartbeat
//	     3    1  role: 1 publisher, 2 volunteer
//	     4    1  media: 0 none, 1 RSS, 2 Atom, 3 JSON Feed, 4 testimony,
//	                5 certificate
//	     5    1  coding: 0 identity, 1 gzip, 2 zstd
//	     6    2  reserved: 0
//	     8    4  key state version
//	    12    4  TTL, seconds
//	    16    8  epoch
//	    24    8  seq
//	    32    8  time, milliseconds since 1970-01-01T00:00:00Z without leap seconds
//	    40   32  group
//	    72   32  public key of the source
//	   104   32  prev: hash of the header of the event before; where none precedes in
//	             the epoch, of the last one known of an earlier epoch, or zero
//	   136   32  SHA-256 of the payload
//	   168    4  length of the payload
//
// What is signed:   "feedtree/envelope/1\n" ‖ header        (20 + 172 bytes)
// What is sent:     header ‖ signature (64) ‖ payload
// A header's hash:  SHA-256("feedtree/envelope/1\n" ‖ header), of what is signed
//
// The prefix is not sent. It keeps a signature made here from meaning anything
// elsewhere, and one made elsewhere with the same key from meaning anything
// here. The hash leaves the signature out because a signer can make many valid
// ones for the same bytes.
const (
	HeaderSize = 172
	Overhead   = HeaderSize + ed25519.SignatureSize // what an envelope adds to its payload
	MaxWire    = Overhead + MaxPayload              // the longest envelope

	envelopeDomain = "feedtree/envelope/1\n"
	envelope       = "envelope"

	version          = 1
	algorithmEd25519 = 1

	offSum    = 136
	offLength = 168
)

// signed is the bytes that are signed and hashed: prefix and header.
type signed [len(envelopeDomain) + HeaderSize]byte

func (h *Header) encode(b *signed, sum *[32]byte, payload int) {
	copy(b[:], envelopeDomain)
	w := b[len(envelopeDomain):]
	w[0], w[1] = version, algorithmEd25519
	w[2], w[3], w[4], w[5] = byte(h.Kind), byte(h.Role), byte(h.Media), byte(h.Coding)
	w[6], w[7] = 0, 0
	binary.BigEndian.PutUint32(w[8:], h.KeyState)
	binary.BigEndian.PutUint32(w[12:], h.seconds())
	binary.BigEndian.PutUint64(w[16:], h.Epoch)
	binary.BigEndian.PutUint64(w[24:], h.Seq)
	binary.BigEndian.PutUint64(w[32:], h.millis())
	copy(w[40:], h.Group[:])
	copy(w[72:], h.Key[:])
	copy(w[104:], h.Prev[:])
	copy(w[offSum:], sum[:])
	binary.BigEndian.PutUint32(w[offLength:], uint32(payload))
}

// decode reads a header that is at least HeaderSize long. Its caller checks the
// result; only what has no field is checked here.
func (h *Header) decode(w []byte) *Error {
	switch {
	case w[0] != version:
		return refuse(envelope, ReasonUnsupported, "version %d", w[0])
	case w[1] != algorithmEd25519:
		return refuse(envelope, ReasonUnsupported, "signature algorithm %d", w[1])
	case w[6]|w[7] != 0:
		return refuse(envelope, ReasonUnsupported, "reserved bits %02x%02x", w[6], w[7])
	}
	h.Kind, h.Role, h.Media, h.Coding = Kind(w[2]), Role(w[3]), Media(w[4]), Coding(w[5])
	h.KeyState = binary.BigEndian.Uint32(w[8:])
	h.TTL = time.Duration(binary.BigEndian.Uint32(w[12:])) * time.Second
	h.Epoch = binary.BigEndian.Uint64(w[16:])
	h.Seq = binary.BigEndian.Uint64(w[24:])
	// One more than the most stands for everything beyond, which check refuses.
	h.Time = time.UnixMilli(int64(min(binary.BigEndian.Uint64(w[32:]), maxMillis+1))).UTC()
	h.Group = [32]byte(w[40:])
	h.Key = PublicKey(w[72:])
	h.Prev = [32]byte(w[104:])
	return nil
}

// Envelope is what a source signed: a header and the payload it vouches for.
type Envelope struct {
	Header
	Payload   []byte   // as it travelled, compressed if Coding says so
	Sum       [32]byte // SHA-256 of Payload
	Signature [ed25519.SignatureSize]byte

	wire []byte
}

// Seal signs the header and the payload and returns the bytes to send. h.Key
// becomes the identity's own. An error is the caller's mistake, an [*Error]
// naming the field that [Open] would refuse.
func (id *Identity) Seal(h Header, payload []byte) ([]byte, error) {
	h.Key = id.public
	if err := h.check(len(payload)); err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	if h.Media > Keys || h.Coding > Zstd {
		return nil, fmt.Errorf("sealing: %w", refuse(envelope, ReasonUnsupported, "%v, %v", h.Media, h.Coding))
	}
	var b signed
	sum := sha256.Sum256(payload)
	h.encode(&b, &sum, len(payload))
	sig := id.sign(b[:])
	wire := make([]byte, 0, Overhead+len(payload))
	wire = append(wire, b[len(envelopeDomain):]...)
	wire = append(wire, sig[:]...)
	return append(wire, payload...), nil
}

// Open reads and verifies one envelope, which must be the whole of wire: its
// limits, its signature, its payload's hash, in this order. Errors are
// [*Error]. The envelope keeps wire and its Payload is part of it: neither may
// be modified afterwards.
func Open(wire []byte) (*Envelope, error) {
	e, err := parse(wire)
	if err != nil {
		return nil, err
	}
	if err := e.verify(); err != nil {
		return nil, err
	}
	return e, nil
}

// parse reads an envelope without believing it: everything is checked but what
// needs cryptography.
func parse(wire []byte) (*Envelope, error) {
	if len(wire) > MaxWire {
		return nil, refuse(envelope, ReasonTooLarge, "%d bytes, the most is %d", len(wire), MaxWire)
	}
	if len(wire) < Overhead {
		return nil, refuse(envelope, ReasonTruncated, "%d bytes, the least is %d", len(wire), Overhead)
	}
	e := &Envelope{wire: wire}
	if err := e.decode(wire); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(wire[offLength:])
	if err := e.check(int(min(length, MaxPayload+1))); err != nil {
		return nil, err
	}
	switch has := uint32(len(wire) - Overhead); {
	case has < length:
		return nil, refuse(envelope, ReasonTruncated, "%d bytes of payload of %d", has, length)
	case has > length:
		return nil, refuse(envelope, ReasonTrailing, "%d bytes after the payload", has-length)
	}
	e.Sum = [32]byte(wire[offSum:])
	e.Signature = [ed25519.SignatureSize]byte(wire[HeaderSize:])
	e.Payload = wire[Overhead:len(wire):len(wire)]
	return e, nil
}

func (e *Envelope) verify() error {
	if e.Key.weak() {
		return refuse(envelope, ReasonWeakKey, "key %v has small order", e.Key)
	}
	var b signed
	copy(b[:], envelopeDomain)
	copy(b[len(envelopeDomain):], e.wire)
	if !e.Key.verify(b[:], e.Signature[:]) {
		return refuse(envelope, ReasonSignature, "not signed by key %v", e.Key)
	}
	if sha256.Sum256(e.Payload) != e.Sum {
		return refuse(envelope, ReasonPayload, "%d bytes whose SHA-256 is not the signed one", len(e.Payload))
	}
	return nil
}

// Wire returns the bytes the envelope was opened from, for passing on. They are
// shared: do not modify them.
func (e *Envelope) Wire() []byte { return e.wire }

// Hash returns the hash of the signed header, which is the Prev of the next
// event of the line and of the heartbeats that repeat this one.
func (e *Envelope) Hash() [32]byte {
	var b signed
	e.encode(&b, &e.Sum, len(e.Payload))
	return sha256.Sum256(b[:])
}
