package signing

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// RootSet is the keys that decide who speaks for a feed, and how many of them it
// takes. A feed announces its fingerprint.
type RootSet struct {
	Keys      []PublicKey // ascending
	Threshold int
}

const (
	rootsDomain = "feedtree/roots/1"
	maxRoots    = 8
)

// Fingerprint returns that of the key where there is one key, so that a feed that
// has a key and no key state yet need not announce anything else when it gets
// one. Of several it is SHA-256("feedtree/roots/1" ‖ threshold ‖ number ‖ keys),
// a byte for each of the two numbers.
func (r RootSet) Fingerprint() Fingerprint {
	if len(r.Keys) == 1 && r.Threshold == 1 {
		return r.Keys[0].Fingerprint()
	}
	b := append([]byte(rootsDomain), byte(r.Threshold), byte(len(r.Keys)))
	for i := range r.Keys {
		b = append(b, r.Keys[i][:]...)
	}
	return sha256.Sum256(b)
}

// Equal reports whether both are the same keys and take as many of them.
func (r RootSet) Equal(other RootSet) bool {
	return r.Threshold == other.Threshold && slices.Equal(r.Keys, other.Keys)
}

func (r RootSet) check() *Error {
	switch {
	case len(r.Keys) == 0 || len(r.Keys) > maxRoots:
		return refuse(keyState, ReasonMalformed, "%d root keys, want 1 to %d", len(r.Keys), maxRoots)
	case r.Threshold < 1 || r.Threshold > len(r.Keys):
		return refuse(keyState, ReasonMalformed, "%d of %d root keys must sign, want 1 to %[2]d", r.Threshold, len(r.Keys))
	}
	return nil
}

// signed counts the roots that signed a state whose signatures are right.
func (r RootSet) signed(s *KeyState) (n int) {
	for i := range s.Signatures {
		if slices.Contains(r.Keys, s.Signatures[i].Key) {
			n++
		}
	}
	return n
}

func (k PublicKey) compare(other PublicKey) int { return bytes.Compare(k[:], other[:]) }
