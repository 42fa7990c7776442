package signing

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// KeyState says which keys speak for a feed. Root keys, which need not be on any
// machine that is on the network, sign it; those that stand in it sign what is
// published. By itself it proves only what its signers say; it is believed where
// it follows, by [KeyState.Follows], from root keys that are believed already.
//
// What [ParseKeyState] and [SignKeyState] return is within bounds, in order and
// signed by enough of its own roots. It is not to be modified.
type KeyState struct {
	URL     string    // canonical URL of the feed; the caller canonicalises
	Version uint32    // counts up; 0 is a feed without any key state
	Issued  time.Time // whole seconds
	Roots   RootSet   // who signs this state, and must sign the next
	Signing []SigningKey
	Revoked []Revocation

	Signatures []RootSignature // of these roots, and of those before them
}

// SigningKey is a key that speaks for the feed until a time.
type SigningKey struct {
	Key   PublicKey
	Until time.Time // whole seconds, the last one included
}

// Revocation is a key that no longer speaks for the feed. What it said up to a
// place of its line, that place included, was still its holder's.
type Revocation struct {
	Key        PublicKey
	Epoch, Seq uint64 // 0, 0: nothing was
}

// RootSignature is one root's signature of a key state.
type RootSignature struct {
	Key       PublicKey
	Signature [ed25519.SignatureSize]byte
}

// The key state, all integers big endian:
//
//	offset size
//	     0    1  version of this layout: 1
//	     1    1  algorithm: 1, Ed25519 (RFC 8032, no context, no prehash)
//	     2    2  n: length of the URL, 1 to 2048
//	     4    4  version of the key state, 1 to 2147483647
//	     8    8  issued, seconds since 1970-01-01T00:00:00Z without leap seconds
//	    16    1  t: how many of the roots must sign, 1 to r
//	    17    1  r: root keys, 1 to 8
//	    18    1  s: signing keys, 0 to 16
//	    19    1  x: revoked keys, 0 to 64
//	    20    n  URL
//	     …  32r  root keys
//	     …  40s  signing keys: public key (32), until (8) as issued, later than it
//	                           and by no more than 90 days
//	     …  48x  revoked keys: public key (32), epoch (8), seq (8), the last place valid
//	     …    1  g: signatures, t to 16
//	     …  96g  signatures: public key (32), its signature (64)
//
// What is signed:  "feedtree/keystate/1\n" ‖ all before g
//
// Keys stand in ascending order within each list, none twice, and none in two of
// the first three lists. All signatures are right, and t at least are of root
// keys of this state; the others are of root keys of the state before.
const (
	keyStateDomain = "feedtree/keystate/1\n"
	keyState       = "key state"
	groupDomain    = "feedtree/group/1"

	// MaxSigning is how long a signing key may speak: a stolen key that nobody
	// misses is of use for no longer.
	MaxSigning = 90 * 24 * time.Hour

	maxURL        = 2048
	maxUnix       = maxMillis / 1000
	maxVersion    = 1<<31 - 1
	maxSigners    = 16 // signing keys
	maxRevoked    = 64
	maxSignatures = 2 * maxRoots
	offKeyURL     = 20

	signingSize    = ed25519.PublicKeySize + 8
	revocationSize = ed25519.PublicKeySize + 16
	signatureSize  = ed25519.PublicKeySize + ed25519.SignatureSize
)

// SignKeyState returns the state in its order, signed by roots. An error is the
// caller's mistake, an [*Error] naming what [ParseKeyState] would refuse.
func SignKeyState(s KeyState, roots ...*Identity) (*KeyState, error) {
	made := s.clone()
	made.sort()
	if err := made.check(); err != nil {
		return nil, fmt.Errorf("signing a key state: %w", err)
	}
	made.Signatures = nil
	message := made.appendSigned(nil)
	for _, id := range roots {
		made.Signatures = append(made.Signatures, RootSignature{id.public, id.sign(message)})
	}
	slices.SortFunc(made.Signatures, func(a, b RootSignature) int { return a.Key.compare(b.Key) })
	made.Signatures = slices.CompactFunc(made.Signatures, func(a, b RootSignature) bool { return a.Key == b.Key })
	if err := made.verify(); err != nil {
		return nil, fmt.Errorf("signing a key state: %w", err)
	}
	return made, nil
}

