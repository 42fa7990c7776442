package signing

import (
	"bytes"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/feedtree/feedtree/internal/fuzz"
)

func sealed(t testing.TB, id *Identity, passphrase string) []byte {
	t.Helper()
	b, err := id.seal([]byte(passphrase), bytes.NewReader(bytes.Repeat([]byte{0x5a}, 16)))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes
}

func sealedPEM(b []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: sealedBlock, Bytes: b})
}

func TestSealedKeyDocumentedLayout(t *testing.T) {
	id := testIdentity(t, 0)
	want := []byte{1, 1, 1, 4, 0, 0, 0, 3, 0, 1, 0, 0}
	want = append(want, bytes.Repeat([]byte{0x5a}, 16)...)
	want = append(want, id.public[:]...)
	key := argon2.IDKey([]byte("correct horse"), want[12:28], 3, 64<<10, 4, 32)
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, aead.Seal(nil, make([]byte, 12), unhex(t, rfcSeeds[0]), want)...)
	if got := sealed(t, id, "correct horse"); !bytes.Equal(got, want) {
		t.Errorf("\n got %x\nwant %x", got, want)
	}
}

func TestSealedKey(t *testing.T) {
	id := testIdentity(t, 0)
	file, err := id.MarshalPEM("", []byte("päss phrase"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file, []byte("OPENSSH")) || !bytes.Contains(file, []byte("-----BEGIN FEEDTREE ENCRYPTED KEY-----")) {
		t.Fatalf("%s", file)
	}
	got, err := ParseIdentity(file, secret("päss phrase"))
	if err != nil || got.Public() != id.Public() {
		t.Errorf("%v, %v", got, err)
	}
	if public, ok := SealedPublic(file); !ok || public != id.Public() {
		t.Errorf("without the passphrase: %v, %v", public, ok)
	}
	if _, ok := SealedPublic(keyFile(t, "ed25519")); ok {
		t.Error("a key in the open is said to be encrypted")
	}
	for name, ask := range map[string]func() ([]byte, error){
		"wrong": secret("pass phrase"), "empty": secret(""), "nobody to ask": nil,
		"failing": func() ([]byte, error) { return nil, errors.New("terminal closed") },
	} {
		if got, err := ParseIdentity(file, ask); got != nil || !errors.Is(err, ErrPassphrase) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := id.MarshalPEM("", []byte("päss phrase"))
	if err != nil || bytes.Equal(again, file) {
		t.Errorf("sealed twice with one salt (%v)", err)
	}
}

// What a file asks for is done only within what honest files ask for.
func TestSealedKeyIsBoundedBeforeItIsTried(t *testing.T) {
	good := sealed(t, testIdentity(t, 0), "x")
	with := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	memory := func(kib uint32) []byte { return with(func(b []byte) { binary.BigEndian.PutUint32(b[8:], kib) }) }
	passes := func(n uint32) []byte { return with(func(b []byte) { binary.BigEndian.PutUint32(b[4:], n) }) }
	for name, c := range map[string]struct {
		block []byte
		says  string
	}{
		"4 TiB":              {memory(1<<32 - 1), "exhaust this machine"},
		"257 MiB":            {memory(257 << 10), "exhaust this machine"},
		"no memory":          {memory(0), "exhaust this machine"},
		"too little":         {memory(31), "exhaust this machine"},
		"no pass":            {passes(0), "exhaust this machine"},
		"a year of passes":   {passes(1<<32 - 1), "exhaust this machine"},
		"much of both":       {with(func(b []byte) { binary.BigEndian.PutUint32(b[4:], 16); binary.BigEndian.PutUint32(b[8:], 256<<10) }), "exhaust this machine"},
		"no lane":            {with(func(b []byte) { b[3] = 0 }), "exhaust this machine"},
		"255 lanes":          {with(func(b []byte) { b[3] = 255 }), "exhaust this machine"},
		"version 2":          {with(func(b []byte) { b[0] = 2 }), "a later version"},
		"another cipher":     {with(func(b []byte) { b[2] = 2 }), "a later version"},
		"another kind":       {with(func(b []byte) { b[1] = 2 }), "Ed25519 only"},
		"cut short":          {good[:107], "truncated"},
		"longer":             {append(bytes.Clone(good), 0), "truncated"},
		"nothing":            {nil, "truncated"},
		"another public key": {with(func(b []byte) { b[28]++ }), "wrong passphrase"},
		"less work":          {memory(64), "wrong passphrase"},
	} {
		began := time.Now()
		ask := secret("x")
		if !strings.HasPrefix(c.says, "wrong") {
			ask = unasked(t)
		}
		if got, err := ParseIdentity(sealedPEM(c.block), ask); got != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func FuzzSealedKey(f *testing.F) {
	f.Add(sealed(f, testIdentity(f, 0), "x"))
	fuzz.Hold(f, func(t *testing.T, b []byte) {
		block := &pem.Block{Type: sealedBlock, Bytes: b}
		if err := checkSealed(block); err != nil {
			return
		}
		passes, memory := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		if memory > 256<<10 || passes > 16 || b[3] == 0 {
			t.Fatalf("%d passes over %d KiB in %d lanes would be tried", passes, memory, b[3])
		}
		if id, err := unseal(block, nil); id != nil || !errors.Is(err, ErrPassphrase) {
			t.Fatalf("%v, %v", id, err)
		}
	})
}
