package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/vectors.json anew; what changes in it is a change of the protocol")

const vectorsFile = "testdata/vectors.json"

// vectors is the file for implementers in other languages. "about" in it is its
// description; it needs SHA-256, Ed25519, base64 and nothing of Go.
type vectors struct {
	About            []string         `json:"about"`
	Keys             []keyVector      `json:"keys"`
	Envelopes        []envelopeVector `json:"envelopes"`
	Refused          []refusedVector  `json:"refused_envelopes"`
	KeyStates        []keyStateVector `json:"key_states"`
	RefusedKeyStates []refusedVector  `json:"refused_key_states"`
	Steps            []stepVector     `json:"key_state_steps"`
	Certificate      string           `json:"certificate_pem"`
	EncryptedKeys    []sealedVector   `json:"encrypted_keys"`
}

type keyVector struct {
	Seed        string `json:"seed"`
	Public      string `json:"public"`
	Fingerprint string `json:"fingerprint"`
}

type envelopeVector struct {
	Name     string `json:"name"`
	Kind     uint8  `json:"kind"`
	Role     uint8  `json:"role"`
	Media    uint8  `json:"media"`
	Coding   uint8  `json:"coding"`
	KeyState uint32 `json:"key_state"`
	TTL      uint32 `json:"ttl_s"`
	Epoch    uint64 `json:"epoch"`
	Seq      uint64 `json:"seq"`
	Time     int64  `json:"time_ms"`
	Group    string `json:"group"`
	Key      string `json:"key"`
	Prev     string `json:"prev"`
	Payload  string `json:"payload"`
	Sum      string `json:"payload_sha256"`
	Hash     string `json:"hash"`
	Wire     string `json:"wire"`
}

type refusedVector struct {
	Name   string `json:"name"`
	Reason Reason `json:"reason"`
	Wire   string `json:"wire"`
}

var aboutVectors = []string{
	"Test vectors of the feedtree envelope, version 1. All bytes are lower-case hexadecimal, all integers on the wire big endian.",
	"keys: the seed is the RFC 8032 private key; fingerprint = 'sha-256:' and hex of SHA-256('feedtree/key/1' followed by the 32 public bytes).",
	"envelopes: wire = header (172 bytes), signature (64), payload. The header is, in this order: version 1 (1 byte), algorithm 1 (1), kind (1), role (1), media (1), coding (1), zero (2), key_state (4), ttl_s (4), epoch (8), seq (8), time_ms (8), group (32), key (32), prev (32), payload_sha256 (32), length of payload (4).",
	"The signature is Ed25519 without context or prehash over 'feedtree/envelope/1', one byte 0a, and the header. hash = SHA-256 of those same bytes. Signing is deterministic, so seed and fields give the wire back byte by byte.",
	"The prev of an event is the hash of the event before it. A heartbeat has the seq of the newest event and its hash as prev; it has no payload. The event of seq 1 and heartbeats of seq 0, which nothing precedes in their epoch, name as prev the last event that the source knows of an earlier epoch, or 32 zero bytes.",
	"refused_envelopes: a verifier must refuse every wire; reason is what this implementation says.",
	"key_states: wire = version 1 of the layout (1 byte), algorithm 1 (1), length of url (2), version (4), issued_s (8), threshold (1), number of roots (1), of signing (1), of revoked (1), url, roots (32 each), signing (key 32, until_s 8), revoked (key 32, epoch 8, seq 8), number of signatures (1), signatures (key 32, signature 64). Each signature is Ed25519 over 'feedtree/keystate/1', one byte 0a, and all before the number of signatures. Each list is ascending by key, no key is twice in a list or in two of roots, signing and revoked; until_s is after issued_s by at most 7776000. All signatures must be right, and at least threshold of them by roots.",
	"fingerprint of roots: if there is one, that of the key; else 'sha-256:' and hex of SHA-256('feedtree/roots/1', threshold (1 byte), number of roots (1), the roots). group = SHA-256('feedtree/group/1' followed by the url).",
	"key_state_steps: whether who believes the key state named before may believe the one named after: the same url, a version higher by 1 to 1024, and signed by at least threshold of the roots of the one before. reason is empty if so.",
	"certificate_pem: key states as PEM blocks 'FEEDTREE KEY STATE', each a step from the one before.",
	"encrypted_keys: PEM block 'FEEDTREE ENCRYPTED KEY': version 1 (1 byte), algorithm 1 (1), method 1 (1), lanes (1), passes (4), memory in KiB (4), salt (16), public key (32), the 32 bytes of seed sealed with ChaCha20-Poly1305 (48). Sealing key = argon2id(passphrase, salt, passes, memory, lanes), 32 bytes; nonce = 12 zero bytes; additional data = the 60 bytes before.",
}

func makeVectors(t *testing.T) vectors {
	v := vectors{About: aboutVectors}
	for i := range rfcSeeds {
		key := testIdentity(t, i).Public()
		v.Keys = append(v.Keys, keyVector{rfcSeeds[i], key.String(), key.Fingerprint().String()})
	}
	v.Envelopes = makeLine(t)

	id := testIdentity(t, 0)
	wire := seal(t, id, testHeader(), "<rss/>")
	for _, name := range slices.Sorted(maps.Keys(signedLies)) {
		lie := bytes.Clone(wire)
		signedLies[name].lie(lie)
		v.Refused = append(v.Refused, refusedVector{name, signedLies[name].reason, hex.EncodeToString(resign(id, lie))})
	}
	flip := func(name string, reason Reason, at int) {
		b := bytes.Clone(wire)
		b[at] ^= 1
		v.Refused = append(v.Refused, refusedVector{name, reason, hex.EncodeToString(b)})
	}
	flip("group altered in flight", ReasonSignature, 40)
	flip("signature altered in flight", ReasonSignature, HeaderSize)
	flip("payload altered in flight", ReasonPayload, Overhead)
	v.Refused = append(v.Refused,
		refusedVector{"cut short", ReasonTruncated, hex.EncodeToString(wire[:len(wire)-1])},
		refusedVector{"one byte more", ReasonTrailing, hex.EncodeToString(wire) + "00"})

	addKeyStates(t, &v)
	return v
}

