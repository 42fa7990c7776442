package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/feedtree/feedtree/signing"
)

type keyCmd struct {
	Rotate keyRotateCmd `cmd:"" help:"Make the next signing key, or replace the root keys."`
	Revoke keyRevokeCmd `cmd:"" help:"Take a signing key back that may be in other hands."`
	Sign   keySignCmd   `cmd:"" help:"Sign a change that takes the root keys of several people."`
	Show   keyShowCmd   `cmd:"" help:"Show what is in a key file or a certificate."`
	Pin    keyPinCmd    `cmd:"" help:"Decide by hand which root keys a feed's subscriber goes by."`
}

// ringFlags say which keys a command changes.
type ringFlags struct {
	Key string `help:"The feed's signing key. Beside it are its certificate, in FILE.pem, and the root key, in FILE.root." required:"" type:"path" placeholder:"FILE" env:"-"`

	rootFlags
	lifeFlag
	passphraseFlags
}

// open reads the certificate that is to be changed, and the root keys.
func (f ringFlags) open(t terminal, ring keyring) (o opened, err error) {
	if err := ring.settle(); err != nil {
		return o, err
	}
	if o.held, err = ring.read(); err != nil {
		return o, err
	}
	if o.pass, err = f.given(); err != nil || o.held == nil {
		return o, err
	}
	files := f.atHand(ring, o.held.Latest())
	if o.roots, err = f.load(t, files, o.pass); err != nil {
		return o, err
	}
	o.enough, err = enough(o.held.Latest(), o.roots, files)
	return o, err
}

// opened is what a change begins with.
type opened struct {
	held   signing.Certificate // nil: there is none
	roots  []*signing.Identity // at hand
	enough bool                // they are enough
	pass   []byte              // of the signing key, nil if there is none
}

func (f ringFlags) next(o opened, url string, now time.Time) change {
	pass := o.pass
	return change{
		days: f.Days, now: now, encrypt: pass, comment: url, roots: o.roots, partly: !o.enough,
		passNext: func() ([]byte, error) { return pass, nil },
	}
}

type keyRotateCmd struct {
	URL     string   `name:"url" help:"The feed's address; only for a feed that has a key and no certificate yet." placeholder:"FEED_URL" env:"-"`
	NewRoot []string `help:"File of a root key from now on, instead of those before; made if it is not there. Repeatable." type:"path" placeholder:"FILE"`

	ringFlags
}

// Help teaches the command.
func (keyRotateCmd) Help() string {
	return `Makes a new signing key in the place of the old one, and lists it in the certificate, signed by the root key. The old key stays listed until it ends, so that what is published meanwhile counts. Interrupted at any moment, it leaves the old keys or the new, and running it again does no harm.

Where more root keys have to sign than are at hand, a draft is written beside the key, for their holders to sign: feedtree key sign.

With --new-root the feed gets other root keys, which the old ones sign too: readers follow, and are told. FILE.pub is the public key of one that somebody else holds, as OpenSSH has it. The feed then announces another fingerprint, which is printed.

A feed that so far has a single key gets a certificate: that key becomes its root key, and a signing key is made.

Examples:

    feedtree key rotate --key feed.key
    feedtree key rotate --key feed.key --root /media/stick/feed.key.root
    feedtree key rotate --key feed.key --new-root new.root
    feedtree key rotate --key feed.key --url https://example.org/feed.xml`
}

// Run makes the next key state.
func (c keyRotateCmd) Run(t terminal) error { return c.rotate(t, keyring{key: c.Key}, time.Now()) }

func (c keyRotateCmd) rotate(t terminal, ring keyring, now time.Time) error {
	o, err := c.open(t, ring)
	if err != nil {
		return err
	}
	if o.held == nil {
		return c.found(t, ring, o.pass, now)
	}
	next := c.next(o, o.held.Latest().URL, now)
	if len(c.NewRoot) > 0 {
		fresh := rootFlags{Root: c.NewRoot, Threshold: c.Threshold, RootPassphraseFile: c.RootPassphraseFile}
		ids, set, err := fresh.makeRoots(t, ring, o.pass)
		if err != nil {
			return err
		}
		next.roots, next.rootSet = append(o.roots, ids...), set
		next.partly = next.partly || len(ids) < set.Threshold
	}
	made, err := ring.advance(next)
	switch {
	case err != nil:
		return err
	case made == nil:
		return tellDraft(t.Out, ring)
	}
	return tellChange(t.Out, ring, o.held, made)
}

// found makes the first certificate of a feed that has a single key: subscribers
// know that one, so it becomes the root.
func (c keyRotateCmd) found(t terminal, ring keyring, pass []byte, now time.Time) error {
	canonical, err := canonicalFlag(c.URL)
	if err != nil {
		return err
	}
	if canonical == "" {
		return fmt.Errorf("%s is not there: name the feed with --url to make the first certificate of %s", ring.certificate(), ring.key)
	}
	if len(c.Root) == 0 {
		if err := ring.demote(); err != nil {
			return err
		}
	}
	roots, err := c.load(t, c.files(ring), pass)
	if err != nil {
		return err
	}
	set := rootSetOf(roots, nil, c.Threshold)
	next := c.next(opened{roots: roots, pass: pass, enough: true}, canonical, now)
	next.feed, next.rootSet = canonical, &set
	made, err := ring.advance(next)
	if err != nil {
		return err
	}
	return tellChange(t.Out, ring, nil, made)
}

