package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Certificate states, signed by the key itself, that the key publishes the feed
// at a URL for a while. By itself it proves only that the key's holder says so;
// it is believed where it was found: at the address, and with the fingerprint,
// that the feed announces.
type Certificate struct {
	URL       string    // canonical URL of the feed; the caller canonicalises
	Group     [32]byte  // SHA-256("feedtree/group/1" ‖ URL); computed, not sent
	Key       PublicKey // of the publisher
	NotBefore time.Time // whole seconds
	NotAfter  time.Time // whole seconds, the last one included
	Signature [ed25519.SignatureSize]byte
}

// The certificate, all integers big endian, n being the length of the URL:
//
//	offset size
//	     0    1  version: 1
//	     1    1  algorithm: 1, Ed25519
//	     2    2  n, 1 to 2048
//	     4    8  not before, seconds since 1970-01-01T00:00:00Z without leap seconds
//	    12    8  not after, likewise, greater than not before
//	    20   32  public key
//	    52    n  URL
//	  52+n   64  signature of "feedtree/certificate/1\n" ‖ all of the above
//
// A file holds it as a PEM block "FEEDTREE CERTIFICATE" without PEM headers.
const (
	certificateDomain = "feedtree/certificate/1\n"
	certificateBlock  = "FEEDTREE CERTIFICATE"
	certificate       = "certificate"
	groupDomain       = "feedtree/group/1"

	maxURL             = 2048
	maxCertificateFile = 64 << 10
	maxUnix            = maxMillis / 1000
	offURL             = 52
)

// Certify makes the certificate by which the identity claims the feed at the
// canonical URL. Times are cut to whole seconds.
func (id *Identity) Certify(canonicalURL string, notBefore, notAfter time.Time) (*Certificate, error) {
	c := &Certificate{
		URL:       canonicalURL,
		Group:     groupOf(canonicalURL),
		Key:       id.public,
		NotBefore: notBefore.UTC().Truncate(time.Second),
		NotAfter:  notAfter.UTC().Truncate(time.Second),
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("certifying: %w", err)
	}
	c.Signature = id.sign(c.appendSigned(nil))
	return c, nil
}

func groupOf(canonicalURL string) [32]byte { return sha256.Sum256([]byte(groupDomain + canonicalURL)) }

// Fingerprint returns the fingerprint of the certificate's key.
func (c *Certificate) Fingerprint() Fingerprint { return c.Key.Fingerprint() }

func (c *Certificate) check() *Error {
	if len(c.URL) == 0 || len(c.URL) > maxURL {
		return refuse(certificate, ReasonMalformed, "URL of %d bytes, want 1 to %d", len(c.URL), maxURL)
	}
	if strings.ContainsFunc(c.URL, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return refuse(certificate, ReasonMalformed, "URL %.80q has bytes other than printable ASCII", c.URL)
	}
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.Contains(c.URL, "#") {
		return refuse(certificate, ReasonMalformed, "URL %.80q, want http or https, a host, no user and no fragment", c.URL)
	}
	from, to := c.NotBefore.Unix(), c.NotAfter.Unix()
	if from < 0 || to > maxUnix || from >= to {
		return refuse(certificate, ReasonMalformed, "valid from %d to %d, want a span between 1970 and the year 10000", from, to)
	}
	return nil
}

func (c *Certificate) appendSigned(b []byte) []byte {
	return c.appendBody(append(b, certificateDomain...))
}

func (c *Certificate) appendBody(b []byte) []byte {
	b = append(b, version, algorithmEd25519)
	b = binary.BigEndian.AppendUint16(b, uint16(len(c.URL)))
	b = binary.BigEndian.AppendUint64(b, uint64(c.NotBefore.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.NotAfter.Unix()))
	b = append(b, c.Key[:]...)
	return append(b, c.URL...)
}

// MarshalPEM returns the certificate as the file to put beside the feed.
func (c *Certificate) MarshalPEM() []byte {
	body := append(c.appendBody(nil), c.Signature[:]...)
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: body})
}

