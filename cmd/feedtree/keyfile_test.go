package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The passphrase is looked for in the environment, in the file that was named,
// and where systemd puts credentials, in this order.
func TestPassphraseGiven(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"passphrase": "systemd\nmore", "file": "file\r\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(file, want string) {
		t.Helper()
		p := passphraseFlags{}
		if file != "" {
			p.PassphraseFile = filepath.Join(dir, file)
		}
		if got, err := p.given(); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", file, got, err, want)
		}
	}
	check("", "")
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	check("", "")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	check("", "systemd")
	check("file", "file")
	if got, err := (passphraseFlags{PassphraseFile: filepath.Join(dir, "empty")}).given(); err == nil {
		t.Errorf("an empty file gives %q", got)
	}
	t.Setenv("FEEDTREE_PASSPHRASE", "environment")
	check("file", "environment")
}
