package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
)

func TestSealOpen(t *testing.T) {
	id := testIdentity(t, 0)
	event := testHeader()
	beat := Header{Role: Volunteer, Time: noon.Add(123 * time.Millisecond)}
	Line{Epoch: 1 << 40}.Heartbeat(&beat)
	for name, c := range map[string]struct {
		h       Header
		payload string
	}{
		"event":                     {event, "<rss/>"},
		"heartbeat of a fresh line": {beat, ""},
		"largest payload":           {event, strings.Repeat("x", MaxPayload)},
	} {
		t.Run(name, func(t *testing.T) {
			wire := seal(t, id, c.h, c.payload)
			e := open(t, wire)
			want := c.h
			want.Key = id.Public()
			if e.Header != want {
				t.Errorf("header\n got %+v\nwant %+v", e.Header, want)
			}
			if string(e.Payload) != c.payload || e.Sum != sha256.Sum256([]byte(c.payload)) {
				t.Error("payload or its hash changed on the way")
			}
			if !bytes.Equal(e.Wire(), wire) || len(wire) != Overhead+len(c.payload) || len(wire) > MaxWire {
				t.Errorf("wire of %d bytes, kept %d", len(wire), len(e.Wire()))
			}
		})
	}
}

// The comment above the encoder, checked byte by byte with nothing of the
// package but the wire, and the signature with crypto/ed25519 directly.
func TestDocumentedLayout(t *testing.T) {
	id := testIdentity(t, 1)
	h := testHeader()
	payload := "payload"
	wire := seal(t, id, h, payload)

	want := []byte{1, 1, 1, 1, 1, 1, 0, 0}
	want = binary.BigEndian.AppendUint32(want, 3)
	want = binary.BigEndian.AppendUint32(want, 900)
	want = binary.BigEndian.AppendUint64(want, 7)
	want = binary.BigEndian.AppendUint64(want, 42)
	want = binary.BigEndian.AppendUint64(want, uint64(noon.UnixMilli()))
	group := sha256.Sum256([]byte("feedtree/group/1https://example.org/feed.xml"))
	want = append(want, group[:]...)
	public := unhex(t, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c") // RFC 8032, TEST 2
	want = append(want, public...)
	want = append(want, append([]byte{1, 2, 3}, make([]byte, 29)...)...)
	sum := sha256.Sum256([]byte(payload))
	want = append(want, sum[:]...)
	want = binary.BigEndian.AppendUint32(want, uint32(len(payload)))
	if len(want) != 172 || !bytes.Equal(wire[:172], want) {
		t.Fatalf("header\n got %x\nwant %x", wire[:172], want)
	}
	message := append([]byte("feedtree/envelope/1\n"), want...)
	if !ed25519.Verify(public, message, wire[172:236]) {
		t.Error("the signature is not plain Ed25519 over prefix and header")
	}
	if string(wire[236:]) != payload {
		t.Errorf("payload %q", wire[236:])
	}
	if open(t, wire).Hash() != sha256.Sum256(message) {
		t.Error("the hash is not SHA-256 over what is signed")
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	wire := seal(t, testIdentity(t, 0), testHeader(), "<rss/>")
	for i := range wire {
		for bit := range 8 {
			if i >= HeaderSize && bit != i%8 { // one bit a byte is enough where nothing is parsed
				continue
			}
			altered := bytes.Clone(wire)
			altered[i] ^= 1 << bit
			e, err := Open(altered)
			if err == nil || e != nil {
				t.Fatalf("byte %d bit %d flipped: opened", i, bit)
			}
			if ReasonOf(err) == "" {
				t.Fatalf("byte %d bit %d flipped: %v has no reason", i, bit, err)
			}
		}
	}
}

func TestEveryLengthIsRefused(t *testing.T) {
	wire := seal(t, testIdentity(t, 0), testHeader(), "<rss/>")
	for n := range wire {
		if _, err := Open(wire[:n]); ReasonOf(err) != ReasonTruncated {
			t.Fatalf("%d of %d bytes: %v", n, len(wire), err)
		}
	}
	if _, err := Open(append(bytes.Clone(wire), 0)); ReasonOf(err) != ReasonTrailing {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := Open(make([]byte, MaxWire+1)); ReasonOf(err) != ReasonTooLarge {
		t.Errorf("over the limit: %v", err)
	}
}

// What a hostile source can sign with its own key. Each case must be refused
// for its own reason although the signature is right.
var signedLies = map[string]struct {
	reason Reason
	lie    func(w []byte)
}{
	"version 2":              {ReasonUnsupported, func(w []byte) { w[0] = 2 }},
	"version 0":              {ReasonUnsupported, func(w []byte) { w[0] = 0 }},
	"algorithm 2":            {ReasonUnsupported, func(w []byte) { w[1] = 2 }},
	"kind 0":                 {ReasonUnsupported, func(w []byte) { w[2] = 0 }},
	"kind key state":         {ReasonUnsupported, func(w []byte) { w[2] = 3 }},
	"kind contradiction":     {ReasonUnsupported, func(w []byte) { w[2] = 5 }},
	"reserved bit":           {ReasonUnsupported, func(w []byte) { w[7] = 1 }},
	"role 0":                 {ReasonMalformed, func(w []byte) { w[3] = 0 }},
	"role 3":                 {ReasonMalformed, func(w []byte) { w[3] = 3 }},
	"event without media":    {ReasonMalformed, func(w []byte) { w[4] = 0 }},
	"heartbeat with payload": {ReasonMalformed, func(w []byte) { w[2], w[4], w[5] = 2, 0, 0 }},
	"TTL of 136 years":       {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint32(w[12:], math.MaxUint32) }},
	"epoch 0":                {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[16:], 0) }},
	"epoch at the end":       {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[16:], math.MaxUint64) }},
	"event 0":                {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[24:], 0) }},
	"seq at the end":         {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[24:], math.MaxUint64) }},
	"seq past the limit":     {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[24:], MaxNumber+1) }},
	"time 0":                 {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[32:], 0) }},
	"time at the end":        {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[32:], math.MaxUint64) }},
	"time negative":          {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[32:], 1<<63) }},
	"year 10000":             {ReasonMalformed, func(w []byte) { binary.BigEndian.PutUint64(w[32:], 253402300800000) }},
	"event 42 after nothing": {ReasonMalformed, func(w []byte) { clear(w[104:136]) }},
	"hash of other payload":  {ReasonPayload, func(w []byte) { w[136] ^= 1 }},
	"length one more":        {ReasonTruncated, func(w []byte) { w[171]++ }},
	"length one less":        {ReasonTrailing, func(w []byte) { w[171]-- }},
	"length 4 GiB":           {ReasonTooLarge, func(w []byte) { binary.BigEndian.PutUint32(w[168:], math.MaxUint32) }},
	"length over the limit":  {ReasonTooLarge, func(w []byte) { binary.BigEndian.PutUint32(w[168:], MaxPayload+1) }},
}

