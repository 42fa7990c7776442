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
	About               []string            `json:"about"`
	Keys                []keyVector         `json:"keys"`
	Envelopes           []envelopeVector    `json:"envelopes"`
	Refused             []refusedVector     `json:"refused_envelopes"`
	Certificates        []certificateVector `json:"certificates"`
	RefusedCertificates []refusedVector     `json:"refused_certificates"`
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

type certificateVector struct {
	URL         string `json:"url"`
	Group       string `json:"group"`
	Key         string `json:"key"`
	Fingerprint string `json:"fingerprint"`
	NotBefore   int64  `json:"not_before_s"`
	NotAfter    int64  `json:"not_after_s"`
	Wire        string `json:"wire"`
	PEM         string `json:"pem"`
}

var aboutVectors = []string{
	"Test vectors of the feedtree envelope, version 1. All bytes are lower-case hexadecimal, all integers on the wire big endian.",
	"keys: the seed is the RFC 8032 private key; fingerprint = 'sha-256:' and hex of SHA-256('feedtree/key/1' followed by the 32 public bytes).",
	"envelopes: wire = header (172 bytes), signature (64), payload. The header is, in this order: version 1 (1 byte), algorithm 1 (1), kind (1), role (1), media (1), coding (1), zero (2), key_state (4), ttl_s (4), epoch (8), seq (8), time_ms (8), group (32), key (32), prev (32), payload_sha256 (32), length of payload (4).",
	"The signature is Ed25519 without context or prehash over 'feedtree/envelope/1', one byte 0a, and the header. hash = SHA-256 of those same bytes. Signing is deterministic, so seed and fields give the wire back byte by byte.",
	"The prev of an event is the hash of the event before it. A heartbeat has the seq of the newest event and its hash as prev; it has no payload. The event of seq 1 and heartbeats of seq 0, which nothing precedes in their epoch, name as prev the last event that the source knows of an earlier epoch, or 32 zero bytes.",
	"refused_envelopes: a verifier must refuse every wire; reason is what this implementation says.",
	"certificates: wire = version 1 (1 byte), algorithm 1 (1), length of url (2), not_before_s (8), not_after_s (8), key (32), url, signature (64). The signature is Ed25519 over 'feedtree/certificate/1', one byte 0a, and all before it. pem = wire in base64. group = SHA-256('feedtree/group/1' followed by the url).",
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

	c := certify(t, id)
	b := certificateBytes(t, c)
	v.Certificates = append(v.Certificates, certificateVector{
		c.URL, hex.EncodeToString(c.Group[:]), c.Key.String(), c.Fingerprint().String(),
		c.NotBefore.Unix(), c.NotAfter.Unix(), hex.EncodeToString(b), string(c.MarshalPEM()),
	})
	altered := bytes.Clone(b)
	altered[offURL+8] ^= 1
	v.RefusedCertificates = []refusedVector{
		{"URL altered", ReasonSignature, hex.EncodeToString(altered)},
		{"cut short", ReasonTruncated, hex.EncodeToString(b[:len(b)-1])},
		{"one byte more", ReasonTrailing, hex.EncodeToString(b) + "00"},
	}
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
	if len(v.Keys) == 0 || len(v.Envelopes) == 0 || len(v.Refused) == 0 || len(v.Certificates) == 0 || len(v.RefusedCertificates) == 0 {
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

func TestVectorsCertificates(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Certificates {
		got, err := ParseCertificate([]byte(c.PEM))
		if err != nil {
			t.Fatal(err)
		}
		if got.URL != c.URL || hex.EncodeToString(got.Group[:]) != c.Group || got.Key.String() != c.Key ||
			got.Fingerprint().String() != c.Fingerprint || got.NotBefore.Unix() != c.NotBefore || got.NotAfter.Unix() != c.NotAfter {
			t.Errorf("%+v, want %+v", got, c)
		}
		if string(got.MarshalPEM()) != c.PEM || hex.EncodeToString(certificateBytes(t, got)) != c.Wire {
			t.Errorf("marshalled anew: %s", got.MarshalPEM())
		}
	}
	for _, c := range v.RefusedCertificates {
		if _, err := ParseCertificate(certificatePEM(unhex(t, c.Wire))); ReasonOf(err) != c.Reason {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Reason)
		}
	}
}
