package signing

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/pem"
	"math"
	"strings"
	"testing"
	"time"
)

const feedURL = "https://example.org/feed.xml"

func certify(t testing.TB, id *Identity) *Certificate {
	t.Helper()
	c, err := id.Certify(feedURL, noon, noon.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func certificateBytes(t testing.TB, c *Certificate) []byte {
	t.Helper()
	block, rest := pem.Decode(c.MarshalPEM())
	if block == nil || block.Type != "FEEDTREE CERTIFICATE" || len(rest) != 0 {
		t.Fatalf("not one PEM block: %s", c.MarshalPEM())
	}
	return block.Bytes
}

func certificatePEM(b []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: b})
}

func TestCertificate(t *testing.T) {
	id := testIdentity(t, 0)
	c, err := id.Certify(feedURL, noon.Add(time.Millisecond), noon.AddDate(1, 0, 0).In(time.FixedZone("", 3600)))
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"as written":     c.MarshalPEM(),
		"from Windows":   bytes.ReplaceAll(c.MarshalPEM(), []byte("\n"), []byte("\r\n")),
		"with text":      append([]byte("Feed: example.org\n\n"), append(c.MarshalPEM(), "bye\n"...)...),
		"without \\n":    bytes.TrimSpace(c.MarshalPEM()),
		"among others":   append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}), c.MarshalPEM()...),
		"before another": append(c.MarshalPEM(), certificatePEM([]byte("a later format"))...),
	} {
		got, err := ParseCertificate(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if *got != *c {
			t.Errorf("%s\n got %+v\nwant %+v", name, got, c)
		}
	}
	if c.Group != groupOf(feedURL) || c.Key != id.Public() || c.Fingerprint() != id.Public().Fingerprint() {
		t.Errorf("%+v", c)
	}
	if !c.NotBefore.Equal(noon) || !c.NotAfter.Equal(noon.AddDate(1, 0, 0)) {
		t.Errorf("valid %v to %v", c.NotBefore, c.NotAfter)
	}
}

