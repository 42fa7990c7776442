package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
)

// A proof that a source forked its line, ForkSize bytes: two statements of one
// key to one group in one epoch that name different hashes for one place.
//
//	offset size
//	     0  172  header of a statement, as in an envelope
//	   172   64  its signature
//	   236  172  header of the other
//	   408   64  its signature
//
// The header that is smaller when compared byte by byte stands first, so that a
// pair of statements makes one proof only. No payload is needed: a header holds
// the hash of its own.
//
// Nothing else is signed: whoever holds both statements can make the proof, and
// whoever has the source's key can check it.
const ForkSize = 2 * Overhead

const fork = "fork proof"

// Statement is an envelope without its payload: all that its source signed.
type Statement struct {
	Header
	Sum       [32]byte // SHA-256 of the payload
	Length    uint32   // of the payload
	Signature [ed25519.SignatureSize]byte
}

// Statement returns what the source of the envelope signed.
func (e *Envelope) Statement() Statement {
	return Statement{Header: e.Header, Sum: e.Sum, Length: uint32(len(e.Payload)), Signature: e.Signature}
}

// Hash returns the hash of the signed header, as [Envelope.Hash] does.
func (s *Statement) Hash() [32]byte {
	b := s.signed()
	return sha256.Sum256(b[:])
}

func (s *Statement) signed() *signed {
	var b signed
	s.encode(&b, &s.Sum, int(s.Length))
	return &b
}

// names returns the hash that the statement names for a place of its line; false
// if it says nothing of that place. An event names its own and, as Prev, the one
// before it; a heartbeat repeats the head's. At place 0 stands the link to an
// earlier epoch.
func (s *Statement) names(place uint64) (hash [32]byte, ok bool) {
	switch {
	case s.Kind == Event && place == s.Seq:
		return s.Hash(), true
	case s.Kind == Event && place+1 == s.Seq, s.Kind == Heartbeat && place == s.Seq:
		return s.Prev, true
	}
	return hash, false
}

// ForkProof is two statements of which an honest source makes only one.
type ForkProof struct {
	First, Second Statement
	Place         uint64 // of the line, for which they name different hashes
}

// ProveFork makes a proof of two envelopes that were opened. The error is an
// [*Error] with [ReasonConsistent] if they do not contradict each other, as two of
// an honest source never do, whatever it crashed in or was restored from.
func ProveFork(a, b *Envelope) (*ForkProof, error) {
	p := &ForkProof{First: a.Statement(), Second: b.Statement()}
	if bytes.Compare(p.First.signed()[:], p.Second.signed()[:]) > 0 {
		p.First, p.Second = p.Second, p.First
	}
	if err := p.contradiction(); err != nil {
		return nil, err
	}
	return p, nil
}

// OpenFork reads and verifies a proof, which must be the whole of wire. Errors are
// [*Error].
func OpenFork(wire []byte) (*ForkProof, error) {
	switch {
	case len(wire) < ForkSize:
		return nil, refuse(fork, ReasonTruncated, "%d bytes, a proof has %d", len(wire), ForkSize)
	case len(wire) > ForkSize:
		return nil, refuse(fork, ReasonTrailing, "%d bytes, a proof has %d", len(wire), ForkSize)
	}
	p := &ForkProof{}
	if err := p.First.parse(wire[:Overhead]); err != nil {
		return nil, err
	}
	if err := p.Second.parse(wire[Overhead:]); err != nil {
		return nil, err
	}
	if bytes.Compare(wire[:HeaderSize], wire[Overhead:Overhead+HeaderSize]) > 0 {
		return nil, refuse(fork, ReasonMalformed, "its statements are in the wrong order")
	}
	if err := p.contradiction(); err != nil { // cheaper than signatures
		return nil, err
	}
	for _, s := range []*Statement{&p.First, &p.Second} {
		if err := s.verify(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Marshal returns the bytes that [OpenFork] reads.
func (p *ForkProof) Marshal() []byte {
	wire := make([]byte, 0, ForkSize)
	for _, s := range []*Statement{&p.First, &p.Second} {
		wire = append(wire, s.signed()[len(envelopeDomain):]...)
		wire = append(wire, s.Signature[:]...)
	}
	return wire
}

// contradiction finds the place about which the statements disagree.
func (p *ForkProof) contradiction() error {
	a, b := &p.First, &p.Second
	if a.Key != b.Key || a.Group != b.Group || a.Epoch != b.Epoch {
		return refuse(fork, ReasonConsistent, "its statements are of different lines")
	}
	for _, place := range []uint64{a.Seq, a.Seq - min(a.Seq, 1)} {
		x, told := a.names(place)
		if y, too := b.names(place); told && too && x != y {
			p.Place = place
			return nil
		}
	}
	return refuse(fork, ReasonConsistent, "%v %d and %v %d agree", a.Kind, a.Seq, b.Kind, b.Seq)
}

func (s *Statement) parse(wire []byte) error {
	if err := s.decode(wire); err != nil {
		return err
	}
	s.Length = binary.BigEndian.Uint32(wire[offLength:])
	if err := s.check(int(min(s.Length, MaxPayload+1))); err != nil {
		return err
	}
	s.Sum = [32]byte(wire[offSum:])
	s.Signature = [ed25519.SignatureSize]byte(wire[HeaderSize:])
	return nil
}

func (s *Statement) verify() error {
	if s.Key.weak() {
		return refuse(fork, ReasonWeakKey, "key %v has small order", s.Key)
	}
	if !s.Key.verify(s.signed()[:], s.Signature[:]) {
		return refuse(fork, ReasonSignature, "a statement in it is not signed by key %v", s.Key)
	}
	return nil
}
