package signing

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// A private key under a passphrase, all integers big endian:
//
//	offset size
//	     0    1  version: 1
//	     1    1  algorithm of the key: 1, Ed25519
//	     2    1  1: argon2id (RFC 9106, version 0x13), then ChaCha20-Poly1305 (RFC 8439)
//	     3    1  p: lanes, 1 to 16
//	     4    4  t: passes, 1 to 16
//	     8    4  m: memory, KiB, 8p to 262144; t·m at most 1048576
//	    12   16  salt
//	    28   32  public key
//	    60   48  the seed (32) sealed, its tag (16) last
//
// The sealing key is argon2id(passphrase, salt, t, m, p), 32 bytes. As the salt
// is random it seals only once, so the nonce is 12 zero bytes. The first 60 bytes
// are the additional data. A file holds it as a PEM block "FEEDTREE ENCRYPTED
// KEY" without PEM headers.
const (
	sealedBlock = "FEEDTREE ENCRYPTED KEY"
	sealedSize  = 108
	offSalt     = 12
	offPublic   = 28
	offSealed   = 60

	// RFC 9106 §4, the second recommended option.
	sealLanes  = 4
	sealPasses = 3
	sealMemory = 64 << 10

	maxLanes  = 16
	maxPasses = 16
	maxMemory = 256 << 10
	maxEffort = 1 << 20 // passes times memory: some seconds of one core
)

// seal returns the key file's block under a passphrase. nil stands for the
// system's secure source.
func (id *Identity) seal(passphrase []byte, random io.Reader) (*pem.Block, error) {
	if random == nil {
		random = rand.Reader
	}
	b := make([]byte, offSealed, sealedSize)
	b[0], b[1], b[2], b[3] = version, algorithmEd25519, 1, sealLanes
	binary.BigEndian.PutUint32(b[4:], sealPasses)
	binary.BigEndian.PutUint32(b[8:], sealMemory)
	if _, err := io.ReadFull(random, b[offSalt:offPublic]); err != nil {
		return nil, fmt.Errorf("reading a random salt: %w", err)
	}
	copy(b[offPublic:], id.public[:])
	aead, err := sealingKey(b, passphrase)
	if err != nil {
		return nil, err
	}
	b = aead.Seal(b, make([]byte, chacha20poly1305.NonceSize), id.key.Seed(), b)
	return &pem.Block{Type: sealedBlock, Bytes: b}, nil
}

// sealingKey derives the key by which a header's seed is sealed.
func sealingKey(b, passphrase []byte) (interface {
	Seal(dst, nonce, plaintext, additional []byte) []byte
	Open(dst, nonce, ciphertext, additional []byte) ([]byte, error)
}, error) {
	passes, memory := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	key := argon2.IDKey(passphrase, b[offSalt:offPublic], passes, memory, b[3], chacha20poly1305.KeySize)
	return chacha20poly1305.New(key)
}

func unseal(block *pem.Block, passphrase func() ([]byte, error)) (*Identity, error) {
	b := block.Bytes
	if err := checkSealed(block); err != nil {
		return nil, err
	}
	secret, err := askFor(passphrase)
	if err != nil {
		return nil, err
	}
	aead, err := sealingKey(b, secret)
	if err != nil {
		return nil, err
	}
	seed, err := aead.Open(nil, make([]byte, chacha20poly1305.NonceSize), b[offSealed:], b[:offSealed])
	if err != nil {
		return nil, errWrongPassphrase
	}
	id, err := FromSeed(seed)
	if err != nil {
		return nil, err
	}
	if id.public != PublicKey(b[offPublic:]) {
		return nil, fmt.Errorf("encrypted key file: %w", errHalves)
	}
	return id, nil
}

// checkSealed refuses what would cost more to try than any honest file: whoever
// made it may want just that.
func checkSealed(block *pem.Block) error {
	b := block.Bytes
	if len(b) != sealedSize || len(block.Headers) != 0 {
		return errors.New("the encrypted key file is truncated or damaged; " + restoreKey)
	}
	passes, memory, lanes := uint64(binary.BigEndian.Uint32(b[4:])), uint64(binary.BigEndian.Uint32(b[8:])), uint64(b[3])
	switch {
	case b[0] != version || b[2] != 1:
		return fmt.Errorf("the encrypted key file has version %d, method %d: a later version of feedtree reads it", b[0], b[2])
	case b[1] != algorithmEd25519:
		return notEd25519(fmt.Sprintf("number %d", b[1]))
	case lanes == 0 || lanes > maxLanes || passes == 0 || passes > maxPasses ||
		memory < 8*lanes || memory > maxMemory || passes*memory > maxEffort:
		return fmt.Errorf("the encrypted key file asks for %d passes over %d KiB in %d lanes, which is not what feedtree writes: it is damaged, or meant to exhaust this machine; %s",
			passes, memory, lanes, restoreKey)
	}
	return nil
}

// SealedPublic returns the public key that an encrypted key file names, without
// its passphrase; false if the file is none. Nobody vouches for it but the file.
func SealedPublic(file []byte) (PublicKey, bool) {
	block, _ := pem.Decode(file)
	if block == nil || block.Type != sealedBlock || checkSealed(block) != nil {
		return PublicKey{}, false
	}
	return PublicKey(block.Bytes[offPublic:]), true
}
