//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeSpace is how much this user may still write at a path, or above it if it is
// not there yet; 0 if nobody can tell.
func freeSpace(path string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(existing(path), &s) != nil {
		return 0
	}
	return uint64(s.Bavail) * uint64(s.Bsize)
}

// writable returns why this user cannot write at a path, or make it.
func writable(path string) error {
	at := existing(path)
	if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write", Path: at, Err: err}
	}
	return nil
}

// existing is the path, or what is there of it.
func existing(path string) string {
	for {
		above := filepath.Dir(path)
		if _, err := os.Stat(path); err == nil || above == path {
			return path
		}
		path = above
	}
}