// ParseCertificate reads and verifies the first certificate of a file as
// MarshalPEM writes it. Other text and other blocks are let be, except that a
// private key in the file is refused: it has been given away. Errors are
// [*Error].
func ParseCertificate(file []byte) (*Certificate, error) {
	if len(file) > maxCertificateFile {
		return nil, refuse(certificate, ReasonTooLarge, "file of %d bytes, the most is %d", len(file), maxCertificateFile)
	}
	var found *pem.Block
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return nil, refuse(certificate, ReasonMalformed, "the file holds a private key: take it offline, make a new key and publish only the certificate")
		}
		if block.Type == certificateBlock && found == nil {
			found = block
		}
	}
	if found == nil {
		return nil, explainNoCertificate(file)
	}
	if len(found.Headers) != 0 {
		return nil, refuse(certificate, ReasonMalformed, "PEM headers, which nobody signed")
	}
	c, err := parseCertificate(found.Bytes)
	if err != nil {
		return nil, err
	}
	if err := c.verify(); err != nil {
		return nil, err
	}
	return c, nil
}

func explainNoCertificate(file []byte) *Error {
	if bytes.Contains(file, []byte("-----BEGIN "+certificateBlock)) {
		return refuse(certificate, ReasonTruncated, "its PEM block does not end or decode; upload the file again")
	}
	return refuse(certificate, ReasonMalformed, "no PEM block %q in the file", certificateBlock)
}

func parseCertificate(b []byte) (*Certificate, error) {
	switch {
	case len(b) < offURL+ed25519.SignatureSize:
		return nil, refuse(certificate, ReasonTruncated, "%d bytes, the least is %d", len(b), offURL+1+ed25519.SignatureSize)
	case b[0] != version:
		return nil, refuse(certificate, ReasonUnsupported, "version %d", b[0])
	case b[1] != algorithmEd25519:
		return nil, refuse(certificate, ReasonUnsupported, "signature algorithm %d", b[1])
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	switch want := offURL + length + ed25519.SignatureSize; {
	case length > maxURL:
		return nil, refuse(certificate, ReasonTooLarge, "URL of %d bytes, the most is %d", length, maxURL)
	case len(b) < want:
		return nil, refuse(certificate, ReasonTruncated, "%d bytes of %d", len(b), want)
	case len(b) > want:
		return nil, refuse(certificate, ReasonTrailing, "%d bytes after the signature", len(b)-want)
	}
	c := &Certificate{
		URL:       string(b[offURL : offURL+length]),
		NotBefore: unix(binary.BigEndian.Uint64(b[4:])),
		NotAfter:  unix(binary.BigEndian.Uint64(b[12:])),
		Key:       PublicKey(b[20:]),
		Signature: [ed25519.SignatureSize]byte(b[offURL+length:]),
	}
	c.Group = groupOf(c.URL)
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

// unix maps everything after the year 9999 to one value that check refuses.
func unix(seconds uint64) time.Time { return time.Unix(int64(min(seconds, maxUnix+1)), 0).UTC() }

func (c *Certificate) verify() error {
	if c.Key.weak() {
		return refuse(certificate, ReasonWeakKey, "key %v has small order", c.Key)
	}
	if !c.Key.verify(c.appendSigned(nil), c.Signature[:]) {
		return refuse(certificate, ReasonSignature, "not signed by key %v", c.Key)
	}
	return nil
}

// Covers returns nil if the certificate lets the key speak for the feed at the
// canonical URL at that time, else an [*Error] that says why not.
func (c *Certificate) Covers(canonicalURL string, key PublicKey, at time.Time) error {
	switch second := at.Unix(); {
	case c.URL != canonicalURL:
		return refuse(certificate, ReasonOtherFeed, "it is for %s, not for %s", c.URL, canonicalURL)
	case c.Key != key:
		return refuse(certificate, ReasonOtherKey, "it is for %v, not for %v", c.Key.Fingerprint(), key.Fingerprint())
	case second < c.NotBefore.Unix():
		return refuse(certificate, ReasonNotYetValid, "valid from %s, it is %s", c.NotBefore.Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	case second > c.NotAfter.Unix():
		return refuse(certificate, ReasonExpired, "valid until %s, it is %s; the publisher makes a new one with: feedtree keygen", c.NotAfter.Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return nil
}
