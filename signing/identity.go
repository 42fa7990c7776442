package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
)

// Identity is an Ed25519 private key. However it is printed, it shows its
// fingerprint and never the key. An Identity is safe for concurrent use.
type Identity struct {
	key    ed25519.PrivateKey
	public PublicKey
}

// Generate makes a new identity from 32 bytes of random; nil means the system's
// secure source.
func Generate(random io.Reader) (*Identity, error) {
	if random == nil {
		random = rand.Reader
	}
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("generating a key: reading %d random bytes: %w", len(seed), err)
	}
	return FromSeed(seed[:])
}

// FromSeed returns the identity of a 32-byte seed, which RFC 8032 calls the
// private key.
func FromSeed(seed []byte) (*Identity, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("an Ed25519 seed has %d bytes, this one has %d", ed25519.SeedSize, len(seed))
	}
	key := ed25519.NewKeyFromSeed(seed)
	return &Identity{key: key, public: PublicKey(key[ed25519.SeedSize:])}, nil
}

var errHalves = errors.New("its public half does not belong to its private half: the key is damaged, restore it from a backup")

// FromPrivateKey returns the identity of a key in Go's form, seed and public
// key. The public half is computed anew: signing with a wrong one would give
// the private key away.
func FromPrivateKey(key ed25519.PrivateKey) (*Identity, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("an Ed25519 private key has %d bytes, this one has %d", ed25519.PrivateKeySize, len(key))
	}
	id, err := FromSeed(key.Seed())
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(id.key, key) {
		return nil, errHalves
	}
	return id, nil
}

// Public returns the key that others verify with.
func (id *Identity) Public() PublicKey { return id.public }

// PrivateKey returns a copy of the key, for a library that signs by itself.
func (id *Identity) PrivateKey() ed25519.PrivateKey { return bytes.Clone(id.key) }

// Format keeps the private key out of every log line, whatever the verb.
func (id Identity) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "identity "+id.public.Fingerprint().String())
}

func (id *Identity) sign(message []byte) (sig [ed25519.SignatureSize]byte) {
	return [ed25519.SignatureSize]byte(ed25519.Sign(id.key, message))
}
