package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/feedtree/feedtree/signing"
)

type keySignCmd struct {
	Draft string   `arg:"" help:"The draft, as key rotate or key revoke wrote it." type:"path"`
	Other []string `arg:"" optional:"" help:"Copies of it that the holders of other keys have signed." type:"path"`
	Key   string   `help:"The feed's signing key, where the change was begun: puts the certificate in place if enough have signed." type:"path" placeholder:"FILE" env:"-"`

	Root []string `help:"File of your root key. Without one, what there is to sign is only shown. Repeatable." type:"path" placeholder:"FILE"`

	RootPassphraseFile string `help:"File whose first line is the passphrase of the root keys. FEEDTREE_ROOT_PASSPHRASE outranks it; without either the terminal asks." type:"path" placeholder:"FILE"`
}

// Help teaches the command.
func (keySignCmd) Help() string {
	return `A change of a feed's keys takes most of its root keys, and these may be with different people. feedtree key rotate or key revoke writes a draft, FILE.draft; whoever holds a root key looks at it, signs it and passes it on; and where the signing key is, the certificate that comes of it is put in place. Until then everything stays as it was.

Copies can be signed at the same time: name the others behind the first, and their signatures are added to it. What you sign is printed before: compare the feed, the fingerprints and what is taken back with what you were told elsewhere.

Examples:

    feedtree key sign feed.key.draft
    feedtree key sign --root my.root feed.key.draft
    feedtree key sign --key feed.key feed.key.draft from-anna.draft from-ben.draft`
}

// Run signs.
func (c keySignCmd) Run(t terminal) error { return c.sign(t, keyring{key: c.Key}) }

func (c keySignCmd) sign(t terminal, ring keyring) error {
	d, err := readDraft(c.Draft)
	if err != nil {
		return err
	}
	describeDraft(t.Out, d)
	changed, err := c.gather(d)
	if err != nil {
		return err
	}
	ids, err := rootFlags{RootPassphraseFile: c.RootPassphraseFile}.load(t, c.Root, nil)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if err := d.Sign(id); err != nil {
			return fmt.Errorf("%s is not signed with %s: %w", c.Draft, c.Root[i], err)
		}
		changed = true
	}
	if changed {
		if err := ring.write(c.Draft, d.MarshalPEM(), 0o644); err != nil {
			return fmt.Errorf("writing the draft: %w", err)
		}
	}
	made, err := d.Finish()
	switch {
	case signing.ReasonOf(err) == signing.ReasonThreshold:
		return tellMissing(t.Out, d, c.Draft)
	case err != nil:
		return err
	case c.Key == "":
		_, err := fmt.Fprintf(t.Out, "Enough have signed. Where the feed's signing key is: feedtree key sign --key FILE %s\n", c.Draft)
		return err
	}
	return c.finish(t, ring, made)
}

// gather adds the signatures of other copies.
func (c keySignCmd) gather(d *signing.Draft) (changed bool, err error) {
	for _, path := range c.Other {
		other, err := readDraft(path)
		if err != nil {
			return changed, err
		}
		added, err := d.Merge(other)
		if err != nil {
			return changed, fmt.Errorf("%s is of another change than %s: %w", path, c.Draft, err)
		}
		changed = changed || added > 0
	}
	return changed, nil
}

