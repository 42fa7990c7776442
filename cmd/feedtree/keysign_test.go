package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// Whatever the moment, the keys are those before or those after, and running the
// commands again ends it.
func TestSigningOneByOneSurvivesBeingKilledAnywhere(t *testing.T) {
	now := time.Now()
	for n, dead := 0, true; dead; n++ {
		dir := t.TempDir()
		path, roots := filepath.Join(dir, "feed.key"), []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")}
		first := keygenCmd{Out: path, URL: testFeed, lifeFlag: lifeFlag{Days: 90}, rootFlags: rootFlags{Root: roots}}
		if err := first.make(nobody(), keyring{key: path}, now); err != nil {
			t.Fatal(err)
		}
		before, err := keyring{key: path}.read()
		if err != nil {
			t.Fatal(err)
		}
		change := func(ring keyring) error {
			if cert, err := ring.read(); err != nil || cert.Latest().Version == 2 {
				return err
			}
			if _, err := os.Stat(ring.draftFile()); err != nil {
				flags := ringFlagsOf(path)
				flags.Root = roots[:1]
				if err := (keyRotateCmd{ringFlags: flags}).rotate(nobody(), ring, now); err != nil {
					return err
				}
			}
			err := keySignCmd{Draft: ring.draftFile(), Root: roots[1:2]}.sign(nobody(), ring)
			if err != nil && signing.ReasonOf(err) != signing.ReasonStale {
				return err
			}
			return keySignCmd{Draft: ring.draftFile(), Key: path}.sign(nobody(), ring)
		}
		dead = killedAt(t, path, n, change)
		version := usable(t, path)
		if dead {
			if err := change(keyring{key: path}); err != nil {
				t.Fatalf("killed after %d steps at version %d, the next run: %v", n, version, err)
			}
		}
		if err := (keyring{key: path}).undrafted(nil); dead && err != nil && version == 1 {
			t.Errorf("killed after %d steps: %v", n, err)
		}
		if v := usable(t, path); v != 2 {
			t.Errorf("killed after %d steps: version %d in the end", n, v)
		}
		after, err := keyring{key: path}.read()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := before.Learn(after); err != nil {
			t.Errorf("killed after %d steps: subscribers do not follow: %v", n, err)
		}
		if !dead && n < 12 {
			t.Errorf("only %d steps", n)
		}
	}
}
