package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/feedtree/feedtree/signing"
)

// rootFlags say which root keys there are.
type rootFlags struct {
	Root      []string `help:"File of a root key. Repeatable. Default: the signing key's name and .root." type:"path" placeholder:"FILE"`
	Threshold int      `help:"How many of the root keys must sign a change. Default: most of them." placeholder:"N"`

	RootPassphraseFile string `help:"File whose first line is the passphrase of the root keys. FEEDTREE_ROOT_PASSPHRASE outranks it; without either that of the signing key is tried, then the terminal asks." type:"path" placeholder:"FILE"`
}

// secret returns the root keys' passphrase, nil if there is none.
func (f rootFlags) secret(signing []byte) ([]byte, error) {
	if s, ok := os.LookupEnv("FEEDTREE_ROOT_PASSPHRASE"); ok {
		return []byte(s), nil
	}
	if f.RootPassphraseFile == "" {
		return signing, nil
	}
	return firstLine(f.RootPassphraseFile)
}

// files are the root key files, of the flags or by default.
func (f rootFlags) files(ring keyring) []string {
	if len(f.Root) > 0 {
		return f.Root
	}
	return []string{ring.root()}
}

// load reads root keys. pass is what the signing key's passphrase is.
func (f rootFlags) load(t terminal, files []string, pass []byte) ([]*signing.Identity, error) {
	secret, err := f.secret(pass)
	if err != nil {
		return nil, err
	}
	var ids []*signing.Identity
	for _, path := range files {
		id, err := readIdentity(path, secret, t)
		if err != nil {
			return nil, fmt.Errorf("root %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// makeRoots reads the root keys that are there and makes the others.
func (f rootFlags) makeRoots(t terminal, ring keyring, pass []byte) ([]*signing.Identity, *signing.RootSet, error) {
	secret, err := f.secret(pass)
	if err != nil {
		return nil, nil, err
	}
	files, others, err := apart(f.files(ring))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		id, err := signing.Generate(nil)
		if err != nil {
			return nil, nil, err
		}
		pem, err := id.MarshalPEM("feedtree root", secret)
		if err != nil {
			return nil, nil, fmt.Errorf("root key: %w", err)
		}
		if err := ring.write(path, pem, 0o600); err != nil {
			return nil, nil, fmt.Errorf("writing the root key: %w", err)
		}
	}
	ids, err := f.load(t, files, pass)
	if err != nil {
		return nil, nil, err
	}
	set := rootSetOf(ids, others, f.Threshold)
	return ids, &set, nil
}

// apart tells files of private root keys from those of public ones, whose holders sign
// elsewhere.
func apart(files []string) (private []string, others []signing.PublicKey, err error) {
	for _, path := range files {
		if !strings.HasSuffix(path, ".pub") {
			private = append(private, path)
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the root key: %w", err)
		}
		key, err := signing.ParsePublic(file)
		if err != nil {
			return nil, nil, fmt.Errorf("root key %s: %w", path, err)
		}
		others = append(others, key)
	}
	return private, others, nil
}

func rootSetOf(ids []*signing.Identity, others []signing.PublicKey, threshold int) signing.RootSet {
	set := signing.RootSet{Threshold: threshold, Keys: slices.Clone(others)}
	for _, id := range ids {
		set.Keys = append(set.Keys, id.Public())
	}
	slices.SortFunc(set.Keys, func(a, b signing.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	if threshold == 0 {
		set.Threshold = len(set.Keys)/2 + 1
	}
	return set
}

// enough reports whether the root keys at hand can make a change of the state in force
// by themselves. If not, it takes others' signatures, too.
func enough(state *signing.KeyState, ids []*signing.Identity, files []string) (bool, error) {
	has := 0
	for _, id := range ids {
		if slices.Contains(state.Roots.Keys, id.Public()) {
			has++
		}
	}
	if len(ids) > 0 && has == 0 {
		return false, fmt.Errorf("%s: not a root key of this certificate, whose root keys have the fingerprint %v: name its root key with --root FILE", files[0], state.Fingerprint())
	}
	return has >= state.Roots.Threshold, nil
}

// atHand are the files of the root keys on this machine. Where several have to sign,
// there need be none.
func (f rootFlags) atHand(ring keyring, state *signing.KeyState) []string {
	if len(f.Root) == 0 && state.Roots.Threshold > 1 {
		if _, err := os.Lstat(ring.root()); err != nil {
			return nil
		}
	}
	return f.files(ring)
}