// finish puts a certificate in its place. Interrupted, it is run again.
func (c keySignCmd) finish(t terminal, ring keyring, made signing.Certificate) error {
	held, err := ring.read()
	if err != nil {
		return err
	}
	if held == nil {
		return fmt.Errorf("%s is not there: the change was begun beside another key", ring.certificate())
	}
	before := held
	if !held.Latest().Equal(made.Latest()) {
		if err := ring.expects(made); err != nil {
			return err
		}
		next, err := held.With(made.Latest())
		if err != nil {
			return fmt.Errorf("%s is not what the draft was made for: %w", ring.certificate(), err)
		}
		if err := ring.write(ring.certificate(), next.MarshalPEM(), 0o644); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
		held = next
	}
	if err := ring.settle(); err != nil {
		return fmt.Errorf("putting the new signing key in its place: %w", err)
	}
	if err := os.Remove(ring.draftFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return tellChange(t.Out, ring, before, held)
}

// expects refuses a certificate that would leave the publisher without a key: neither
// the key in use nor the one to come is listed.
func (r keyring) expects(made signing.Certificate) error {
	for _, path := range []string{r.next(), r.key} {
		if public, ok, err := publicOf(path); err == nil && ok && made.Latest().Lists(public) {
			return nil
		}
	}
	return fmt.Errorf("the draft lists neither %s nor %s: it was begun beside another key", r.next(), r.key)
}

func (r keyring) draftFile() string { return r.key + ".draft" }

// undrafted refuses to begin a change while others are asked to sign one. A draft that
// is in force, or that something else overtook, is none any more.
func (r keyring) undrafted(held signing.Certificate) error {
	if _, err := os.Lstat(r.draftFile()); err != nil {
		return nil
	}
	if d, err := readDraft(r.draftFile()); err == nil && held != nil && d.State().Version <= held.Latest().Version {
		return os.Remove(r.draftFile())
	}
	return fmt.Errorf("%s is on its way already: bring it to its end with feedtree key sign, or remove it if nobody is to sign it any more", r.draftFile())
}

// draft writes what others are to sign.
func (r keyring) draft(held signing.Certificate, state signing.KeyState, by []*signing.Identity) error {
	d, err := signing.NewDraft(held, state)
	if err != nil {
		return err
	}
	for _, id := range by {
		if err := d.Sign(id); err != nil && signing.ReasonOf(err) != signing.ReasonStale { // a key that is named twice
			return err
		}
	}
	if err := r.write(r.draftFile(), d.MarshalPEM(), 0o644); err != nil {
		return fmt.Errorf("writing the draft: %w", err)
	}
	return nil
}

func readDraft(path string) (*signing.Draft, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the draft: %w", err)
	}
	d, err := signing.ParseDraft(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// tellDraft says what was written, and what to do with it.
func tellDraft(out io.Writer, ring keyring) error {
	d, err := readDraft(ring.draftFile())
	if err != nil {
		return err
	}
	describeDraft(out, d)
	return tellMissing(out, d, ring.draftFile())
}

func tellMissing(out io.Writer, d *signing.Draft, path string) error {
	own, before := d.Missing()
	fmt.Fprintf(out, "\nNot in force yet: ")
	switch {
	case d.Before() == nil || d.Before().Latest().Roots.Equal(d.State().Roots):
		fmt.Fprintf(out, "%d more of the root keys must sign.\n", own)
	default:
		fmt.Fprintf(out, "%d more of the root keys before and %d more of the new ones must sign.\n", before, own)
	}
	_, err := fmt.Fprintf(out, "Send %s to who holds one: feedtree key sign --root FILE %[1]s\n", path)
	return err
}

// describeDraft says what a signature would change.
func describeDraft(out io.Writer, d *signing.Draft) {
	s := d.State()
	last := &signing.KeyState{}
	if d.Before() != nil {
		last = d.Before().Latest()
	}
	fmt.Fprintf(out, "Feed:         %s\nVersion:      %d of %s, after %d\n", s.URL, s.Version, day(s.Issued), last.Version)
	if s.Roots.Equal(last.Roots) {
		fmt.Fprintf(out, "Root keys:    as before, %v: %d, of which %d must sign\n", s.Fingerprint(), len(s.Roots.Keys), s.Roots.Threshold)
	} else {
		fmt.Fprintf(out, "Root keys:    OTHERS, %v: %d, of which %d must sign; before: %v\n", s.Fingerprint(), len(s.Roots.Keys), s.Roots.Threshold, last.Fingerprint())
	}
	for _, k := range s.Signing {
		what := "stays"
		if !last.Lists(k.Key) {
			what = "NEW"
		}
		fmt.Fprintf(out, "Signing key:  %v until %s, %s\n", k.Key.Fingerprint(), day(k.Until), what)
	}
	for _, k := range last.Signing {
		if !s.Lists(k.Key) {
			fmt.Fprintf(out, "Signing key:  %v is no longer listed\n", k.Key.Fingerprint())
		}
	}
	describeRevoked(out, s.Revoked, last.Revoked)
	for _, by := range s.Signatures {
		fmt.Fprintf(out, "Signed by:    %v\n", by.Key.Fingerprint())
	}
}

func describeRevoked(out io.Writer, now, before []signing.Revocation) {
	for _, r := range now {
		what := "NEW"
		if slices.Contains(before, r) {
			what = "as before"
		}
		fmt.Fprintf(out, "Revoked:      %v, whose last word was %d/%d, %s\n", r.Key.Fingerprint(), r.Epoch, r.Seq, what)
	}
	for _, r := range before {
		if !slices.ContainsFunc(now, func(n signing.Revocation) bool { return n.Key == r.Key }) {
			fmt.Fprintf(out, "Revoked:      %v NO LONGER\n", r.Key.Fingerprint())
		}
	}
}
