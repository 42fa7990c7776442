package signing

import (
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// The files of testdata/keys were made by ssh-keygen (OpenSSH 9) and openssl 3,
// for these tests alone.
func keyFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "keys", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func secret(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s), nil }
}

func unasked(t testing.TB) func() ([]byte, error) {
	return func() ([]byte, error) {
		t.Error("asked for a passphrase that is of no use")
		return nil, errors.New("unasked")
	}
}

func authorizedKey(t testing.TB, line []byte) PublicKey {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey(line)
	if err != nil {
		t.Fatal(err)
	}
	wire := key.Marshal()
	return PublicKey(wire[len(wire)-32:])
}

func TestParseIdentity(t *testing.T) {
	for name, passphrase := range map[string]func() ([]byte, error){
		"ed25519":        unasked(t),
		"ed25519-locked": secret("correct horse"),
		"ed25519-cbc":    secret("correct horse"),
	} {
		id, err := ParseIdentity(keyFile(t, name), passphrase)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want := authorizedKey(t, keyFile(t, name+".pub")); id.Public() != want {
			t.Errorf("%s: public key %v, want %v", name, id.Public(), want)
		}
	}
	id, err := ParseIdentity(keyFile(t, "pkcs8.pem"), unasked(t))
	if want := strings.TrimSpace(string(keyFile(t, "pkcs8.pub"))); err != nil || id.Public().String() != want {
		t.Errorf("pkcs8.pem: %v, %v, want %v", id, err, want)
	}
}

func TestParseIdentityPassphrase(t *testing.T) {
	locked := keyFile(t, "ed25519-locked")
	closed := errors.New("terminal closed")
	asked := 0
	for name, c := range map[string]struct {
		ask  func() ([]byte, error)
		says string
	}{
		"nobody to ask": {nil, "is encrypted: its passphrase is needed"},
		"empty":         {secret(""), "is encrypted: its passphrase is needed"},
		"wrong":         {func() ([]byte, error) { asked++; return []byte("wrong horse"), nil }, "wrong passphrase"},
		"failing":       {func() ([]byte, error) { return nil, closed }, "terminal closed"},
	} {
		id, err := ParseIdentity(locked, c.ask)
		if id != nil || !errors.Is(err, ErrPassphrase) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "failing" && !errors.Is(err, closed) {
			t.Errorf("%s: the cause is lost: %v", name, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once: asking again is the caller's choice", asked)
	}
}

func TestParseIdentityRefuses(t *testing.T) {
	plain := keyFile(t, "ed25519")
	lines := strings.SplitAfter(string(plain), "\n")
	withoutLine := strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), "")
	for name, c := range map[string]struct {
		file []byte
		says []string
	}{
		"rsa":            {keyFile(t, "rsa"), []string{`"ssh-rsa"`, "Ed25519 only", "ssh-keygen -t ed25519"}},
		"rsa, PKCS#1":    {keyFile(t, "rsa-pkcs1"), []string{"type RSA", "Ed25519 only"}},
		"rsa, PKCS#8":    {keyFile(t, "pkcs8-rsa.pem"), []string{"rsa.PrivateKey", "Ed25519 only"}},
		"ecdsa, locked":  {keyFile(t, "ecdsa-locked"), []string{`"ecdsa-sha2-nistp256"`, "Ed25519 only"}},
		"PKCS#8, locked": {keyFile(t, "pkcs8-locked.pem"), []string{"encrypted PKCS#8", "openssl pkcs8 -in FILE"}},
		"public key":     {keyFile(t, "ed25519.pub"), []string{"public key", "without .pub"}},
		"public PEM":     {keyFile(t, "public.pem"), []string{"a public key, not a private key"}},
		"X.509":          {keyFile(t, "x509.pem"), []string{"a certificate, not a private key"}},
		"ours":           {Certificate{fullState(t)}.MarshalPEM(), []string{"a feedtree key state, not a private key"}},
		"X25519":         {keyFile(t, "pkcs8-x25519.pem"), []string{"ecdh.PrivateKey", "Ed25519 only"}},
		"PuTTY":          {[]byte("PuTTY-User-Key-File-3: ssh-ed25519\n"), []string{"puttygen"}},
		"empty":          {[]byte(" \n"), []string{"empty", "ssh-keygen"}},
		"text":           {[]byte("hello"), []string{"no PEM block"}},
		"huge":           {make([]byte, maxKeyFile+1), []string{"65537 bytes"}},
		"cut short":      {plain[:len(plain)/2], []string{"truncated or damaged", "backup"}},
		"a line missing": {[]byte(withoutLine), []string{"truncated or damaged", "backup"}},
		"no key in it":   {[]byte("-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n"), []string{"truncated or damaged"}},
		"bad PKCS#8":     {[]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), []string{"PKCS#8", "truncated"}},
	} {
		id, err := ParseIdentity(c.file, unasked(t))
		if id != nil || err == nil || errors.Is(err, ErrPassphrase) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", name, err, s)
			}
		}
	}
	_, err := ParseIdentity(keyFile(t, "ed25519-gcm"), secret("correct horse"))
	if err == nil || !strings.Contains(err.Error(), "aes256-gcm") || !strings.Contains(err.Error(), "ssh-keygen -p -f COPY") {
		t.Errorf("a cipher that is not supported: %v", err)
	}
}