func (s *KeyState) sort() {
	slices.SortFunc(s.Roots.Keys, PublicKey.compare)
	slices.SortFunc(s.Signing, func(a, b SigningKey) int { return a.Key.compare(b.Key) })
	slices.SortFunc(s.Revoked, func(a, b Revocation) int { return a.Key.compare(b.Key) })
}

// clone copies the lists, and brings times to what the wire has of them.
func (s KeyState) clone() *KeyState {
	s.Issued = s.Issued.UTC().Truncate(time.Second)
	s.Roots.Keys, s.Revoked = slices.Clone(s.Roots.Keys), slices.Clone(s.Revoked)
	s.Signing, s.Signatures = slices.Clone(s.Signing), slices.Clone(s.Signatures)
	for i, k := range s.Signing {
		s.Signing[i].Until = k.Until.UTC().Truncate(time.Second)
	}
	return &s
}

// Group returns SHA-256("feedtree/group/1" ‖ URL), the multicast group of the feed.
func (s *KeyState) Group() [32]byte { return groupOf(s.URL) }

func groupOf(canonicalURL string) [32]byte { return sha256.Sum256([]byte(groupDomain + canonicalURL)) }

// Fingerprint returns that of the state's root keys, which the feed announces.
func (s *KeyState) Fingerprint() Fingerprint { return s.Roots.Fingerprint() }

// Until returns the end of the signing key that ends last, zero if there is none.
func (s *KeyState) Until() (last time.Time) {
	for _, k := range s.Signing {
		if k.Until.After(last) {
			last = k.Until
		}
	}
	return last
}

// Equal reports whether both say the same and are signed by the same keys.
func (s *KeyState) Equal(other *KeyState) bool { return bytes.Equal(s.Marshal(), other.Marshal()) }

// Marshal returns the bytes that ParseKeyState reads.
func (s *KeyState) Marshal() []byte {
	b := append(s.appendBody(nil), byte(len(s.Signatures)))
	for i := range s.Signatures {
		b = append(append(b, s.Signatures[i].Key[:]...), s.Signatures[i].Signature[:]...)
	}
	return b
}

func (s *KeyState) appendSigned(b []byte) []byte { return s.appendBody(append(b, keyStateDomain...)) }

func (s *KeyState) appendBody(b []byte) []byte {
	b = append(b, version, algorithmEd25519)
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.URL)))
	b = binary.BigEndian.AppendUint32(b, s.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Issued.Unix()))
	b = append(b, byte(s.Roots.Threshold), byte(len(s.Roots.Keys)), byte(len(s.Signing)), byte(len(s.Revoked)))
	b = append(b, s.URL...)
	for i := range s.Roots.Keys {
		b = append(b, s.Roots.Keys[i][:]...)
	}
	for i := range s.Signing {
		b = append(b, s.Signing[i].Key[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(s.Signing[i].Until.Unix()))
	}
	for i := range s.Revoked {
		b = append(b, s.Revoked[i].Key[:]...)
		b = binary.BigEndian.AppendUint64(b, s.Revoked[i].Epoch)
		b = binary.BigEndian.AppendUint64(b, s.Revoked[i].Seq)
	}
	return b
}