// demote copies the only key of a feed to where the root key is; the next signing
// key takes its place later.
func (r keyring) demote() error {
	if _, err := os.Lstat(r.root()); err == nil {
		return nil // it was interrupted, or the key is there for that
	}
	file, err := os.ReadFile(r.key)
	if err != nil {
		return fmt.Errorf("reading the key: %w; feedtree keygen makes one", err)
	}
	return r.write(r.root(), file, 0o600)
}

// tellChange says what is different now, and what to do.
func tellChange(out io.Writer, ring keyring, before, made signing.Certificate) error {
	state := made.Latest()
	place, err := placeOf(state.URL)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Signing key:  %s (until %s; the old one is gone from this file)\nCertificate:  %s, version %d\n",
		ring.key, day(state.Until()), ring.certificate(), state.Version)
	fmt.Fprintf(out, "\nNow:\n  1. put %s on your site in the place of %s\n", ring.certificate(), place)
	step := 2
	if before == nil || before.Latest().Fingerprint() != state.Fingerprint() {
		tree := announcement(state, place, 0)
		fmt.Fprintf(out, "  %d. announce the root keys in the feed: fingerprint=%q, cert=%q, group=%q\n", step, tree.Fingerprint, tree.Cert, tree.Group)
		step++
	}
	if before == nil {
		fmt.Fprintf(out, "  %d. take the root key %s off this machine, and keep a copy\n", step, ring.root())
		step++
	}
	_, err = fmt.Fprintf(out, "  %d. publish with %s from now on, wherever you do; it brings the certificate to subscribers too\n  %d. feedtree verify %s\n",
		step, ring.key, step+1, state.URL)
	return err
}

type keyShowCmd struct {
	File string `arg:"" help:"A key file or a certificate." type:"path"`
}

// Run shows a file.
func (c keyShowCmd) Run(t terminal) error {
	file, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	if cert, err := signing.ParseCertificate(file); err == nil {
		return describeCertificate(t.Out, cert, time.Now())
	} else if strings.Contains(string(file), "FEEDTREE KEY STATE") {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	public, _, err := publicOf(c.File)
	if errors.Is(err, signing.ErrPassphrase) {
		return fmt.Errorf("%w (or: ssh-keygen -y -f %s)", err, c.File)
	}
	if err != nil {
		return err
	}
	line, err := public.MarshalPublic()
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "Key:          %s\nFingerprint:  %v\nPublic key:   %s", c.File, public.Fingerprint(), line)
	ring := keyring{key: strings.TrimSuffix(c.File, ".root")}
	cert, err := ring.read()
	if err != nil || cert == nil {
		return err
	}
	fmt.Fprintf(t.Out, "It is %s\n\n%s\n", partOf(cert.Latest(), public), ring.certificate())
	return describeCertificate(t.Out, cert, time.Now())
}

// partOf says what a key is to a feed.
func partOf(s *signing.KeyState, key signing.PublicKey) string {
	for _, k := range s.Roots.Keys {
		if k == key {
			return "a root key of " + s.URL
		}
	}
	for _, k := range s.Signing {
		if k.Key == key {
			return "a signing key of " + s.URL + " until " + day(k.Until)
		}
	}
	for _, r := range s.Revoked {
		if r.Key == key {
			return "revoked: nobody believes it any more"
		}
	}
	return "no key of " + s.URL + " any more"
}

func describeCertificate(out io.Writer, c signing.Certificate, now time.Time) error {
	s := c.Latest()
	fmt.Fprintf(out, "Feed:         %s\nVersion:      %d of %s\nRoot keys:    %d, of which %d must sign\nFingerprint:  %v\n",
		s.URL, s.Version, day(s.Issued), len(s.Roots.Keys), s.Roots.Threshold, s.Fingerprint())
	for _, k := range s.Signing {
		fmt.Fprintf(out, "Signing key:  %v until %s\n", k.Key.Fingerprint(), day(k.Until))
	}
	for _, r := range s.Revoked {
		fmt.Fprintf(out, "Revoked:      %v, whose last word was %d/%d\n", r.Key.Fingerprint(), r.Epoch, r.Seq)
	}
	for i, older := range c[:len(c)-1] {
		if f := older.Fingerprint(); f != c[i+1].Fingerprint() {
			fmt.Fprintf(out, "Before:       root keys %v until version %d\n", f, c[i+1].Version)
		}
	}
	_, err := fmt.Fprintln(out, advice(s, now))
	return err
}

// endsSoon is when to think of the next signing key.
const endsSoon = 14 * 24 * time.Hour

// advice says whether a publisher has something to do.
func advice(s *signing.KeyState, now time.Time) string {
	switch until := s.Until(); {
	case len(s.Signing) == 0:
		return "No key may sign: feedtree key rotate makes one."
	case now.After(until):
		return "All signing keys have ended, so nobody believes what is published: feedtree key rotate makes a new one."
	case now.Add(endsSoon).After(until):
		return "The last signing key ends on " + day(until) + ": run feedtree key rotate before that."
	}
	return "Nothing to do before " + day(s.Until().Add(-endsSoon)) + "; then: feedtree key rotate."
}
