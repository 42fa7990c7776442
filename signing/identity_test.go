package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
)

func TestIdentitiesOfRFC8032(t *testing.T) {
	for i, want := range []string{
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
	} {
		if got := testIdentity(t, i).Public().String(); got != want {
			t.Errorf("TEST %d: public key %s, want %s", i+1, got, want)
		}
	}
	// TEST 3 signs the two bytes af82.
	sig := testIdentity(t, 2).sign([]byte{0xaf, 0x82})
	if want := "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"; hex.EncodeToString(sig[:]) != want {
		t.Errorf("TEST 3: signature %x", sig)
	}
}

func TestGenerate(t *testing.T) {
	seed := unhex(t, rfcSeeds[0])
	id, err := Generate(bytes.NewReader(seed))
	if err != nil || id.Public() != testIdentity(t, 0).Public() {
		t.Errorf("32 given bytes are the seed: %v, %v", id, err)
	}
	a, errA := Generate(nil)
	b, errB := Generate(nil)
	if errA != nil || errB != nil || a.Public() == b.Public() {
		t.Errorf("the system's source: %v %v, %v %v", a, errA, b, errB)
	}
	broken := errors.New("no entropy")
	if _, err := Generate(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a failing source: %v", err)
	}
	if _, err := Generate(bytes.NewReader(seed[:31])); err == nil {
		t.Error("31 bytes made a key")
	}
}

func TestFromPrivateKey(t *testing.T) {
	id := testIdentity(t, 0)
	again, err := FromPrivateKey(id.PrivateKey())
	if err != nil || again.Public() != id.Public() {
		t.Fatal(err)
	}
	// With somebody else's public half, two signatures would give the key away.
	mixed := append(id.PrivateKey()[:32], testIdentity(t, 1).PrivateKey()[32:]...)
	if _, err := FromPrivateKey(mixed); !errors.Is(err, errHalves) {
		t.Errorf("mixed halves: %v", err)
	}
	if _, err := FromPrivateKey(ed25519.PrivateKey{1}); err == nil {
		t.Error("a short key")
	}
	if _, err := FromSeed(make([]byte, 31)); err == nil {
		t.Error("a short seed")
	}
	id.PrivateKey()[0] ^= 1
	if id.PrivateKey()[0] != again.PrivateKey()[0] {
		t.Error("PrivateKey is not a copy")
	}
}

func TestIdentityIsNeverPrinted(t *testing.T) {
	id := testIdentity(t, 0)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "id", id, "value", *id)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "id", id, "value", *id)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&log, verb+verb, id, *id)
	}
	seed := id.PrivateKey().Seed()
	for _, form := range []string{rfcSeeds[0][:16], strings.ToUpper(rfcSeeds[0][:16]), fmt.Sprint(seed[:4])[1:12], "0x9d, 0x61", string(seed[:4])} {
		if strings.Contains(log.String(), form) {
			t.Errorf("the private key is printed as %q in:\n%s", form, &log)
		}
	}
	if !strings.Contains(log.String(), id.Public().Fingerprint().String()) {
		t.Errorf("no fingerprint in:\n%s", &log)
	}
}

func TestFingerprint(t *testing.T) {
	key := testIdentity(t, 0).Public()
	f := key.Fingerprint()
	if want := sha256.Sum256(append([]byte("feedtree/key/1"), key[:]...)); f != want {
		t.Errorf("%v, want %x", f, want)
	}
	for _, s := range []string{f.String(), strings.ToUpper(f.String())} {
		if got, err := ParseFingerprint(s); err != nil || got != f {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "sha-256:", f.String()[8:], f.String() + "0", f.String() + "00", f.String()[:71] + "g", "sha-512:" + f.String()[8:], " " + f.String()} {
		if got, err := ParseFingerprint(s); err == nil || got != (Fingerprint{}) {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		Event: "event", Heartbeat: "heartbeat", Kind(0): "kind(0)", Kind(3): "kind(3)",
		Publisher: "publisher", Volunteer: "volunteer", Role(9): "role(9)",
		None: "none", RSS: "application/rss+xml", Atom: "application/atom+xml", JSON: "application/feed+json", Witness: "testimony", Keys: "certificate", Media(9): "media(9)",
		Plain: "identity", Gzip: "gzip", Zstd: "zstd", Coding(255): "coding(255)",
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
