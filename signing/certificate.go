package signing

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificate is what a publisher puts beside the feed: key states of one feed,
// in the order of their versions, by which a reader comes from whichever root
// keys it knows to those in force. The last is in force; before it stand those
// with which other roots began.
type Certificate []*KeyState

// A file holds each key state as a PEM block "FEEDTREE KEY STATE" without PEM
// headers.
const (
	keyStateBlock      = "FEEDTREE KEY STATE"
	certificate        = "certificate"
	maxCertificateFile = 64 << 10
	maxStates          = 32

	// MaxStep is how many versions one state may leave out after the one before.
	// Who stole a root key could otherwise take the last number there is, and
	// nobody could ever say anything after it.
	MaxStep = 1024
)

// MarshalPEM returns the certificate as a file.
func (c Certificate) MarshalPEM() []byte {
	var b []byte
	for _, s := range c {
		b = append(b, pem.EncodeToMemory(&pem.Block{Type: keyStateBlock, Bytes: s.Marshal()})...)
	}
	return b
}

// ParseCertificate reads and verifies the key states of a file as MarshalPEM
// writes it, and that each follows from the one before. Other text and other
// blocks are let be, except that a private key in the file is refused: it has
// been given away. Errors are [*Error].
func ParseCertificate(file []byte) (Certificate, error) {
	if len(file) > maxCertificateFile {
		return nil, refuse(certificate, ReasonTooLarge, "file of %d bytes, the most is %d", len(file), maxCertificateFile)
	}
	var c Certificate
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") || block.Type == sealedBlock {
			return nil, refuse(certificate, ReasonMalformed, "the file holds a private key: take it offline, make new keys and publish only the certificate")
		}
		if block.Type != keyStateBlock {
			continue
		}
		if err := c.add(block); err != nil {
			return nil, err
		}
	}
	if len(c) == 0 {
		return nil, explainNoState(file)
	}
	return c, nil
}

// add reads the next block of a file.
func (c *Certificate) add(block *pem.Block) error {
	switch {
	case len(block.Headers) != 0:
		return refuse(certificate, ReasonMalformed, "PEM headers, which nobody signed")
	case len(*c) == maxStates:
		return refuse(certificate, ReasonTooLarge, "more than %d key states", maxStates)
	}
	s, err := ParseKeyState(block.Bytes)
	if err != nil {
		return err
	}
	if n := len(*c); n > 0 {
		if err := s.Follows((*c)[n-1]); err != nil {
			return err
		}
	}
	*c = append(*c, s)
	return nil
}

func explainNoState(file []byte) *Error {
	if bytes.Contains(file, []byte("-----BEGIN "+keyStateBlock)) {
		return refuse(certificate, ReasonTruncated, "its PEM block does not end or decode; upload the file again")
	}
	return refuse(certificate, ReasonMalformed, "no PEM block %q in the file", keyStateBlock)
}

// Latest returns the state in force. A certificate is never empty.
func (c Certificate) Latest() *KeyState { return c[len(c)-1] }

// With returns the certificate with one more state, and without those that
// nobody needs to come to it.
func (c Certificate) With(next *KeyState) (Certificate, error) {
	if len(c) == 0 {
		return Certificate{next}, nil
	}
	if err := next.Follows(c.Latest()); err != nil {
		return nil, fmt.Errorf("adding to the certificate: %w", err)
	}
	kept := slices.Clone(c)
	if n := len(c); n > 1 && c[n-1].Roots.Equal(c[n-2].Roots) && next.Version-c[n-2].Version <= MaxStep {
		kept = kept[:n-1] // next is reached without it
	}
	kept = append(kept, next)
	if len(kept) > maxStates {
		kept = slices.Delete(kept, 0, len(kept)-maxStates)
	}
	return kept, nil
}

// Follows returns nil if who believes in the state before is to believe in this
// one: it is of the same feed, later by no more than [MaxStep], and signed by
// enough of the roots of both. Otherwise the [*Error] says why: [ReasonStale] if
// it is the same or an older one, [ReasonFork] if it has the version of the other
// and says something else.
func (s *KeyState) Follows(before *KeyState) error {
	switch {
	case s.URL != before.URL:
		return refuse(keyState, ReasonOtherFeed, "it is for %s, not for %s", s.URL, before.URL)
	case s.Version < before.Version:
		return refuse(keyState, ReasonStale, "version %d, version %d is known", s.Version, before.Version)
	case s.Version == before.Version && bytes.Equal(s.appendBody(nil), before.appendBody(nil)):
		return refuse(keyState, ReasonStale, "version %d again", s.Version)
	}
	if n := before.Roots.signed(s); n < before.Roots.Threshold {
		return refuse(keyState, ReasonThreshold, "version %d is signed by %d of the root keys of version %d, which takes %d",
			s.Version, n, before.Version, before.Roots.Threshold)
	}
	switch {
	case s.Version == before.Version:
		return refuse(keyState, ReasonFork, "two different versions %d, both signed by the feed's root keys", s.Version)
	case s.Version-before.Version > MaxStep:
		return refuse(keyState, ReasonJump, "version %d after %d, the most is %d further", s.Version, before.Version, MaxStep)
	}
	return nil
}

