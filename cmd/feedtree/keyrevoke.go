package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree/signing"
)

type keyRevokeCmd struct {
	Which string  `arg:"" optional:"" help:"Fingerprint or file of the key to take back. Default: the signing key itself."`
	Last  string  `help:"Its last word that counts, as EPOCH/SEQ: feedtree publish says the seq. 0/0: nothing it ever said. Default: what was last published from this machine." placeholder:"EPOCH/SEQ"`
	Data  *string `help:"Directory that remembers what was published: that of feedtree publish." placeholder:"DIR"`

	ringFlags
}

// Help teaches the command.
func (keyRevokeCmd) Help() string {
	return `Takes a signing key back, and makes a new one in its place. What the old key says after its last word is refused by whoever knows the new certificate, and what it said before stays.

Examples:

    feedtree key revoke --key feed.key
    feedtree key revoke --key feed.key --last 0/0 sha-256:…`
}

// Run revokes.
func (c keyRevokeCmd) Run(ctx context.Context, t terminal) error {
	return c.revoke(ctx, t, keyring{key: c.Key}, time.Now())
}

func (c keyRevokeCmd) revoke(ctx context.Context, t terminal, ring keyring, now time.Time) error {
	o, err := c.open(t, ring)
	if err != nil {
		return err
	}
	held := o.held
	if held == nil {
		return fmt.Errorf("%s is not there: a feed without a certificate has one key, which is its own root; give it a certificate with: feedtree key rotate --url", ring.certificate())
	}
	state := held.Latest()
	key, err := c.which(state, ring)
	if err != nil {
		return err
	}
	last, err := c.lastWord(ctx, held, key)
	if err != nil {
		return err
	}
	next := c.next(o, state.URL, now)
	next.revoke = []signing.Revocation{last}
	made, err := ring.advance(next)
	switch {
	case err != nil:
		return err
	case made == nil:
		return tellDraft(t.Out, ring)
	}
	fmt.Fprintf(t.Out, "Revoked:      %v, whose last word is %d/%d\n", key.Fingerprint(), last.Epoch, last.Seq)
	return tellChange(t.Out, ring, held, made)
}

// which finds the key that is meant among those listed.
func (c keyRevokeCmd) which(state *signing.KeyState, ring keyring) (signing.PublicKey, error) {
	var wanted signing.Fingerprint
	if f, err := signing.ParseFingerprint(c.Which); err == nil {
		wanted = f
	} else {
		path := c.Which
		if path == "" {
			path = ring.key
		}
		public, ok, err := publicOf(path)
		if err == nil && !ok {
			err = fs.ErrNotExist
		}
		if err != nil {
			return signing.PublicKey{}, fmt.Errorf("%s: %w; give a key file or a fingerprint of: feedtree key show %s", path, err, ring.certificate())
		}
		wanted = public.Fingerprint()
	}
	for _, k := range state.Signing {
		if k.Key.Fingerprint() == wanted {
			return k.Key, nil
		}
	}
	if slices.ContainsFunc(state.Revoked, func(r signing.Revocation) bool { return r.Key.Fingerprint() == wanted }) {
		return signing.PublicKey{}, fmt.Errorf("%v is revoked already, since version %d or before", wanted, state.Version)
	}
	return signing.PublicKey{}, fmt.Errorf("%v is no signing key of this feed: feedtree key show %s lists them", wanted, ring.certificate())
}

// lastWord is where the key's line ends, as far as it was its holder's.
func (c keyRevokeCmd) lastWord(ctx context.Context, held signing.Certificate, key signing.PublicKey) (signing.Revocation, error) {
	r := signing.Revocation{Key: key}
	if c.Last != "" {
		epoch, seq, ok := strings.Cut(c.Last, "/")
		var err1, err2 error
		r.Epoch, err1 = strconv.ParseUint(epoch, 10, 53)
		r.Seq, err2 = strconv.ParseUint(seq, 10, 53)
		if err := errors.Join(err1, err2); err != nil || !ok {
			return r, fmt.Errorf("--last %s: want EPOCH/SEQ, two numbers", c.Last)
		}
		return r, nil
	}
	unknown := fmt.Errorf("it is not known here what this key last published: say it with --last EPOCH/SEQ, or --last 0/0 if nothing it ever said shall count")
	dir, err := publisherDir(c.Data, held, key)
	if err != nil {
		return r, err
	}
	if _, err := os.Stat(filepath.Join(dir, "feedtree.db")); dir == "" || err != nil {
		return r, unknown
	}
	data, err := openData(dir)
	if err != nil {
		return r, err
	}
	defer data.Close() // only read
	lines, err := data.archive.Lines(ctx, held.Latest().Group())
	if err != nil {
		return r, err
	}
	for _, l := range lines {
		if l.Source == key {
			r.Epoch, r.Seq = l.Epoch, l.Seq
			return r, nil
		}
	}
	return r, unknown
}
