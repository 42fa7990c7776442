package signing

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// ErrPassphrase is in the chain of the errors a better passphrase may cure:
// none was given for an encrypted key file, or the wrong one.
var ErrPassphrase = errors.New("passphrase")

const (
	blockOpenSSH    = "OPENSSH PRIVATE KEY"
	blockPKCS8      = "PRIVATE KEY"
	blockPKCS8Enc   = "ENCRYPTED PRIVATE KEY"
	maxKeyFile      = 64 << 10
	sshEd25519      = ssh.KeyAlgoED25519
	sshMagic        = "openssh-key-v1\x00"
	makeKey         = "make one with: ssh-keygen -t ed25519"
	decryptWithSSL  = "decrypt it with: openssl pkcs8 -in FILE -out NEWFILE"
	convertWithSSH  = "rewrite a copy of it with: ssh-keygen -p -f COPY"
	restoreKey      = "restore it from a backup"
	convertWithPuTT = "convert it with: puttygen FILE -O private-openssh-new -o NEWFILE"
)

// ParseIdentity reads a private key file: as MarshalPEM writes it, OpenSSH's own
// format, encrypted or not, or an unencrypted PKCS#8 PEM. passphrase is called once, and only if the
// file is encrypted and holds an Ed25519 key; nil means there is none. The
// errors say what is wrong and what to do; the caller adds the file's name.
func ParseIdentity(file []byte, passphrase func() ([]byte, error)) (*Identity, error) {
	if len(file) > maxKeyFile {
		return nil, fmt.Errorf("not a key file: %d bytes, a key file has at most %d", len(file), maxKeyFile)
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, explainNoBlock(file)
	}
	switch block.Type {
	case sealedBlock:
		return unseal(block, passphrase)
	case blockOpenSSH:
		return parseOpenSSH(file, block.Bytes, passphrase)
	case blockPKCS8:
		return parsePKCS8(block.Bytes)
	case blockPKCS8Enc:
		return nil, errors.New("an encrypted PKCS#8 file is not supported; " + decryptWithSSL)
	}
	if algorithm, ok := strings.CutSuffix(block.Type, " "+blockPKCS8); ok {
		return nil, notEd25519(algorithm)
	}
	return nil, fmt.Errorf("the file holds a %s, not a private key", strings.ToLower(block.Type))
}

func explainNoBlock(file []byte) error {
	text := bytes.TrimSpace(file)
	switch {
	case len(text) == 0:
		return errors.New("the key file is empty; " + makeKey)
	case bytes.HasPrefix(text, []byte("ssh-")), bytes.HasPrefix(text, []byte("ecdsa-")):
		return errors.New("this is the public key; the private key is in the file of that name without .pub")
	case bytes.HasPrefix(text, []byte("PuTTY-User-Key-File")):
		return errors.New("a PuTTY key file is not supported; " + convertWithPuTT)
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return errors.New("the key file is truncated or damaged: it begins a PEM block that does not end or decode; " + restoreKey)
	}
	return errors.New("not a private key file: no PEM block in it; " + makeKey)
}

func notEd25519(algorithm string) error {
	return fmt.Errorf("the file holds a key of type %s, feedtree signs with Ed25519 only; %s", algorithm, makeKey)
}

// openSSHOuter is the unencrypted outside of OpenSSH's format (PROTOCOL.key),
// after its magic.
type openSSHOuter struct {
	Cipher, KDF, KDFOptions string
	Keys                    uint32
	Public                  []byte
	Private                 []byte
	Tag                     []byte `ssh:"rest"` // of an authenticated cipher
}

func parseOpenSSH(file, body []byte, passphrase func() ([]byte, error)) (*Identity, error) {
	public, encrypted, err := openSSHPublic(body)
	if err != nil {
		return nil, err
	}
	var raw any
	if encrypted {
		raw, err = decryptOpenSSH(file, passphrase)
	} else {
		raw, err = ssh.ParseRawPrivateKey(file)
	}
	if err != nil {
		return nil, explainOpenSSH(err)
	}
	key, ok := raw.(*ed25519.PrivateKey)
	if !ok {
		return nil, notEd25519(fmt.Sprintf("%T", raw))
	}
	id, err := FromPrivateKey(*key)
	if err != nil {
		return nil, fmt.Errorf("OpenSSH key file: %w", err)
	}
	if id.public != public {
		return nil, fmt.Errorf("OpenSSH key file: %w", errHalves)
	}
	return id, nil
}

