package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

type keygenCmd struct {
	Out string        `help:"File for the private key; it must not exist yet." required:"" type:"path" placeholder:"FILE" env:"-"`
	URL string        `name:"url" help:"The feed's address: also makes the certificate and the element to paste into the feed." placeholder:"FEED_URL" env:"-"`
	TTL time.Duration `name:"ttl" help:"How often the publisher promises to be heard; 0 promises nothing, for publishing from a script." default:"15m"`

	passphraseFlags
}

// Help teaches the command.
func (keygenCmd) Help() string {
	return `The key is in OpenSSH's format, readable by you alone, and encrypted if a passphrase is given. Keep it: it is the feed's identity.

Examples:

    feedtree keygen --out feed.key --url https://example.org/feed.xml
    FEEDTREE_PASSPHRASE=… feedtree keygen --out feed.key

An existing Ed25519 key of OpenSSH works too: feedtree publish --key ~/.ssh/id_ed25519`
}

// certified is how long a new certificate is valid.
const certified = 10 * 365 * 24 * time.Hour

// Run makes the key.
func (c keygenCmd) Run(t terminal) error {
	canonical, err := c.canonical()
	if err != nil {
		return err
	}
	if c.TTL < 0 || c.TTL > signing.MaxTTL {
		return fmt.Errorf("--ttl %v: it must be between 0 and %v", c.TTL, signing.MaxTTL)
	}
	if _, err := os.Lstat(c.certificate()); canonical != "" && err == nil {
		return alreadyThere(c.certificate())
	}
	id, err := signing.Generate(nil)
	if err != nil {
		return err
	}
	pass, err := c.given()
	if err != nil {
		return err
	}
	pem, err := id.MarshalPEM(canonical, pass)
	if err != nil {
		return err
	}
	if err := writeNew(c.Out, pem, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "Key:          %s (keep it secret, keep a copy)\nFingerprint:  %v\n", c.Out, id.Public().Fingerprint())
	if canonical == "" {
		return nil
	}
	return c.certify(t, id, canonical)
}

func (c keygenCmd) canonical() (string, error) {
	if c.URL == "" {
		return "", nil
	}
	canonical, err := feed.Canonical(c.URL)
	if err != nil {
		return "", fmt.Errorf("--url %s: %w", c.URL, err)
	}
	return canonical, nil
}

func (c keygenCmd) certificate() string { return c.Out + ".pem" }

// certify writes the certificate and tells where it and the announcement belong.
func (c keygenCmd) certify(t terminal, id *signing.Identity, canonical string) error {
	u, err := url.Parse(canonical)
	if err != nil {
		return err
	}
	now := time.Now()
	cert, err := id.Certify(canonical, now.Add(-time.Hour), now.Add(certified))
	if err != nil {
		return err
	}
	path := c.certificate()
	if err := writeNew(path, cert.MarshalPEM(), 0o644); err != nil {
		return err
	}
	place := u.Scheme + "://" + u.Host + "/.well-known/feedtree.pem"
	tree := feed.Tree{
		Version: 1, Group: multicast.Group(cert.Group).String(), Cert: place,
		Fingerprint: cert.Fingerprint().String(), TTL: c.TTL,
	}
	_, err = fmt.Fprintf(t.Out, `Certificate:  %s
              put it on your site as %s

Paste this into %s,
under <channel> (RSS) or <feed> (Atom):

%s

or, in a JSON Feed, at the top level:

"_feedtree": %s
`, path, place, canonical, tree.XML(), tree.JSON())
	return err
}

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