func TestSignedLiesAreRefused(t *testing.T) {
	id := testIdentity(t, 0)
	wire := seal(t, id, testHeader(), "<rss/>")
	for name, c := range signedLies {
		t.Run(name, func(t *testing.T) {
			lie := bytes.Clone(wire)
			c.lie(lie)
			_, err := Open(resign(id, lie))
			if got := ReasonOf(err); got != c.reason {
				t.Errorf("reason %q, want %q: %v", got, c.reason, err)
			}
		})
	}
}

func TestHeartbeatCarriesNothing(t *testing.T) {
	id := testIdentity(t, 0)
	h := Header{Role: Publisher, Time: noon}
	Line{Epoch: 1}.Heartbeat(&h)
	wire := seal(t, id, h, "")
	for name, field := range map[string]int{"media": 4, "coding": 5} {
		lie := bytes.Clone(wire)
		lie[field] = 1
		if _, err := Open(resign(id, lie)); ReasonOf(err) != ReasonMalformed {
			t.Errorf("heartbeat with %s: %v", name, err)
		}
	}
}

func TestUnknownMediaAndCodingPass(t *testing.T) {
	id := testIdentity(t, 0)
	wire := seal(t, id, testHeader(), "<rss/>")
	wire[4], wire[5] = 200, 201
	e := open(t, resign(id, wire))
	if e.Media.String() != "media(200)" || e.Coding.String() != "coding(201)" {
		t.Errorf("media %v, coding %v", e.Media, e.Coding)
	}
	if _, err := id.Seal(e.Header, e.Payload); ReasonOf(err) != ReasonUnsupported {
		t.Errorf("sealed what this version does not know: %v", err)
	}
}