// From returns the part of the certificate that is for one who knows nothing but
// the fingerprint of root keys of the feed at a canonical URL.
func (c Certificate) From(canonicalURL string, roots Fingerprint) (Certificate, error) {
	if url := c[0].URL; url != canonicalURL {
		return nil, refuse(certificate, ReasonOtherFeed, "it is for %s, not for %s", url, canonicalURL)
	}
	for i, s := range c {
		if s.Fingerprint() == roots {
			return c[i:], nil // each follows from the one before
		}
	}
	return nil, refuse(certificate, ReasonOtherRoots, "its root keys have the fingerprint %v, not %v", c.Latest().Fingerprint(), roots)
}

// Learn returns what one who goes by c goes by after reading other: c itself if
// that says nothing newer. An [*Error] says why other cannot be believed:
// [ReasonStale] if all it has is older, [ReasonFork] if the root keys in force
// signed something else than what c holds, [ReasonReplaced] if those did that they
// replaced.
func (c Certificate) Learn(other Certificate) (Certificate, error) {
	known := c
	for _, s := range other {
		err := s.Follows(known.Latest())
		switch reason := ReasonOf(err); {
		case err == nil:
			if known, err = known.With(s); err != nil {
				return c, err
			}
		case reason == ReasonStale:
			if err := known.contradicts(s); err != nil {
				return c, err
			}
		case reason == ReasonThreshold && s.Version > c[0].Version && s.Follows(c[0]) == nil:
			return c, refuse(keyState, ReasonReplaced, "version %d is not signed by the feed's root keys, but by those that they replaced", s.Version)
		default:
			return c, err
		}
	}
	if last := other.Latest(); last.Version < c.Latest().Version {
		return c, last.Follows(c.Latest())
	}
	return known, nil
}

// contradicts compares a state with the one of its version that is held.
func (c Certificate) contradicts(s *KeyState) error {
	for i, held := range c {
		if held.Version != s.Version || bytes.Equal(held.appendBody(nil), s.appendBody(nil)) {
			continue
		}
		switch {
		case c.Latest().Roots.signed(s) >= c.Latest().Roots.Threshold:
			return refuse(keyState, ReasonFork, "two different versions %d, both signed by the feed's root keys", s.Version)
		case i > 0 && s.Follows(c[i-1]) == nil:
			return refuse(keyState, ReasonReplaced, "another version %d, signed by root keys that were replaced", s.Version)
		}
		return refuse(keyState, ReasonThreshold, "version %d is not the one known", s.Version)
	}
	return nil
}

// Leeway is how far the clocks of a publisher and a subscriber may be apart
// without harm where it is days that count: a whole day, as after a wrong date or
// a time zone mistaken for another.
const Leeway = 25 * time.Hour

// Covers returns nil if the state lets the envelope's key say it, else an [*Error]:
// [ReasonOtherFeed], [ReasonOtherKey], [ReasonRevoked], or, for a key whose time
// is over, [ReasonExpired]. now is when it came: a key that has ended may be in
// other hands, and what it says then need not be true of the time either.
func (s *KeyState) Covers(h *Header, now time.Time) error {
	if h.Group != s.Group() {
		return refuse(keyState, ReasonOtherFeed, "it is for %s, the envelope for another feed", s.URL)
	}
	for _, r := range s.Revoked {
		if r.Key == h.Key && (h.Epoch > r.Epoch || h.Epoch == r.Epoch && h.Seq > r.Seq) {
			return refuse(keyState, ReasonRevoked, "key %v was revoked, and this came after its last word", h.Key.Fingerprint())
		} else if r.Key == h.Key {
			return nil
		}
	}
	for _, k := range s.Signing {
		if k.Key != h.Key {
			continue
		}
		if h.Time.Unix() > k.Until.Unix() || now.After(k.Until.Add(Leeway)) {
			return refuse(keyState, ReasonExpired, "key %v ended at %s; its publisher makes a new one with: feedtree key rotate",
				k.Key.Fingerprint(), k.Until.Format(time.RFC3339))
		}
		return nil
	}
	return refuse(keyState, ReasonOtherKey, "key %v is not among those of version %d", h.Key.Fingerprint(), s.Version)
}

// Lists reports whether a key is one of those that speak for the feed.
func (s *KeyState) Lists(key PublicKey) bool {
	return slices.ContainsFunc(s.Signing, func(k SigningKey) bool { return k.Key == key })
}

// Revokes reports whether the state takes back what a key said at a place.
func (s *KeyState) Revokes(key PublicKey, epoch, seq uint64) bool {
	for _, r := range s.Revoked {
		if r.Key == key {
			return epoch > r.Epoch || epoch == r.Epoch && seq > r.Seq
		}
	}
	return false
}