// openSSHPublic reads the public key that stands outside the encryption, so
// that nobody types a passphrase for a key that cannot be used.
func openSSHPublic(body []byte) (public PublicKey, encrypted bool, err error) {
	damaged := errors.New("the OpenSSH key file is truncated or damaged; " + restoreKey)
	rest, ok := bytes.CutPrefix(body, []byte(sshMagic))
	var outer openSSHOuter
	if !ok || ssh.Unmarshal(rest, &outer) != nil {
		return public, false, damaged
	}
	var blob struct {
		Algorithm string
		Rest      []byte `ssh:"rest"`
	}
	if ssh.Unmarshal(outer.Public, &blob) != nil {
		return public, false, damaged
	}
	if blob.Algorithm != sshEd25519 {
		return public, false, notEd25519(fmt.Sprintf("%.40q", blob.Algorithm))
	}
	if len(blob.Rest) != 4+len(public) {
		return public, false, damaged
	}
	return PublicKey(blob.Rest[4:]), outer.Cipher != "none", nil
}

func decryptOpenSSH(file []byte, passphrase func() ([]byte, error)) (any, error) {
	secret, err := askFor(passphrase)
	if err != nil {
		return nil, err
	}
	return ssh.ParseRawPrivateKeyWithPassphrase(file, secret)
}

var errWrongPassphrase = fmt.Errorf("wrong %w for the key file, or the file is damaged; try again", ErrPassphrase)

// askFor asks for the passphrase of a file that is encrypted.
func askFor(passphrase func() ([]byte, error)) ([]byte, error) {
	needed := fmt.Errorf("the key file is encrypted: its %w is needed", ErrPassphrase)
	if passphrase == nil {
		return nil, needed
	}
	secret, err := passphrase()
	if err != nil {
		return nil, fmt.Errorf("the key file is encrypted, asking for its %w: %w", ErrPassphrase, err)
	}
	if len(secret) == 0 {
		return nil, needed
	}
	return secret, nil
}

func explainOpenSSH(err error) error {
	switch {
	case errors.Is(err, ErrPassphrase):
		return err
	case errors.Is(err, x509.IncorrectPasswordError):
		return errWrongPassphrase
	case strings.Contains(err.Error(), "unknown cipher"), strings.Contains(err.Error(), "unknown KDF"):
		return fmt.Errorf("OpenSSH key file: %w; %s", err, convertWithSSH)
	}
	return fmt.Errorf("the OpenSSH key file is truncated or damaged: %w; %s", err, restoreKey)
}

func parsePKCS8(der []byte) (*Identity, error) {
	raw, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("the PKCS#8 key file is truncated, damaged or of an unknown kind: %w", err)
	}
	key, ok := raw.(ed25519.PrivateKey)
	if !ok {
		return nil, notEd25519(strings.TrimPrefix(fmt.Sprintf("%T", raw), "*"))
	}
	return FromPrivateKey(key)
}

// MarshalPEM returns the private key for a file that only its owner may read: in
// OpenSSH's format, or, unless passphrase is nil, encrypted with that in our own,
// which takes a guesser longer and has no room for the comment. An empty
// passphrase is an error, so that a slip never leaves a key in the open.
func (id *Identity) MarshalPEM(comment string, passphrase []byte) ([]byte, error) {
	var block *pem.Block
	var err error
	switch {
	case passphrase == nil:
		block, err = ssh.MarshalPrivateKey(id.key, comment)
	case len(passphrase) == 0:
		return nil, fmt.Errorf("encrypting the key: empty %w; give one, or none at all to store the key unencrypted", ErrPassphrase)
	default:
		block, err = id.seal(passphrase, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the key: %w", err)
	}
	return pem.EncodeToMemory(block), nil
}