// makeLine is a short life of a source: a heartbeat, two events, a heartbeat,
// the disk lost, and the first event after.
func makeLine(t *testing.T) []envelopeVector {
	id := testIdentity(t, 0)
	l := Line{Epoch: 1}
	var all []envelopeVector
	say := func(name string, h Header, beat bool, payload string) {
		h.Group, h.Time = groupOf(feedURL), noon.Add(time.Duration(len(all))*time.Minute)
		if beat {
			l.Heartbeat(&h)
		} else {
			l.Event(&h)
		}
		e := open(t, seal(t, id, h, payload))
		next, err := l.Advance(e)
		if err != nil {
			t.Fatal(err)
		}
		l = next
		hash := e.Hash()
		all = append(all, envelopeVector{
			name, uint8(e.Kind), uint8(e.Role), uint8(e.Media), uint8(e.Coding), e.KeyState, uint32(e.TTL / time.Second),
			e.Epoch, e.Seq, e.Time.UnixMilli(), hex.EncodeToString(e.Group[:]), e.Key.String(), hex.EncodeToString(e.Prev[:]),
			hex.EncodeToString(e.Payload), hex.EncodeToString(e.Sum[:]), hex.EncodeToString(hash[:]), hex.EncodeToString(e.Wire()),
		})
	}
	publisher := Header{Role: Publisher, TTL: 15 * time.Minute, KeyState: 2, Media: RSS}
	say("heartbeat before any event", publisher, true, "")
	say("first event", publisher, false, "<rss version=\"2.0\"><channel/></rss>")
	say("second event", Header{Role: Volunteer, Media: JSON, Coding: Zstd}, false, "\x28\xb5\x2f\xfd\x00 not really")
	say("heartbeat", publisher, true, "")
	l = l.Bump(time.Time{})
	say("first event of the next epoch", publisher, false, "x")
	return all
}

func marshalVectors(t *testing.T, v vectors) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestVectorsAreTheProtocol(t *testing.T) {
	want := marshalVectors(t, makeVectors(t))
	if *rewrite {
		if err := os.WriteFile(vectorsFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what this code makes: either the code broke the protocol, or the protocol changed and the file wants -rewrite", vectorsFile)
	}
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	b, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Keys) == 0 || len(v.Envelopes) == 0 || len(v.Refused) == 0 || len(v.KeyStates) == 0 || len(v.RefusedKeyStates) == 0 || len(v.Steps) == 0 || len(v.EncryptedKeys) == 0 {
		t.Fatal("the file is incomplete")
	}
	return v
}

func TestVectorsOpen(t *testing.T) {
	v := readVectors(t)
	seeds := map[string]string{}
	for _, k := range v.Keys {
		id, err := FromSeed(unhex(t, k.Seed))
		if err != nil || id.Public().String() != k.Public || id.Public().Fingerprint().String() != k.Fingerprint {
			t.Errorf("key %s: %v, %v", k.Seed, id, err)
		}
		seeds[k.Public] = k.Seed
	}
	for _, c := range v.Envelopes {
		wire, key := unhex(t, c.Wire), unhex(t, c.Key)
		e := open(t, wire)
		want := Header{
			Kind: Kind(c.Kind), Role: Role(c.Role), Media: Media(c.Media), Coding: Coding(c.Coding),
			KeyState: c.KeyState, TTL: time.Duration(c.TTL) * time.Second, Epoch: c.Epoch, Seq: c.Seq,
			Time: time.UnixMilli(c.Time).UTC(), Group: [32]byte(unhex(t, c.Group)), Key: PublicKey(key), Prev: [32]byte(unhex(t, c.Prev)),
		}
		if e.Header != want {
			t.Errorf("%s\n got %+v\nwant %+v", c.Name, e.Header, want)
		}
		hash := e.Hash()
		if hex.EncodeToString(e.Payload) != c.Payload || hex.EncodeToString(e.Sum[:]) != c.Sum || hex.EncodeToString(hash[:]) != c.Hash {
			t.Errorf("%s: payload, its sum or the hash differ", c.Name)
		}
		message := append([]byte("feedtree/envelope/1\n"), wire[:172]...)
		if !ed25519.Verify(key, message, wire[172:236]) || sha256.Sum256(message) != hash {
			t.Errorf("%s: not what the documentation says is signed and hashed", c.Name)
		}
		id, err := FromSeed(unhex(t, seeds[c.Key]))
		if err != nil {
			t.Fatal(err)
		}
		if got := seal(t, id, want, string(e.Payload)); !bytes.Equal(got, wire) {
			t.Errorf("%s: sealed\n got %x\nwant %x", c.Name, got, wire)
		}
	}
	for _, c := range v.Refused {
		if _, err := Open(unhex(t, c.Wire)); ReasonOf(err) != c.Reason {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Reason)
		}
	}
}
