package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/feedtree/feedtree/signing"
)

// passphraseFlags say where the passphrase of a key file is found. It is never a
// flag itself: command lines can be read by others.
type passphraseFlags struct {
	PassphraseFile string `help:"File whose first line is the key's passphrase. FEEDTREE_PASSPHRASE outranks it. Without either: systemd's credential named passphrase, or the terminal asks." type:"path" placeholder:"FILE"`
}

// credential is the name under which systemd is given the passphrase, with
// LoadCredential= or LoadCredentialEncrypted= in the unit.
const credential = "passphrase"

// given returns the passphrase from environment, file or systemd, nil if none has
// one.
func (p passphraseFlags) given() ([]byte, error) {
	if s, ok := os.LookupEnv("FEEDTREE_PASSPHRASE"); ok {
		return []byte(s), nil
	}
	path := p.PassphraseFile
	if path == "" {
		if path = credentialFile(); path == "" {
			return nil, nil
		}
	}
	return firstLine(path)
}

func firstLine(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the passphrase: %w", err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return nil, fmt.Errorf("reading the passphrase: the first line of %s is empty", path)
	}
	return line, nil
}

// credentialFile is where systemd put the passphrase, if it did.
func credentialFile() string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, credential)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// readKey reads a publisher's key.
func (p passphraseFlags) readKey(path string, t terminal) (*signing.Identity, error) {
	pass, err := p.given()
	if err != nil {
		return nil, err
	}
	return readIdentity(path, pass, t)
}

// readIdentity reads a private key, and asks for its passphrase if it needs one
// and none was given.
func readIdentity(path string, pass []byte, t terminal) (*signing.Identity, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w; feedtree keygen makes one", err)
	}
	id, err := signing.ParseIdentity(data, func() ([]byte, error) {
		if pass != nil {
			return pass, nil
		}
		return ask(t, "Passphrase of "+path+": ")
	})
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", path, err)
	}
	return id, nil
}

var errNobodyToAsk = errors.New("there is no terminal to ask at: set FEEDTREE_PASSPHRASE or --passphrase-file")

// ask reads a passphrase without showing it.
func ask(t terminal, prompt string) ([]byte, error) {
	in, ok := t.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, errNobodyToAsk
	}
	fmt.Fprint(t.Err, prompt)
	defer fmt.Fprintln(t.Err)
	return term.ReadPassword(int(in.Fd()))
}
