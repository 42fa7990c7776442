package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"time"
)

// ID names a node. It is opaque to everything above the driver and compared
// byte for byte: with libp2p it holds the bytes of the peer ID, in the
// simulator whatever is shortest.
type ID string

// Key is a position in the 256-bit identifier space.
type Key [32]byte

// KeyOf returns the position of what name names: its SHA-256.
func KeyOf(name []byte) Key { return sha256.Sum256(name) }

// Key returns the node's position.
func (id ID) Key() Key { return KeyOf([]byte(id)) }

// Distance returns the XOR distance between k and other; smaller, compared
// bytewise from the front, is closer.
func (k Key) Distance(other Key) Key {
	var d Key
	for i := range k {
		d[i] = k[i] ^ other[i]
	}
	return d
}

// Closer reports whether a is strictly closer to k than b is.
func (k Key) Closer(a, b Key) bool {
	da, db := k.Distance(a), k.Distance(b)
	return bytes.Compare(da[:], db[:]) < 0
}

// CommonPrefix returns how many leading bits k and other share, 256 if they
// are equal.
func (k Key) CommonPrefix(other Key) int {
	for i := range k {
		if x := k[i] ^ other[i]; x != 0 {
			return i*8 + bits.LeadingZeros8(x)
		}
	}
	return len(k) * 8
}

// String returns the first eight bytes in hex, enough to tell keys apart in a
// message to a person.
func (k Key) String() string { return hex.EncodeToString(k[:8]) }

// Router is key-based routing as one node sees it. Implementations follow the
// package's numbered invariants.
type Router interface {
	// Self returns the node's own identity.
	Self() ID

	// NextHop returns a connected peer strictly closer to key than Self, the
	// closest one known, or false if there is none: then Self may be the root
	// of key, which only a lookup can confirm.
	NextHop(key Key) (ID, bool)

	// Closest returns up to n peers known to be near key, nearest first,
	// without Self. Some may be gone. The list is the caller's until the next call.
	Closest(key Key, n int) []ID

	// RTT returns the smoothed round-trip time to a peer, or false if it was
	// never measured.
	RTT(peer ID) (time.Duration, bool)
}
