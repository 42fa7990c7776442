package signing

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
)

const feedURL = "https://example.org/feed.xml"

// identityOf returns the n-th of any number of identities, always the same.
func identityOf(t testing.TB, n byte) *Identity {
	t.Helper()
	id, err := FromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// testState is version 1 of a feed with one root, the second test key, and one
// signing key, the first.
func testState(t testing.TB) KeyState {
	return KeyState{
		URL: feedURL, Version: 1, Issued: noon,
		Roots:   RootSet{Keys: []PublicKey{testIdentity(t, 1).Public()}, Threshold: 1},
		Signing: []SigningKey{{testIdentity(t, 0).Public(), noon.Add(MaxSigning)}},
	}
}

func signState(t testing.TB, s KeyState, roots ...*Identity) *KeyState {
	t.Helper()
	made, err := SignKeyState(s, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// fullState has several of everything, in no order.
func fullState(t testing.TB) *KeyState {
	s := KeyState{
		URL: feedURL, Version: 7, Issued: noon.Add(time.Millisecond),
		Roots: RootSet{Threshold: 2, Keys: []PublicKey{
			identityOf(t, 3).Public(), identityOf(t, 1).Public(), identityOf(t, 2).Public()}},
		Signing: []SigningKey{
			{identityOf(t, 5).Public(), noon.Add(time.Hour).In(time.FixedZone("", 3600))},
			{identityOf(t, 4).Public(), noon.Add(MaxSigning)}},
		Revoked: []Revocation{{identityOf(t, 7).Public(), 9, 41}, {identityOf(t, 6).Public(), 0, 0}},
	}
	return signState(t, s, identityOf(t, 2), identityOf(t, 1), identityOf(t, 9))
}

func TestKeyState(t *testing.T) {
	s := fullState(t)
	got, err := ParseKeyState(s.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(s) || got.Version != 7 || !got.Issued.Equal(noon) || got.Roots.Threshold != 2 || len(got.Roots.Keys) != 3 ||
		len(got.Signing) != 2 || len(got.Revoked) != 2 || len(got.Signatures) != 3 || got.Group() != groupOf(feedURL) {
		t.Errorf("%+v", got)
	}
	if !got.Until().Equal(noon.Add(MaxSigning)) {
		t.Errorf("until %v", got.Until())
	}
	for _, k := range got.Signing {
		if want := noon.Add(time.Hour); k.Key == identityOf(t, 5).Public() && !k.Until.Equal(want) {
			t.Errorf("key 5 until %v, want %v", k.Until, want)
		}
	}
}

func TestKeyStateDocumentedLayout(t *testing.T) {
	s := fullState(t)
	b := s.Marshal()
	want := []byte{1, 1, 0, byte(len(feedURL)), 0, 0, 0, 7}
	want = binary.BigEndian.AppendUint64(want, uint64(noon.Unix()))
	want = append(want, 2, 3, 2, 2)
	want = append(want, feedURL...)
	ascending := func(ns ...byte) []PublicKey {
		var keys []PublicKey
		for _, n := range ns {
			keys = append(keys, identityOf(t, n).Public())
		}
		slices.SortFunc(keys, func(a, b PublicKey) int { return bytes.Compare(a[:], b[:]) })
		return keys
	}
	for _, k := range ascending(1, 2, 3) {
		want = append(want, k[:]...)
	}
	until := map[PublicKey]time.Duration{identityOf(t, 4).Public(): 90 * 24 * time.Hour, identityOf(t, 5).Public(): time.Hour}
	for _, k := range ascending(4, 5) {
		want = binary.BigEndian.AppendUint64(append(want, k[:]...), uint64(noon.Add(until[k]).Unix()))
	}
	last := map[PublicKey][2]uint64{identityOf(t, 6).Public(): {}, identityOf(t, 7).Public(): {9, 41}}
	for _, k := range ascending(6, 7) {
		want = binary.BigEndian.AppendUint64(append(want, k[:]...), last[k][0])
		want = binary.BigEndian.AppendUint64(want, last[k][1])
	}
	message := append([]byte("feedtree/keystate/1\n"), want...)
	want = append(want, 3)
	if !bytes.Equal(b[:len(want)], want) || len(b) != len(want)+3*96 {
		t.Fatalf("\n got %x\nwant %x and 288 bytes", b, want)
	}
	for i, k := range ascending(1, 2, 9) {
		by := b[len(want)+96*i:]
		if !bytes.Equal(by[:32], k[:]) || !ed25519.Verify(k[:], message, by[32:96]) {
			t.Errorf("signature %d is not plain Ed25519 over prefix and contents", i)
		}
	}
}

func TestKeyStateEveryFlippedBitIsRefused(t *testing.T) {
	b := fullState(t).Marshal()
	for i := range b {
		for bit := range 8 {
			if i > 60 && bit != i%8 {
				continue // of keys and signatures, a bit in each byte
			}
			altered := bytes.Clone(b)
			altered[i] ^= 1 << bit
			if s, err := ParseKeyState(altered); err == nil || s != nil || ReasonOf(err) == "" {
				t.Fatalf("byte %d bit %d flipped: %v", i, bit, err)
			}
		}
	}
	for n := range b {
		if _, err := ParseKeyState(b[:n]); ReasonOf(err) != ReasonTruncated {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// signLie signs whatever a state says, without asking whether it may.
func signLie(s KeyState, roots ...*Identity) []byte {
	s.Signatures = nil
	for _, id := range roots {
		s.Signatures = append(s.Signatures, RootSignature{id.public, id.sign(s.appendSigned(nil))})
	}
	return s.Marshal()
}

func TestKeyStateRefused(t *testing.T) {
	root, other := testIdentity(t, 1), identityOf(t, 8)
	lie := func(change func(*KeyState)) []byte {
		s := testState(t).clone()
		change(s)
		return signLie(*s, root)
	}
	bytesOf := func(change func(b []byte) []byte) []byte { return change(signState(t, testState(t), root).Marshal()) }
	withURL := func(u string) []byte { return lie(func(s *KeyState) { s.URL = u }) }
	for name, c := range map[string]struct {
		wire   []byte
		reason Reason
		says   string
	}{
		"empty":               {nil, ReasonTruncated, "0 bytes"},
		"layout 2":            {bytesOf(func(b []byte) []byte { b[0] = 2; return b }), ReasonUnsupported, "version 2"},
		"RSA":                 {bytesOf(func(b []byte) []byte { b[1] = 9; return b }), ReasonUnsupported, "Ed25519 only"},
		"trailing":            {bytesOf(func(b []byte) []byte { return append(b, 0) }), ReasonTrailing, "1 bytes after"},
		"version 0":           {lie(func(s *KeyState) { s.Version = 0 }), ReasonMalformed, "version 0"},
		"the last version":    {lie(func(s *KeyState) { s.Version = math.MaxUint32 }), ReasonMalformed, "version 4294967295"},
		"URL missing":         {withURL(""), ReasonMalformed, "URL of 0 bytes"},
		"URL too long":        {withURL("https://example.org/" + strings.Repeat("x", 2048)), ReasonTooLarge, "URL of 2068 bytes"},
		"URL of a file":       {withURL("file:///etc/passwd"), ReasonMalformed, "http or https"},
		"URL without host":    {withURL("https:///feed"), ReasonMalformed, "a host"},
		"URL with a user":     {withURL("https://me:secret@example.org/"), ReasonMalformed, "no user"},
		"URL with a fragment": {withURL("https://example.org/#"), ReasonMalformed, "no fragment"},
		"URL with a newline":  {withURL("https://example.org/\nfeed"), ReasonMalformed, "printable ASCII"},
		"issued never":        {bytesOf(func(b []byte) []byte { binary.BigEndian.PutUint64(b[8:], math.MaxUint64); return b }), ReasonMalformed, "issued"},
		"no roots":            {lie(func(s *KeyState) { s.Roots.Keys = nil }), ReasonMalformed, "0 root keys"},
		"nine roots":          {bytesOf(func(b []byte) []byte { b[17] = 9; return b }), ReasonTooLarge, "9 root"},
		"none need sign":      {lie(func(s *KeyState) { s.Roots.Threshold = 0 }), ReasonMalformed, "0 of 1"},
		"two of one":          {lie(func(s *KeyState) { s.Roots.Threshold = 2 }), ReasonMalformed, "2 of 1"},
		"91 days":             {lie(func(s *KeyState) { s.Signing[0].Until = noon.Add(91 * 24 * time.Hour) }), ReasonMalformed, "at most 90 days"},
		"ended at once":       {lie(func(s *KeyState) { s.Signing[0].Until = noon }), ReasonMalformed, "one after"},
		"no end":              {lie(func(s *KeyState) { s.Signing[0].Until = time.Unix(maxUnix+1, 0) }), ReasonMalformed, "at most 90 days"},
		"a root that signs":   {lie(func(s *KeyState) { s.Signing[0].Key = root.public }), ReasonMalformed, "both root and signing"},
		"revoked and signing": {lie(func(s *KeyState) { s.Revoked = []Revocation{{Key: s.Signing[0].Key}} }), ReasonMalformed, "both signing and revoked"},
		"out of order": {lie(func(s *KeyState) {
			s.Signing = append(s.Signing, SigningKey{PublicKey{1: 1}, noon.Add(time.Hour)})
		}), ReasonMalformed, "ascending"},
		"the same twice":      {lie(func(s *KeyState) { s.Signing = append(s.Signing, s.Signing[0]) }), ReasonMalformed, "both signing and signing"},
		"revoked too far":     {lie(func(s *KeyState) { s.Revoked = []Revocation{{other.public, 1, MaxNumber + 1}} }), ReasonMalformed, "revoked after"},
		"a weak root":         {lie(func(s *KeyState) { s.Roots.Keys[0] = weakKeys[1] }), ReasonWeakKey, "root key"},
		"a weak signing key":  {lie(func(s *KeyState) { s.Signing[0].Key = weakKeys[2] }), ReasonWeakKey, "signing key"},
		"unsigned":            {signLie(testState(t)), ReasonThreshold, "0 of its own"},
		"signed by another":   {signLie(testState(t), other), ReasonThreshold, "0 of its own"},
		"signed twice":        {signLie(testState(t), root, root), ReasonMalformed, "ascending order of their keys"},
		"one signature wrong": {bytesOf(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), ReasonSignature, "not signed by"},
		"17 signatures":       {signLie(testState(t), slices.Repeat([]*Identity{root}, 17)...), ReasonTooLarge, "17 signatures"},
	} {
		got, err := ParseKeyState(c.wire)
		if got != nil || ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s … %s", name, err, c.reason, c.says)
		}
	}
}

func TestSignKeyStateRefusesMisuse(t *testing.T) {
	root := testIdentity(t, 1)
	for name, change := range map[string]func(*KeyState){
		"no URL":      func(s *KeyState) { s.URL = "" },
		"no version":  func(s *KeyState) { s.Version = 0 },
		"no time":     func(s *KeyState) { s.Issued = time.Time{} },
		"too long":    func(s *KeyState) { s.Signing[0].Until = noon.Add(MaxSigning + time.Second) },
		"not a root":  func(s *KeyState) { s.Roots.Keys[0] = identityOf(t, 1).Public() },
		"too few":     func(s *KeyState) { s.Roots = RootSet{[]PublicKey{root.public, identityOf(t, 1).Public()}, 2} },
		"many keys":   func(s *KeyState) { s.Signing = make([]SigningKey, 17) },
		"much to say": func(s *KeyState) { s.Revoked = make([]Revocation, 65) },
	} {
		s := testState(t)
		change(&s)
		if got, err := SignKeyState(s, root); got != nil || ReasonOf(err) == "" || !strings.HasPrefix(err.Error(), "signing a key state: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A feed that has one key announces the same before and after it gets a key state.
func TestRootSetFingerprint(t *testing.T) {
	a, b := identityOf(t, 1).Public(), identityOf(t, 2).Public()
	if a.compare(b) > 0 {
		a, b = b, a
	}
	if f := (RootSet{[]PublicKey{a}, 1}).Fingerprint(); f != a.Fingerprint() {
		t.Errorf("one root has the fingerprint %v, its key %v", f, a.Fingerprint())
	}
	seen := map[Fingerprint]string{a.Fingerprint(): "a", b.Fingerprint(): "b"}
	for name, r := range map[string]RootSet{
		"1 of a b": {[]PublicKey{a, b}, 1}, "2 of a b": {[]PublicKey{a, b}, 2}, "1 of b": {[]PublicKey{b}, 1},
	} {
		if was, ok := seen[r.Fingerprint()]; ok && was != "b" {
			t.Errorf("%s has the fingerprint of %s", name, was)
		}
		seen[r.Fingerprint()] = name
	}
}

func FuzzParseKeyState(f *testing.F) {
	id := testIdentity(f, 1)
	f.Add(fullState(f).Marshal())
	f.Add(signState(f, testState(f), id).Marshal())
	fuzz.Hold(f, func(t *testing.T, b []byte) {
		if s, err := ParseKeyState(b); err == nil && !bytes.Equal(s.Marshal(), b) {
			t.Fatalf("parse then marshal\n got %x\nwant %x", s.Marshal(), b)
		} else if err != nil && ReasonOf(err) == "" {
			t.Fatalf("refused without a reason: %v", err)
		}
		// Past the signatures, where mutation alone never gets.
		s, err := parseKeyState(b)
		if err != nil {
			return
		}
		if got := s.Marshal(); !bytes.Equal(got, b) {
			t.Fatalf("parse then marshal\n got %x\nwant %x", got, b)
		}
		s.Roots = RootSet{Keys: []PublicKey{id.public}, Threshold: 1}
		if s.check() != nil {
			return // the test's root is in another list
		}
		signed := signState(t, *s, id)
		again, err := ParseKeyState(signed.Marshal())
		if err != nil || !again.Equal(signed) {
			t.Fatalf("signed by its author, and refused: %v", err)
		}
	})
}
