package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

type keygenCmd struct {
	Out string        `help:"File for the signing key; it must not exist yet." required:"" type:"path" placeholder:"FILE" env:"-"`
	URL string        `name:"url" help:"The feed's address: also makes the root key, the certificate and the element to paste into the feed." placeholder:"FEED_URL" env:"-"`
	TTL time.Duration `name:"ttl" help:"How often the publisher promises to be heard; 0 promises nothing, for publishing from a script." default:"15m"`

	rootFlags
	lifeFlag
	passphraseFlags
}

// Help teaches the command.
func (keygenCmd) Help() string {
	return `Makes two keys. The signing key signs what is published and ends by itself after some weeks; feedtree key rotate makes the next. The root key, in a file that ends in .root, says which keys may sign: keep it offline, it is the feed's identity. The certificate, in a file that ends in .pem, is public and belongs on your site.

Files are readable by you alone, and encrypted if a passphrase is given: FEEDTREE_PASSPHRASE for the signing key, FEEDTREE_ROOT_PASSPHRASE for the root key, which is the former if it is not set.

Without --url it makes one key and nothing else: enough to begin with, if the feed announces its fingerprint.

Examples:

    feedtree keygen --out feed.key --url https://example.org/feed.xml
    FEEDTREE_ROOT_PASSPHRASE=… feedtree keygen --out feed.key --url https://example.org/feed.xml

An existing Ed25519 key of OpenSSH does as a root too: --root ~/.ssh/id_ed25519`
}

// lifeFlag is how long a signing key lasts.
type lifeFlag struct {
	Days int `help:"How long the new signing key may sign, at most 90 days." default:"90"`
}

// Validate refuses what no reader would accept.
func (l lifeFlag) Validate() error {
	if most := int(signing.MaxSigning / (24 * time.Hour)); l.Days < 1 || l.Days > most {
		return fmt.Errorf("--days %d: a signing key may sign for 1 to %d days", l.Days, most)
	}
	return nil
}

// Run makes the keys.
func (c keygenCmd) Run(t terminal) error { return c.make(t, keyring{key: c.Out}, time.Now()) }

func (c keygenCmd) make(t terminal, ring keyring, now time.Time) error {
	canonical, err := canonicalFlag(c.URL)
	if err != nil {
		return err
	}
	if c.TTL < 0 || c.TTL > signing.MaxTTL {
		return fmt.Errorf("--ttl %v: it must be between 0 and %v", c.TTL, signing.MaxTTL)
	}
	pass, err := c.given()
	if err != nil {
		return err
	}
	if canonical == "" {
		return c.bare(t, pass)
	}
	if err := c.vacant(ring); err != nil {
		return err
	}
	roots, set, err := c.makeRoots(t, ring, pass)
	if err != nil {
		return err
	}
	if len(roots) < set.Threshold {
		return fmt.Errorf("%d of the root keys must sign the first certificate, and %d are at hand: begin with those, and hand over to others with feedtree key rotate --new-root FILE.pub", set.Threshold, len(roots))
	}
	made, err := ring.read()
	if err != nil {
		return err
	}
	if made == nil { // else it was interrupted just before its end, and settle did the rest
		made, err = ring.advance(change{
			feed: canonical, roots: roots, rootSet: set, days: c.Days, now: now, encrypt: pass, comment: canonical,
			passNext: func() ([]byte, error) { return pass, nil },
		})
	}
	if err != nil {
		return err
	}
	return c.tell(t.Out, ring, made)
}

// vacant sees to it that nothing is overwritten. What an interrupted run left is
// taken up.
func (c keygenCmd) vacant(ring keyring) error {
	if _, err := os.Lstat(ring.key); err == nil {
		return alreadyThere(ring.key)
	}
	if _, err := os.Lstat(ring.certificate()); err != nil {
		return nil
	}
	if err := ring.settle(); err != nil {
		return err
	}
	if _, err := os.Lstat(ring.key); err != nil {
		return alreadyThere(ring.certificate())
	}
	return nil
}

// bare makes one key and nothing else.
func (c keygenCmd) bare(t terminal, pass []byte) error {
	id, err := signing.Generate(nil)
	if err != nil {
		return err
	}
	pem, err := id.MarshalPEM("", pass)
	if err != nil {
		return err
	}
	if err := writeNew(c.Out, pem, 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Out, "Key:          %s (keep it secret, keep a copy)\nFingerprint:  %v\n", c.Out, id.Public().Fingerprint())
	return err
}

func canonicalFlag(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	canonical, err := feed.Canonical(text)
	if err != nil {
		return "", fmt.Errorf("--url %s: %w", text, err)
	}
	return canonical, nil
}

// tell says what was made, and where it belongs.
func (c keygenCmd) tell(out io.Writer, ring keyring, made signing.Certificate) error {
	state := made.Latest()
	place, err := placeOf(state.URL)
	if err != nil {
		return err
	}
	tree := announcement(state, place, c.TTL)
	rootFiles := c.Root
	if len(rootFiles) == 0 {
		rootFiles = []string{ring.root()}
	}
	for _, file := range rootFiles {
		fmt.Fprintf(out, "Root key:     %s (says who may sign: take it off this machine, keep a copy)\n", file)
	}
	_, err = fmt.Fprintf(out, `Signing key:  %s (signs what you publish, until %s; then: feedtree key rotate)
Fingerprint:  %v
Certificate:  %s
              put it on your site as %s

Paste this into %s,
under <channel> (RSS) or <feed> (Atom):

%s

or, in a JSON Feed, at the top level:

"_feedtree": %s

When both are on your site: feedtree verify %[6]s
`, ring.key, day(state.Until()), state.Fingerprint(), ring.certificate(), place, state.URL, tree.XML(), tree.JSON())
	return err
}

// placeOf is where the certificate of a feed belongs, unless the feed says
// otherwise.
func placeOf(canonical string) (string, error) {
	u, err := url.Parse(canonical)
	if err != nil {
		return "", err
	}
	return "https://" + u.Host + "/.well-known/feedtree.pem", nil
}

func announcement(state *signing.KeyState, place string, ttl time.Duration) feed.Tree {
	return feed.Tree{
		Version: 1, Group: multicast.Group(state.Group()).String(), Cert: place,
		Fingerprint: state.Fingerprint().String(), TTL: ttl,
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// writeNew writes a file that must not exist.
func writeNew(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

func alreadyThere(path string) error {
	return fmt.Errorf("%s exists already and is left as it is: choose another --out, or move it away", path)
}
