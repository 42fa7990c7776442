package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// keyring is the files of a feed's keys, named after that of the signing key. An
// interruption between any two writes leaves a certificate that lists the key
// beside it, the old one or the new, or what settle makes that of.
type keyring struct {
	key  string
	step func(done string) // tests stop here; nil otherwise
}

func (r keyring) certificate() string { return r.key + ".pem" }
func (r keyring) root() string        { return r.key + ".root" }
func (r keyring) next() string        { return r.key + ".next" } // the signing key to come

func (r keyring) did(what string) {
	if r.step != nil {
		r.step(what)
	}
}

// read returns the certificate, nil if there is none.
func (r keyring) read() (signing.Certificate, error) { return readCertificate(r.certificate()) }

// readCertificate returns the certificate in a file, nil if there is no such file.
func readCertificate(path string) (signing.Certificate, error) {
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	c, err := signing.ParseCertificate(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// settle ends what an interrupted change left undone: the certificate lists the
// next key, which has not taken its place yet. A next key that it does not list
// is left for the change to be tried again.
func (r keyring) settle() error {
	c, err := r.read()
	if err != nil || c == nil {
		return err
	}
	public, ok, err := publicOf(r.next())
	if err != nil || !ok || !c.Latest().Lists(public) {
		return err
	}
	return r.promote()
}

func (r keyring) promote() error {
	if err := os.Rename(r.next(), r.key); err != nil {
		return err
	}
	r.did("renamed the signing key")
	return syncDir(filepath.Dir(r.key))
}

// write replaces a file, whole or not at all.
func (r keyring) write(path string, data []byte, mode fs.FileMode) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	err = f.Chmod(mode) // it may be there from an interrupted run
	if err == nil {
		_, err = f.Write(data)
	}
	r.did("wrote " + tmp)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	r.did("synced " + tmp)
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	r.did("renamed to " + path)
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames in a directory durable, where the system lets it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system knows how
	return d.Close()
}

// publicOf returns the public key in a key file without its passphrase; false if
// there is no such file. Of an encrypted file of OpenSSH it cannot be had.
func publicOf(path string) (signing.PublicKey, bool, error) {
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return signing.PublicKey{}, false, nil
	}
	if err != nil {
		return signing.PublicKey{}, false, err
	}
	if public, ok := signing.SealedPublic(file); ok {
		return public, true, nil
	}
	id, err := signing.ParseIdentity(file, nil)
	if err != nil {
		return signing.PublicKey{}, false, fmt.Errorf("key %s: %w", path, err)
	}
	return id.Public(), true, nil
}

// change is what the next key state says that this one does not.
type change struct {
	feed      string              // canonical URL; of the first state only
	roots     []*signing.Identity // all that sign
	rootSet   *signing.RootSet    // from now on; nil: as before
	partly    bool                // others are to sign it, too
	revoke    []signing.Revocation
	days      int
	now       time.Time
	encrypt   []byte // passphrase of the next signing key; nil: none
	comment   string
	passNext  func() ([]byte, error) // of one that an interrupted run left
	keepsKeys bool                   // no new signing key
}

// advance makes the next key state, and the signing key that it lists, in an
// order that can be interrupted: the next key, the certificate, and then the one
// takes the place of the other.
func (r keyring) advance(c change) (signing.Certificate, error) {
	held, err := r.read()
	if err != nil {
		return nil, err
	}
	if err := r.undrafted(held); err != nil {
		return nil, err
	}
	state := c.from(held)
	if !c.keepsKeys {
		next, err := r.nextKey(c)
		if err != nil {
			return nil, err
		}
		state.Signing = append(state.Signing, signing.SigningKey{Key: next, Until: state.Issued.Add(time.Duration(c.days) * 24 * time.Hour)})
	}
	if c.partly {
		return nil, r.draft(held, state, c.roots)
	}
	signed, err := signing.SignKeyState(state, c.roots...)
	if err != nil {
		return nil, err
	}
	made, err := held.With(signed)
	if err != nil {
		return nil, err
	}
	if err := r.write(r.certificate(), made.MarshalPEM(), 0o644); err != nil {
		return nil, fmt.Errorf("writing the certificate: %w", err)
	}
	if c.keepsKeys {
		return made, nil
	}
	if err := r.promote(); err != nil {
		return nil, fmt.Errorf("putting the new signing key in its place: %w", err)
	}
	return made, nil
}

// clockSlack is how far back a state is dated: a clock that is somewhat behind
// shall not find it in the future.
const clockSlack = time.Minute

// from is the state before the change, with what changes but a new signing key.
func (c change) from(held signing.Certificate) signing.KeyState {
	issued := c.now.Add(-clockSlack).UTC().Truncate(time.Second)
	if held == nil {
		return signing.KeyState{URL: c.feed, Version: 1, Issued: issued, Roots: *c.rootSet}
	}
	state := *held.Latest()
	state.Version++
	state.Issued = issued
	if c.rootSet != nil {
		state.Roots = *c.rootSet
	}
	state.Signing = slices.DeleteFunc(slices.Clone(state.Signing), func(k signing.SigningKey) bool {
		// One that ends far in the future, by a clock that was wrong, would not be let in.
		return !k.Until.After(issued) || k.Until.Sub(issued) > signing.MaxSigning || c.revokes(k.Key)
	})
	state.Revoked = slices.DeleteFunc(slices.Clone(state.Revoked), func(r signing.Revocation) bool { return c.revokes(r.Key) })
	state.Revoked = append(state.Revoked, c.revoke...)
	return state
}

func (c change) revokes(key signing.PublicKey) bool {
	return slices.ContainsFunc(c.revoke, func(r signing.Revocation) bool { return r.Key == key })
}

// nextKey returns the key to come: the one that an interrupted run left, or a new
// one.
func (r keyring) nextKey(c change) (signing.PublicKey, error) {
	if file, err := os.ReadFile(r.next()); err == nil {
		if id, err := signing.ParseIdentity(file, c.passNext); err == nil {
			return id.Public(), nil
		}
	}
	id, err := signing.Generate(nil)
	if err != nil {
		return signing.PublicKey{}, err
	}
	pem, err := id.MarshalPEM(c.comment, c.encrypt)
	if err != nil {
		return signing.PublicKey{}, err
	}
	if err := r.write(r.next(), pem, 0o600); err != nil {
		return signing.PublicKey{}, fmt.Errorf("writing the new signing key: %w", err)
	}
	return id.Public(), nil
}
