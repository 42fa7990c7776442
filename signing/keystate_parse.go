package signing

import (
	"crypto/ed25519"
	"encoding/binary"
	"time"
)

// ParseKeyState reads and verifies one key state, which must be the whole of b.
// Errors are [*Error].
func ParseKeyState(b []byte) (*KeyState, error) {
	s, err := parseKeyState(b)
	if err != nil {
		return nil, err
	}
	if err := s.verify(); err != nil {
		return nil, err
	}
	return s, nil
}

// parseKeyState reads a state without believing it: everything is checked but
// what needs cryptography.
func parseKeyState(b []byte) (*KeyState, error) {
	switch {
	case len(b) < offKeyURL:
		return nil, refuse(keyState, ReasonTruncated, "%d bytes, the least is more than %d", len(b), offKeyURL)
	case b[0] != version:
		return nil, refuse(keyState, ReasonUnsupported, "version %d of the layout", b[0])
	case b[1] != algorithmEd25519:
		return nil, refuse(keyState, ReasonUnsupported, "signature algorithm %d, feedtree signs with Ed25519 only", b[1])
	}
	s := &KeyState{
		Version: binary.BigEndian.Uint32(b[4:]),
		Issued:  unix(binary.BigEndian.Uint64(b[8:])),
		Roots:   RootSet{Threshold: int(b[16])},
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	roots, signing, revoked := int(b[17]), int(b[18]), int(b[19])
	if n > maxURL || roots > maxRoots || signing > maxSigners || revoked > maxRevoked {
		return nil, refuse(keyState, ReasonTooLarge, "URL of %d bytes, %d root, %d signing and %d revoked keys", n, roots, signing, revoked)
	}
	lists := roots*ed25519.PublicKeySize + signing*signingSize + revoked*revocationSize
	rest := b[offKeyURL:]
	if len(rest) < n+lists+1 {
		return nil, refuse(keyState, ReasonTruncated, "%d bytes of %d and its signatures", len(b), offKeyURL+n+lists+1)
	}
	s.URL, rest = string(rest[:n]), rest[n:]
	rest = s.parseKeys(rest, roots, signing, revoked)
	if err := s.parseSignatures(rest); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// parseKeys reads the three lists, which are there, and returns what follows.
func (s *KeyState) parseKeys(b []byte, roots, signing, revoked int) []byte {
	for range roots {
		s.Roots.Keys = append(s.Roots.Keys, PublicKey(b[:32]))
		b = b[ed25519.PublicKeySize:]
	}
	for range signing {
		s.Signing = append(s.Signing, SigningKey{PublicKey(b[:32]), unix(binary.BigEndian.Uint64(b[32:]))})
		b = b[signingSize:]
	}
	for range revoked {
		s.Revoked = append(s.Revoked, Revocation{PublicKey(b[:32]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])})
		b = b[revocationSize:]
	}
	return b
}

func (s *KeyState) parseSignatures(b []byte) error {
	count, b := int(b[0]), b[1:]
	switch want := count * signatureSize; {
	case count > maxSignatures:
		return refuse(keyState, ReasonTooLarge, "%d signatures, the most is %d", count, maxSignatures)
	case len(b) < want:
		return refuse(keyState, ReasonTruncated, "%d bytes of signatures of %d", len(b), want)
	case len(b) > want:
		return refuse(keyState, ReasonTrailing, "%d bytes after the signatures", len(b)-want)
	}
	for range count {
		s.Signatures = append(s.Signatures, RootSignature{PublicKey(b[:32]), [ed25519.SignatureSize]byte(b[32:])})
		b = b[signatureSize:]
	}
	return nil
}

// unix maps everything after the year 9999 to one value that check refuses.
func unix(seconds uint64) time.Time { return time.Unix(int64(min(seconds, maxUnix+1)), 0).UTC() }
