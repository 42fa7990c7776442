package kad

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Of the kinds of keys that libp2p knows one is allowed, and of that every key.
func TestWhoIsAllowed(t *testing.T) {
	for kind, want := range map[int]bool{crypto.Ed25519: true, crypto.RSA: false, crypto.Secp256k1: false, crypto.ECDSA: false} {
		for range 3 {
			private, _, err := crypto.GenerateKeyPairWithReader(kind, 2048, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			p, err := peer.IDFromPrivateKey(private)
			if err != nil {
				t.Fatal(err)
			}
			if allowed(p) != want {
				t.Errorf("a key of kind %d: allowed %v", kind, !want)
			}
		}
	}
}

// A key has one ID, or one node would be many: the same protobuf with its fields in another
// order is none, and neither is what is too short or too long.
func TestAKeyHasOneID(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	id := func(front string, middle []byte, back string) peer.ID { return peer.ID(front + string(middle) + back) }
	for name, c := range map[string]struct {
		id   peer.ID
		want bool
	}{
		"as others make it":  {id("\x00\x24\x08\x01\x12\x20", key, ""), true},
		"the key first":      {id("\x00\x24\x12\x20", key, "\x08\x01"), false},
		"a byte too few":     {id("\x00\x23\x08\x01\x12\x1f", key[1:], ""), false},
		"a byte is missing":  {id("\x00\x24\x08\x01\x12\x20", key[1:], ""), false},
		"a byte too many":    {id("\x00\x24\x08\x01\x12\x20", key, "x"), false},
		"a hash, as of RSA":  {id("\x12\x20", key, ""), false},
		"another kind of it": {id("\x00\x24\x08\x02\x12\x20", key, ""), false},
		"nothing":            {"", false},
	} {
		if allowed(c.id) != c.want {
			t.Errorf("%s: allowed %v", name, !c.want)
		}
	}
	swapped := id("\x00\x24\x12\x20", key, "\x08\x01")
	if k, err := swapped.ExtractPublicKey(); err != nil || k.Type() != crypto.Ed25519 {
		t.Errorf("libp2p does not take the other form for a key either (%v): there is nothing to refuse", err)
	}
}