// check is the one list of rules for a state, whether it is about to be signed or
// came from afar.
func (s *KeyState) check() *Error {
	if err := checkURL(s.URL); err != nil {
		return err
	}
	issued := s.Issued.Unix()
	switch {
	case s.Version == 0 || s.Version > maxVersion:
		return refuse(keyState, ReasonMalformed, "version %d, want 1 to %d", s.Version, maxVersion)
	case issued < 0 || issued > maxUnix:
		return refuse(keyState, ReasonMalformed, "issued at %d, want a time between 1970 and the year 10000", issued)
	case len(s.Signing) > maxSigners:
		return refuse(keyState, ReasonTooLarge, "%d signing keys, the most is %d", len(s.Signing), maxSigners)
	case len(s.Revoked) > maxRevoked:
		return refuse(keyState, ReasonTooLarge, "%d revoked keys, the most is %d", len(s.Revoked), maxRevoked)
	}
	if err := s.Roots.check(); err != nil {
		return err
	}
	for _, k := range s.Signing {
		if lasts := k.Until.Sub(s.Issued); lasts <= 0 || lasts > MaxSigning {
			return refuse(keyState, ReasonMalformed, "signing key %v until %s, want one after %s and by at most %d days",
				k.Key.Fingerprint(), k.Until.UTC().Format(time.RFC3339), s.Issued.UTC().Format(time.RFC3339), MaxSigning/(24*time.Hour))
		}
	}
	for _, r := range s.Revoked {
		if r.Epoch > MaxNumber || r.Seq > MaxNumber {
			return refuse(keyState, ReasonMalformed, "revoked after epoch %d, seq %d, want at most %d", r.Epoch, r.Seq, uint64(MaxNumber))
		}
	}
	return s.checkKeys()
}

// checkKeys sees to it that keys are keys, and that each has one part to play.
func (s *KeyState) checkKeys() *Error {
	parts := map[PublicKey]string{}
	enter := func(part string, keys []PublicKey) *Error {
		for i, k := range keys {
			switch other, taken := parts[k]; {
			case k.weak():
				return refuse(keyState, ReasonWeakKey, "%s key %v has small order", part, k)
			case taken:
				return refuse(keyState, ReasonMalformed, "key %v is both %s and %s", k.Fingerprint(), other, part)
			case i > 0 && keys[i-1].compare(k) >= 0:
				return refuse(keyState, ReasonMalformed, "%s keys are not in ascending order", part)
			}
			parts[k] = part
		}
		return nil
	}
	signing, revoked := make([]PublicKey, len(s.Signing)), make([]PublicKey, len(s.Revoked))
	for i := range s.Signing {
		signing[i] = s.Signing[i].Key
	}
	for i := range s.Revoked {
		revoked[i] = s.Revoked[i].Key
	}
	return cmp.Or(enter("root", s.Roots.Keys), enter("signing", signing), enter("revoked", revoked))
}

func checkURL(text string) *Error {
	if len(text) == 0 || len(text) > maxURL {
		return refuse(keyState, ReasonMalformed, "URL of %d bytes, want 1 to %d", len(text), maxURL)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return refuse(keyState, ReasonMalformed, "URL %.80q has bytes other than printable ASCII", text)
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.Contains(text, "#") {
		return refuse(keyState, ReasonMalformed, "URL %.80q, want http or https, a host, no user and no fragment", text)
	}
	return nil
}

// verify checks that enough of its own roots signed it.
func (s *KeyState) verify() error {
	if err := s.verifySignatures(); err != nil {
		return err
	}
	if n := s.Roots.signed(s); n < s.Roots.Threshold {
		return refuse(keyState, ReasonThreshold, "signed by %d of its own root keys, which takes %d", n, s.Roots.Threshold)
	}
	return nil
}

// verifySignatures checks the signatures, in whose order nothing else may hide.
func (s *KeyState) verifySignatures() error {
	if len(s.Signatures) > maxSignatures {
		return refuse(keyState, ReasonTooLarge, "%d signatures, the most is %d", len(s.Signatures), maxSignatures)
	}
	message := s.appendSigned(nil)
	for i := range s.Signatures {
		by := &s.Signatures[i]
		switch {
		case i > 0 && s.Signatures[i-1].Key.compare(by.Key) >= 0:
			return refuse(keyState, ReasonMalformed, "signatures are not in ascending order of their keys")
		case by.Key.weak():
			return refuse(keyState, ReasonWeakKey, "signed by key %v, which has small order", by.Key)
		case !by.Key.verify(message, by.Signature[:]):
			return refuse(keyState, ReasonSignature, "not signed by key %v, which is said to have signed it", by.Key.Fingerprint())
		}
	}
	return nil
}
