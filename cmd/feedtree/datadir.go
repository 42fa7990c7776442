package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

// dataDir is a directory that this process alone works in.
type dataDir struct {
	path    string
	lock    *os.File
	archive *archive.Archive
}

const archiveName = "feedtree.db"

var errLocked = errors.New("locked")

// openData makes the directory if need be, locks it and opens the archive in it.
func openData(path string) (*dataDir, error) { return openDataWith(path, store.Limits{}) }

// openDataWith keeps the archive within limits.
func openDataWith(path string, limits store.Limits) (_ *dataDir, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w; --data names another", err)
	}
	d := &dataDir{path: path}
	if d.lock, err = os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("data directory: %w; --data names another", err)
	}
	if err := lockFile(d.lock); err != nil {
		_ = d.lock.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("data directory %s is in use by another feedtree: stop that one, or choose another --data", path)
		}
		return nil, fmt.Errorf("locking %s: %w", d.lock.Name(), err)
	}
	bar := newBar(os.Stderr)
	d.archive, err = archive.OpenShowing(filepath.Join(path, archiveName), limits, func(done float64) {
		bar.show("bringing the archive to the present format", done)
	})
	bar.clear()
	if err != nil {
		_ = d.lock.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the archive and gives the directory free.
func (d *dataDir) Close() error { return errors.Join(d.archive.Close(), d.lock.Close()) }

// size is what the archive takes on the disk.
func (d *dataDir) size() (total int64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(filepath.Join(d.path, archiveName+suffix))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// defaultData is the proxy's directory where nobody named one.
func defaultData() (string, error) {
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); filepath.IsAbs(dir) {
		return dir, nil // of a service (systemd.exec(5))
	}
	return xdgDir("XDG_DATA_HOME", ".local/share")
}

// xdgDir returns the directory of feedtree under an XDG base directory, which
// is by default below the home directory.
func xdgDir(variable, fallback string) (string, error) {
	if base := os.Getenv(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "feedtree"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home directory to keep data in (%w): use --data DIR", err)
	}
	return filepath.Join(home, fallback, "feedtree"), nil
}

// closing joins the error of a Close to that of a function, which the end of a
// context does not count as.
func closing(err *error, f func() error) {
	if cause := f(); cause != nil && !errors.Is(cause, context.Canceled) {
		*err = errors.Join(*err, cause)
	}
}
