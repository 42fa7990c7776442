package archive

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/feedtree/feedtree/feed/store"
)

// Why a file is refused. Errors of this package wrap one of these, or what the
// operating system or SQLite said.
var (
	ErrNewer   = errors.New("written by a newer version")
	ErrDamaged = errors.New("damaged")
	ErrForeign = errors.New("not an archive of feedtree")
	ErrSQLite  = errors.New("this build has an SQLite that can damage its files")
)

// FileError is what is wrong with an archive's file and what to do about it.
type FileError struct {
	Path   string
	Err    error
	Remedy string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("archive %s: %v; %s", e.Path, e.Err, e.Remedy)
}

func (e *FileError) Unwrap() error { return e.Err }

// explain turns an error of SQLite or the system into one that names the file
// and, where there is one, the way out.
func (a *Archive) explain(err error) error {
	if err == nil || errors.Is(err, store.ErrFeed) || errors.Is(err, store.ErrLine) {
		return err
	}
	var known *FileError
	if errors.As(err, &known) {
		return err
	}
	if a.closed.Load() || errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("archive %s: %w", a.path, store.ErrClosed)
	}
	return explain(a.path, err)
}

func explain(path string, err error) error {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return fmt.Errorf("archive %s: %w", path, err)
	}
	switch failed.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT:
		return damaged(path, err)
	case sqlite3.SQLITE_NOTADB:
		return foreign(path, "no SQLite database")
	case sqlite3.SQLITE_FULL:
		return &FileError{path, err, "make room on its disk: nothing was lost, writing goes on then"}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return &FileError{path, err, "give this user the right to write the file and its directory"}
	case sqlite3.SQLITE_BUSY:
		return &FileError{path, err, "another process has it open for writing: stop that one, or use another data directory"}
	case sqlite3.SQLITE_IOERR:
		return &FileError{path, err, "its disk failed: look at the system's log"}
	}
	return fmt.Errorf("archive %s: %w", path, err)
}

// unreadable reports whether SQLite, or the types of what it read, say that the
// file is not as it was written.
func unreadable(err error) bool {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return strings.Contains(err.Error(), "converting driver.Value") || strings.Contains(err.Error(), "unsupported Scan")
	}
	switch failed.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM:
		return true
	}
	return false
}

func damaged(path string, why error) error {
	return &FileError{path, fmt.Errorf("%w: %w", ErrDamaged, why), fmt.Sprintf(
		"save what is whole with `feedtree archive export --file %s BACKUP` and import that into a new one, or restore a copy", quote(path))}
}

func newer(path string, version int) error {
	return &FileError{path, fmt.Errorf("%w: its schema is %d, this version knows up to %d", ErrNewer, version, len(migrations)),
		"use the newer version, or another data directory"}
}

func foreign(path, what string) error {
	return &FileError{path, fmt.Errorf("%w: %s", ErrForeign, what), "move it away, or use another data directory"}
}

// quote makes a path safe to paste into a shell.
func quote(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