// A file in which any one byte of the key material changed never yields another
// key: at worst its comment or the check numbers differ.
func TestParseIdentityNoticesDamage(t *testing.T) {
	id := testIdentity(t, 0)
	file, err := id.MarshalPEM("comment", nil)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range file {
		damaged := bytes.Clone(file)
		if damaged[i]++; damaged[i] == file[i] {
			continue
		}
		got, err := ParseIdentity(damaged, nil)
		if err != nil {
			refused++
		} else if got.Public() != id.Public() {
			t.Fatalf("byte %d altered: another key", i)
		}
	}
	if refused < len(file)/2 {
		t.Errorf("only %d of %d damages noticed", refused, len(file))
	}
}

func TestParseIdentityComparesPublicKeys(t *testing.T) {
	id := testIdentity(t, 0)
	file, err := id.MarshalPEM("", nil)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(file)
	outside := bytes.Index(block.Bytes, id.public[:])
	block.Bytes[outside] ^= 1
	if got, err := ParseIdentity(pem.EncodeToMemory(block), nil); got != nil || !errors.Is(err, errHalves) {
		t.Errorf("another public key outside: %v", err)
	}
}

func TestMarshalPEM(t *testing.T) {
	id := testIdentity(t, 0)
	for name, passphrase := range map[string][]byte{"plain": nil, "locked": []byte("päss phrase")} {
		file, err := id.MarshalPEM("feedtree", passphrase)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseIdentity(file, func() ([]byte, error) { return passphrase, nil })
		if err != nil || got.Public() != id.Public() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if _, err := ParseIdentity(file, nil); (passphrase != nil) != errors.Is(err, ErrPassphrase) {
			t.Errorf("%s: without passphrase: %v", name, err)
		}
	}
	if _, err := id.MarshalPEM("", []byte{}); !errors.Is(err, ErrPassphrase) {
		t.Errorf("an empty passphrase: %v", err)
	}
}

// OpenSSH itself reads what we write, and we read what it writes today.
func TestWithSSHKeygen(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed; testdata/keys has files that it made")
	}
	run := func(args ...string) []byte {
		t.Helper()
		out, err := exec.Command(keygen, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	for _, passphrase := range []string{"", "over the hills"} {
		theirs := filepath.Join(t.TempDir(), "theirs")
		run("-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", theirs)
		file, err := os.ReadFile(theirs)
		if err != nil {
			t.Fatal(err)
		}
		public, err := os.ReadFile(theirs + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		id, err := ParseIdentity(file, secret(passphrase))
		if err != nil || id.Public() != authorizedKey(t, public) {
			t.Fatalf("theirs, passphrase %q: %v, %v", passphrase, id, err)
		}

		if file, err = id.MarshalPEM("feedtree of example.org", nil); err != nil {
			t.Fatal(err)
		}
		ours := filepath.Join(t.TempDir(), "ours")
		if err := os.WriteFile(ours, file, 0o600); err != nil {
			t.Fatal(err)
		}
		out := run("-y", "-P", "", "-f", ours)
		if authorizedKey(t, out) != id.Public() || !bytes.Contains(out, []byte("feedtree of example.org")) {
			t.Errorf("ours, passphrase %q: ssh-keygen reads %s", passphrase, out)
		}
	}
}

func FuzzParseIdentity(f *testing.F) {
	files, err := filepath.Glob("testdata/keys/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		f.Add(keyFile(f, filepath.Base(name)))
	}
	fuzz.Hold(f, func(t *testing.T, file []byte) {
		id, err := ParseIdentity(file, nil)
		if (id == nil) == (err == nil) {
			t.Fatalf("%v, %v", id, err)
		}
		if err != nil {
			return
		}
		again, err := id.MarshalPEM("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseIdentity(again, nil); err != nil || got.Public() != id.Public() {
			t.Fatalf("marshal then parse: %v", err)
		}
	})
}