func TestSignatures(t *testing.T) {
	alice, bob := testIdentity(t, 0), testIdentity(t, 1)
	wire := seal(t, alice, testHeader(), "<rss/>")
	sign := func(id *Identity, message []byte) []byte {
		w := bytes.Clone(wire)
		sig := id.sign(message)
		copy(w[HeaderSize:], sig[:])
		return w
	}
	header := wire[:HeaderSize:HeaderSize]
	payloadSwapped := bytes.Clone(wire)
	payloadSwapped[Overhead] ^= 1
	other := seal(t, alice, Header{Role: Volunteer, Kind: Heartbeat, Epoch: 1, Time: noon}, "")
	spliced := bytes.Clone(wire)
	copy(spliced[HeaderSize:Overhead], other[HeaderSize:])
	// s + L is the same number modulo the group's order: a second form of the
	// same signature, which RFC 8032 §5.1.7 has a verifier refuse.
	malleable := bytes.Clone(wire)
	order := unhex(t, "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	carry := 0
	for i := range order {
		carry += int(malleable[HeaderSize+32+i]) + int(order[i])
		malleable[HeaderSize+32+i], carry = byte(carry), carry>>8
	}
	for name, c := range map[string]struct {
		wire   []byte
		reason Reason
	}{
		"no domain prefix":      {sign(alice, header), ReasonSignature},
		"prefix of a key state": {sign(alice, append([]byte(keyStateDomain), header...)), ReasonSignature},
		"somebody else's":       {sign(bob, append([]byte(envelopeDomain), header...)), ReasonSignature},
		"of another envelope":   {spliced, ReasonSignature},
		"s not reduced":         {malleable, ReasonSignature},
		"payload swapped":       {payloadSwapped, ReasonPayload},
	} {
		if _, err := Open(c.wire); ReasonOf(err) != c.reason {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Anybody can sign for a key of small order: with the identity as key and
// commitment and zero as response, the equation holds for every message.
func TestWeakKeys(t *testing.T) {
	wire := seal(t, testIdentity(t, 0), testHeader(), "<rss/>")
	identity := [32]byte{0: 1}
	copy(wire[72:], identity[:])
	copy(wire[HeaderSize:], identity[:])
	clear(wire[HeaderSize+32 : Overhead])
	if !ed25519.Verify(wire[72:104], append([]byte(envelopeDomain), wire[:HeaderSize]...), wire[HeaderSize:Overhead]) {
		t.Fatal("crypto/ed25519 refuses this forgery by itself: the list of weak keys can go")
	}
	for i := range weakKeys {
		for _, sign := range []byte{0, 0x80} {
			copy(wire[72:], weakKeys[i][:])
			wire[103] |= sign
			if _, err := Open(wire); ReasonOf(err) != ReasonWeakKey {
				t.Errorf("key %x: %v", wire[72:104], err)
			}
		}
	}
}

func TestSealRefusesMisuse(t *testing.T) {
	id := testIdentity(t, 0)
	for name, c := range map[string]struct {
		change  func(h *Header)
		payload string
		want    string
	}{
		"zero header":        {func(h *Header) { *h = Header{} }, "x", "kind(0)"},
		"no role":            {func(h *Header) { h.Role = 0 }, "x", "role(0) is neither publisher nor volunteer"},
		"no time":            {func(h *Header) { h.Time = time.Time{} }, "x", "time"},
		"half seconds":       {func(h *Header) { h.TTL = 1500 * time.Millisecond }, "x", "TTL 1.5s, want whole seconds"},
		"negative TTL":       {func(h *Header) { h.TTL = -time.Second }, "x", "TTL -1s"},
		"endless TTL":        {func(h *Header) { h.TTL = MaxTTL + time.Second }, "x", "TTL"},
		"line never begun":   {func(h *Header) { Line{}.Event(h) }, "x", "begins with Bump"},
		"event without news": {func(*Header) {}, "", "event without payload"},
		"payload too large":  {func(*Header) {}, strings.Repeat("x", MaxPayload+1), "payload of 1048577 bytes, the most is 1048576"},
		"reserved kind":      {func(h *Header) { h.Kind = 4 }, "x", "kind(4)"},
	} {
		h := testHeader()
		c.change(&h)
		wire, err := id.Seal(h, []byte(c.payload))
		if err == nil || wire != nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sealing: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorCanBeCounted(t *testing.T) {
	_, err := Open(nil)
	var e *Error
	if !errors.As(err, &e) || e.Reason != ReasonTruncated || e.What != "envelope" {
		t.Errorf("%#v", err)
	}
	if want := "envelope refused: truncated: 0 bytes, the least is 236"; err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if ReasonOf(nil) != "" || ReasonOf(errors.New("x")) != "" {
		t.Error("a reason for what is none of ours")
	}
}

func TestOpenAllocatesLittle(t *testing.T) {
	wire := seal(t, testIdentity(t, 0), testHeader(), strings.Repeat("x", 4096))
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := Open(wire); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 1 {
		t.Errorf("Open allocates %.0f times, want the envelope alone", allocs)
	}
}

func FuzzOpen(f *testing.F) {
	id := testIdentity(f, 0)
	beat := Header{Role: Volunteer, Time: noon}
	Line{Epoch: 1, Seq: 1, Head: [32]byte{9}}.Heartbeat(&beat)
	wire := seal(f, id, testHeader(), "<rss/>")
	f.Add(wire)
	f.Add(seal(f, id, beat, ""))
	for _, c := range signedLies {
		lie := bytes.Clone(wire)
		c.lie(lie)
		f.Add(resign(id, lie))
	}
	f.Add(wire[:HeaderSize])
	fuzz.Hold(f, func(t *testing.T, wire []byte) {
		before := bytes.Clone(wire)
		e, err := parse(wire)
		if err != nil {
			if ReasonOf(err) == "" || e != nil {
				t.Fatalf("refused without a reason: %v", err)
			}
			if _, err := Open(wire); err == nil {
				t.Fatal("opened what does not parse")
			}
			return
		}
		var b signed
		e.encode(&b, &e.Sum, len(e.Payload))
		again := append(append(b[len(envelopeDomain):], e.Signature[:]...), e.Payload...)
		if !bytes.Equal(again, before) {
			t.Fatalf("parse then marshal\n got %x\nwant %x", again, before)
		}
		// Whatever parses can be signed by its author, and then opens the same.
		signedAgain := resign(id, wire)
		sum := sha256.Sum256(e.Payload)
		copy(signedAgain[offSum:], sum[:])
		signedAgain = resign(id, signedAgain)
		opened := open(t, signedAgain)
		want := e.Header
		want.Key = id.public
		if !reflect.DeepEqual(opened.Header, want) || !bytes.Equal(opened.Payload, e.Payload) {
			t.Fatalf("opened %+v, want %+v", opened.Header, want)
		}
		if want.Media <= Witness && want.Coding <= Zstd && !bytes.Equal(seal(t, id, want, string(e.Payload)), signedAgain) {
			t.Fatal("sealing the opened header gives other bytes")
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	id, h, payload := testIdentity(b, 0), testHeader(), bytes.Repeat([]byte("x"), 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := id.Seal(h, payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for name, size := range map[string]int{"4KiB": 4 << 10, "1MiB": MaxPayload} {
		b.Run(name, func(b *testing.B) {
			wire := seal(b, testIdentity(b, 0), testHeader(), strings.Repeat("x", size))
			b.ReportAllocs()
			b.SetBytes(int64(len(wire)))
			for b.Loop() {
				if _, err := Open(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a flood costs: an envelope that is refused only at its signature.
func BenchmarkOpenForged(b *testing.B) {
	wire := seal(b, testIdentity(b, 0), testHeader(), "<rss/>")
	wire[HeaderSize] ^= 1
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(wire); err == nil {
			b.Fatal("opened")
		}
	}
}
