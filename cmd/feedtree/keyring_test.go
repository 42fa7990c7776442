package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// killed unwinds a command at one of its steps, as a power cut would: nothing that
// stands after the step is done.
type killed struct{}

// killedAt runs a command that is killed after n steps. It reports false if it came
// to its end before.
func killedAt(t *testing.T, path string, n int, run func(keyring) error) (dead bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			dead = true
		}
	}()
	if err := run(keyring{key: path, step: func(string) {
		if n--; n < 0 {
			panic(killed{})
		}
	}}); err != nil {
		t.Fatal(err)
	}
	return false
}

// usable fails unless a publisher could publish with what is there, and returns the
// version it would go by.
func usable(t *testing.T, path string) uint32 {
	t.Helper()
	ring := keyring{key: path}
	if err := ring.settle(); err != nil {
		t.Fatal(err)
	}
	cert, err := ring.read()
	if err != nil {
		t.Fatal(err)
	}
	public, ok, err := publicOf(path)
	if err != nil || !ok {
		t.Fatalf("the signing key: %v, %v", ok, err)
	}
	if cert == nil || !cert.Latest().Lists(public) {
		t.Fatalf("the certificate does not list the key beside it")
	}
	return cert.Latest().Version
}

func nobody() terminal { return terminal{In: bytes.NewReader(nil), Out: io.Discard, Err: io.Discard} }

const testFeed = "https://example.org/feed.xml"

func ringFlagsOf(path string) ringFlags {
	return ringFlags{Key: path, lifeFlag: lifeFlag{Days: 90}}
}

func TestKeygenSurvivesBeingKilledAnywhere(t *testing.T) {
	now := time.Now()
	for n := 0; ; n++ {
		path := filepath.Join(t.TempDir(), "feed.key")
		run := func(ring keyring) error {
			return keygenCmd{Out: path, URL: testFeed, lifeFlag: lifeFlag{Days: 90}}.make(nobody(), ring, now)
		}
		dead := killedAt(t, path, n, run)
		if _, err := os.Stat(path); dead && err != nil {
			if err := run(keyring{key: path}); err != nil { // again, as people do
				t.Fatalf("killed after %d steps, the next run: %v", n, err)
			}
		}
		if v := usable(t, path); v != 1 {
			t.Errorf("killed after %d steps: version %d", n, v)
		}
		if !dead {
			if n < 8 {
				t.Errorf("only %d steps", n)
			}
			return
		}
	}
}

// Whatever the moment, what is left is the keys before or those after, and running
// the command again ends it.
func TestKeyChangesSurviveBeingKilledAnywhere(t *testing.T) {
	now := time.Now()
	for name, command := range map[string]func(path string) func(keyring) error{
		"rotate": func(path string) func(keyring) error {
			c := keyRotateCmd{ringFlags: ringFlagsOf(path)}
			return func(ring keyring) error { return c.rotate(nobody(), ring, now) }
		},
		"new root": func(path string) func(keyring) error {
			c := keyRotateCmd{ringFlags: ringFlagsOf(path), NewRoot: []string{path + ".fresh"}}
			return func(ring keyring) error { return c.rotate(nobody(), ring, now) }
		},
		"revoke": func(path string) func(keyring) error {
			c := keyRevokeCmd{ringFlags: ringFlagsOf(path), Last: "3/4"}
			return func(ring keyring) error { return c.revoke(t.Context(), nobody(), ring, now) }
		},
	} {
		for n, dead := 0, true; dead; n++ {
			path := filepath.Join(t.TempDir(), "feed.key")
			if err := (keygenCmd{Out: path, URL: testFeed, lifeFlag: lifeFlag{Days: 90}}).make(nobody(), keyring{key: path}, now); err != nil {
				t.Fatal(err)
			}
			before, err := keyring{key: path}.read()
			if err != nil {
				t.Fatal(err)
			}
			dead = killedAt(t, path, n, command(path))
			version := usable(t, path)
			after, err := keyring{key: path}.read()
			switch {
			case err != nil:
				t.Fatal(err)
			case version == 1 && !after.Latest().Equal(before.Latest()):
				t.Errorf("%s, killed after %d steps: neither the keys before nor those after", name, n)
			case !dead && version != 2:
				t.Errorf("%s: version %d", name, version)
			}
			if version == 1 {
				if err := command(path)(keyring{key: path}); err != nil {
					t.Errorf("%s, killed after %d steps, the next run: %v", name, n, err)
				}
				if v := usable(t, path); v != 2 {
					t.Errorf("%s, killed after %d steps, the next run: version %d", name, n, v)
				}
			}
			if _, err := before.Learn(after); err != nil {
				t.Errorf("%s, killed after %d steps: subscribers do not follow: %v", name, n, err)
			}
		}
	}
}

// The one key of a feed becomes its root: at no moment is it in no file.
func TestTheFirstCertificateSurvivesBeingKilledAnywhere(t *testing.T) {
	now := time.Now()
	for n, dead := 0, true; dead; n++ {
		path := filepath.Join(t.TempDir(), "feed.key")
		if err := (keygenCmd{Out: path, lifeFlag: lifeFlag{Days: 90}}).make(nobody(), keyring{key: path}, now); err != nil {
			t.Fatal(err)
		}
		only, _, err := publicOf(path)
		if err != nil {
			t.Fatal(err)
		}
		run := func(ring keyring) error {
			return keyRotateCmd{URL: testFeed, ringFlags: ringFlagsOf(path)}.rotate(nobody(), ring, now)
		}
		dead = killedAt(t, path, n, run)
		found := false
		for _, file := range []string{path, path + ".root"} {
			if public, ok, _ := publicOf(file); ok && public == only {
				found = true
			}
		}
		if !found {
			t.Errorf("killed after %d steps: the feed's key is gone", n)
		}
		if cert, err := (keyring{key: path}).read(); err != nil {
			t.Fatal(err)
		} else if cert == nil {
			if err := run(keyring{key: path}); err != nil {
				t.Fatalf("killed after %d steps, the next run: %v", n, err)
			}
		}
		usable(t, path)
		cert, err := keyring{key: path}.read()
		if err != nil || cert.Latest().Fingerprint() != only.Fingerprint() {
			t.Errorf("killed after %d steps: %v, subscribers know another root", n, err)
		}
	}
}

// A state made by a clock that was far ahead does not lock the feed out.
func TestRotateAfterAWrongClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "feed.key")
	wrong := time.Now().AddDate(0, 0, 40)
	if err := (keygenCmd{Out: path, URL: testFeed, lifeFlag: lifeFlag{Days: 90}}).make(nobody(), keyring{key: path}, wrong); err != nil {
		t.Fatal(err)
	}
	c := keyRotateCmd{ringFlags: ringFlagsOf(path)}
	if err := c.rotate(nobody(), keyring{key: path}, time.Now()); err != nil {
		t.Fatal(err)
	}
	cert, err := keyring{key: path}.read()
	if err != nil || len(cert.Latest().Signing) != 1 || time.Until(cert.Latest().Until()) > signing.MaxSigning {
		t.Errorf("%v, %+v", err, cert)
	}
}
