package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// PublicKey is an Ed25519 public key as RFC 8032 encodes it. It names a source.
type PublicKey [ed25519.PublicKeySize]byte

const keyDomain = "feedtree/key/1"

// Fingerprint returns SHA-256("feedtree/key/1" ‖ key).
func (k PublicKey) Fingerprint() Fingerprint {
	var b [len(keyDomain) + len(k)]byte
	copy(b[:], keyDomain)
	copy(b[len(keyDomain):], k[:])
	return sha256.Sum256(b[:])
}

// String returns the key as 64 hexadecimal digits.
func (k PublicKey) String() string { return hex.EncodeToString(k[:]) }

// verify reports whether sig is the key's signature of message, after RFC 8032
// §5.1.7 without the cofactor.
func (k *PublicKey) verify(message, sig []byte) bool {
	return ed25519.Verify(k[:], message, sig)
}

// weakKeys are the encodings of the points of small order, sign bit cleared:
// zero, one and minus one in their ways of being written, and the two of order
// eight. Whoever "signs" with one of them needs no private key.
var weakKeys = [...]PublicKey{
	{},
	{0: 1},
	mustKey("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	mustKey("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	mustKey("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	mustKey("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
	mustKey("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
}

func (k PublicKey) weak() bool {
	k[31] &= 0x7f
	for i := range weakKeys {
		if k == weakKeys[i] {
			return true
		}
	}
	return false
}

func mustKey(s string) PublicKey {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return PublicKey(b)
}

// Fingerprint is the short name of a key that a feed announces and a person
// compares.
type Fingerprint [32]byte

const fingerprintPrefix = "sha-256:"

// String returns "sha-256:" and 64 lower-case hexadecimal digits.
func (f Fingerprint) String() string { return fingerprintPrefix + hex.EncodeToString(f[:]) }

// ParsePublic reads a public key as OpenSSH has it in a file (ssh-ed25519 and base64),
// of which only the key counts.
func ParsePublic(file []byte) (PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(file)
	if err != nil {
		return PublicKey{}, fmt.Errorf("no public key of OpenSSH: %w", err)
	}
	held, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return PublicKey{}, notEd25519(key.Type())
	}
	public, ok := held.CryptoPublicKey().(ed25519.PublicKey)
	if !ok || key.Type() != ssh.KeyAlgoED25519 {
		return PublicKey{}, notEd25519(key.Type())
	}
	return PublicKey(public), nil
}

// MarshalPublic returns the line that ParsePublic reads.
func (k PublicKey) MarshalPublic() ([]byte, error) {
	key, err := ssh.NewPublicKey(ed25519.PublicKey(k[:]))
	if err != nil {
		return nil, fmt.Errorf("a public key: %w", err)
	}
	return ssh.MarshalAuthorizedKey(key), nil
}

// ParseFingerprint reads what String writes, in either case.
func ParseFingerprint(s string) (Fingerprint, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(s), fingerprintPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(Fingerprint{})) {
		return Fingerprint{}, fmt.Errorf("fingerprint %.80q: want %q and 64 hexadecimal digits", s, fingerprintPrefix)
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("fingerprint %.80q: %w", s, err)
	}
	return Fingerprint(b), nil
}
