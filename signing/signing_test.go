package signing

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"
)

// The secret keys of RFC 8032 §7.1, TEST 1 to 3.
var rfcSeeds = []string{
	"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testIdentity(t testing.TB, n int) *Identity {
	t.Helper()
	id, err := FromSeed(unhex(t, rfcSeeds[n]))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testHeader() Header {
	h := Header{
		Role: Publisher, Media: RSS, Coding: Gzip, KeyState: 3, TTL: 15 * time.Minute, Time: noon,
		Group: groupOf("https://example.org/feed.xml"),
	}
	Line{Epoch: 7, Seq: 41, Head: [32]byte{1, 2, 3}}.Event(&h)
	return h
}

func seal(t testing.TB, id *Identity, h Header, payload string) []byte {
	t.Helper()
	wire, err := id.Seal(h, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func open(t testing.TB, wire []byte) *Envelope {
	t.Helper()
	e, err := Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// resign signs a wire that was tampered with, as a hostile source would.
func resign(id *Identity, wire []byte) []byte {
	wire = bytes.Clone(wire)
	copy(wire[72:], id.public[:])
	sig := id.sign(append([]byte(envelopeDomain), wire[:HeaderSize]...))
	copy(wire[HeaderSize:], sig[:])
	return wire
}