func TestCertificateDocumentedLayout(t *testing.T) {
	b := certificateBytes(t, certify(t, testIdentity(t, 0)))
	public := unhex(t, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a") // RFC 8032, TEST 1
	want := []byte{1, 1, 0, byte(len(feedURL))}
	want = binary.BigEndian.AppendUint64(want, uint64(noon.Unix()))
	want = binary.BigEndian.AppendUint64(want, uint64(noon.AddDate(1, 0, 0).Unix()))
	want = append(append(want, public...), feedURL...)
	if !bytes.Equal(b[:len(want)], want) || len(b) != len(want)+64 {
		t.Fatalf("\n got %x\nwant %x and 64 bytes", b, want)
	}
	if !ed25519.Verify(public, append([]byte("feedtree/certificate/1\n"), want...), b[len(want):]) {
		t.Error("the signature is not plain Ed25519 over prefix and contents")
	}
}

func TestCertificateEveryFlippedBitIsRefused(t *testing.T) {
	b := certificateBytes(t, certify(t, testIdentity(t, 0)))
	for i := range b {
		for bit := range 8 {
			altered := bytes.Clone(b)
			altered[i] ^= 1 << bit
			if c, err := ParseCertificate(certificatePEM(altered)); err == nil || c != nil || ReasonOf(err) == "" {
				t.Fatalf("byte %d bit %d flipped: %v", i, bit, err)
			}
		}
	}
	for n := range b {
		if _, err := ParseCertificate(certificatePEM(b[:n])); ReasonOf(err) != ReasonTruncated {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// signCertificate signs whatever body says, with the identity's key put into it.
func signCertificate(id *Identity, body []byte) []byte {
	body = bytes.Clone(body)
	copy(body[20:], id.public[:])
	sig := id.sign(append([]byte(certificateDomain), body...))
	return append(body, sig[:]...)
}

func TestCertificateRefused(t *testing.T) {
	id := testIdentity(t, 0)
	good := certify(t, id)
	body := good.appendBody(nil)
	signedWith := func(change func(b []byte) []byte) []byte {
		return certificatePEM(signCertificate(id, change(bytes.Clone(body))))
	}
	withURL := func(u string) []byte {
		return signedWith(func(b []byte) []byte {
			binary.BigEndian.PutUint16(b[2:], uint16(len(u)))
			return append(b[:offURL], u...)
		})
	}
	private, err := id.MarshalPEM("", nil)
	if err != nil {
		t.Fatal(err)
	}
	weak := bytes.Clone(certificateBytes(t, good))
	copy(weak[20:], weakKeys[1][:])

	for name, c := range map[string]struct {
		file   []byte
		reason Reason
		says   string
	}{
		"empty":                {nil, ReasonMalformed, `no PEM block "FEEDTREE CERTIFICATE"`},
		"a web page":           {[]byte("<!doctype html><title>404</title>"), ReasonMalformed, "no PEM block"},
		"cut short":            {good.MarshalPEM()[:100], ReasonTruncated, "does not end"},
		"huge":                 {make([]byte, maxCertificateFile+1), ReasonTooLarge, "65537 bytes"},
		"the private key":      {private, ReasonMalformed, "holds a private key"},
		"with the private key": {append(good.MarshalPEM(), private...), ReasonMalformed, "holds a private key"},
		"PEM headers":          {pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Headers: map[string]string{"URL": "x"}, Bytes: body}), ReasonMalformed, "PEM headers"},
		"version 2":            {signedWith(func(b []byte) []byte { b[0] = 2; return b }), ReasonUnsupported, "version 2"},
		"algorithm 9":          {signedWith(func(b []byte) []byte { b[1] = 9; return b }), ReasonUnsupported, "algorithm 9"},
		"trailing":             {signedWith(func(b []byte) []byte { return append(b, 'x') }), ReasonTrailing, "1 bytes after"},
		"URL too long":         {withURL("https://example.org/" + strings.Repeat("x", 2048)), ReasonTooLarge, "URL of 2068 bytes"},
		"URL missing":          {withURL(""), ReasonMalformed, "URL of 0 bytes"},
		"URL of a file":        {withURL("file:///etc/passwd"), ReasonMalformed, "http or https"},
		"URL without host":     {withURL("https:///feed"), ReasonMalformed, "a host"},
		"URL with a user":      {withURL("https://me:secret@example.org/"), ReasonMalformed, "no user"},
		"URL with a fragment":  {withURL("https://example.org/#"), ReasonMalformed, "no fragment"},
		"URL with a newline":   {withURL("https://example.org/\nfeed"), ReasonMalformed, "printable ASCII"},
		"URL beyond ASCII":     {withURL("https://exämple.org/"), ReasonMalformed, "printable ASCII"},
		"valid for no time":    {signedWith(func(b []byte) []byte { copy(b[12:20], b[4:12]); return b }), ReasonMalformed, "valid from"},
		"valid for ever":       {signedWith(func(b []byte) []byte { binary.BigEndian.PutUint64(b[12:], math.MaxUint64); return b }), ReasonMalformed, "valid from"},
		"weak key":             {certificatePEM(weak), ReasonWeakKey, "small order"},
		"not self-signed":      {certificatePEM(append(bytes.Clone(body), make([]byte, 64)...)), ReasonSignature, "not signed by"},
	} {
		got, err := ParseCertificate(c.file)
		if got != nil || ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s … %s", name, err, c.reason, c.says)
		}
	}
}

func TestCertifyRefusesMisuse(t *testing.T) {
	id := testIdentity(t, 0)
	for name, c := range map[string]struct {
		url      string
		from, to time.Time
	}{
		"no URL":         {"", noon, noon.AddDate(1, 0, 0)},
		"relative URL":   {"/feed.xml", noon, noon.AddDate(1, 0, 0)},
		"no time":        {feedURL, time.Time{}, time.Time{}},
		"from 1969":      {feedURL, time.Unix(-1, 0), noon},
		"to 10000":       {feedURL, noon, time.Unix(maxUnix+1, 0)},
		"ends before":    {feedURL, noon, noon.Add(-time.Hour)},
		"under a second": {feedURL, noon, noon.Add(time.Millisecond)},
	} {
		got, err := id.Certify(c.url, c.from, c.to)
		if got != nil || err == nil || !strings.HasPrefix(err.Error(), "certifying: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCovers(t *testing.T) {
	id, other := testIdentity(t, 0), testIdentity(t, 1)
	c := certify(t, id)
	end := noon.AddDate(1, 0, 0)
	for name, k := range map[string]struct {
		url    string
		key    PublicKey
		at     time.Time
		reason Reason
		says   string
	}{
		"first second":  {feedURL, id.Public(), noon, "", ""},
		"last second":   {feedURL, id.Public(), end.Add(999 * time.Millisecond), "", ""},
		"other feed":    {feedURL + "/", id.Public(), noon, ReasonOtherFeed, "for https://example.org/feed.xml, not for https://example.org/feed.xml/"},
		"other key":     {feedURL, other.Public(), noon, ReasonOtherKey, other.Public().Fingerprint().String()},
		"a second soon": {feedURL, id.Public(), noon.Add(-time.Second), ReasonNotYetValid, "valid from 2026-11-21T12:00:00Z"},
		"a second late": {feedURL, id.Public(), end.Add(time.Second), ReasonExpired, "valid until 2027-11-21T12:00:00Z"},
	} {
		err := c.Covers(k.url, k.key, k.at)
		if k.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if ReasonOf(err) != k.reason || !strings.Contains(err.Error(), k.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseCertificate(f *testing.F) {
	id := testIdentity(f, 0)
	c := certify(f, id)
	f.Add(c.MarshalPEM())
	f.Add(certificateBytes(f, c))
	f.Add(certificatePEM(nil))
	f.Add(c.MarshalPEM()[:90])
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseCertificate(b); err == nil {
			again, err := ParseCertificate(c.MarshalPEM())
			if err != nil || *again != *c {
				t.Fatalf("marshal then parse: %v", err)
			}
		} else if ReasonOf(err) == "" {
			t.Fatalf("refused without a reason: %v", err)
		}
		// Past PEM and the signature, where mutation alone never gets.
		c, err := parseCertificate(b)
		if err != nil {
			return
		}
		if again := append(c.appendBody(nil), c.Signature[:]...); !bytes.Equal(again, b) {
			t.Fatalf("parse then marshal\n got %x\nwant %x", again, b)
		}
		signed := signCertificate(id, b[:len(b)-ed25519.SignatureSize])
		got, err := ParseCertificate(certificatePEM(signed))
		if err != nil {
			t.Fatalf("signed by its author, and refused: %v", err)
		}
		made, err := id.Certify(got.URL, got.NotBefore, got.NotAfter)
		if err != nil || *made != *got {
			t.Fatalf("certifying the same: %+v, %v, want %+v", made, err, got)
		}
	})
}
