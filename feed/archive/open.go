package archive

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver

	"github.com/feedtree/feedtree/feed/store"
)

// Archive is a store.Store in one file.
type Archive struct {
	path    string
	limits  store.Limits
	closed  atomic.Bool
	writer  *sql.DB // one connection: it is the lock between writers of this process
	reader  *sql.DB
	writing *statements
	reading *statements
	damages damages
	dropped droppedCounts
}

var _ store.Store = (*Archive)(nil)

const (
	readers   = 4
	checkSize = 256 << 20 // above this, opening does not read the whole file to check it
)

// Open opens the archive in the file at path, or makes it.
func Open(path string) (*Archive, error) { return OpenWith(path, store.Limits{}) }

// OpenWith opens the archive in the file at path, or makes it, and keeps it
// within limits.
func OpenWith(path string, limits store.Limits) (*Archive, error) {
	return OpenShowing(path, limits, func(float64) {})
}

// OpenShowing opens like OpenWith, and tells progress how much is done of bringing
// a file of an older version to the present schema, from 0 to 1: of a large one
// that takes minutes. It says nothing of a file that needs none.
func OpenShowing(path string, limits store.Limits, progress func(done float64)) (*Archive, error) {
	return openFile(path, limits, "", progress)
}

// openFile opens an archive through the named VFS of SQLite, "" for its own.
func openFile(path string, limits store.Limits, vfs string, progress func(float64)) (*Archive, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", path, err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	source := dsn(path)
	if vfs != "" {
		source += "&vfs=" + vfs
	}
	writer, err := openWriter(path, source, progress)
	if err != nil {
		return nil, err
	}
	reader, err := sql.Open("sqlite", source+"&_pragma=query_only(1)")
	if err != nil {
		writer.Close()
		return nil, explain(path, err)
	}
	return assemble(path, limits, writer, reader), nil
}

func assemble(path string, limits store.Limits, writer, reader *sql.DB) *Archive {
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	return &Archive{
		path: path, limits: limits.WithDefaults(), writer: writer, reader: reader,
		writing: newStatements(writer), reading: newStatements(reader),
	}
}

// Close ends all use of the archive and leaves one file without a WAL.
func (a *Archive) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	if err := errors.Join(a.reader.Close(), a.writer.Close()); err != nil {
		return explain(a.path, err)
	}
	return nil
}

// dsn names the file to SQLite, with what every connection needs. Nothing in
// it writes: a file that will be refused must not be changed.
func dsn(path string) string {
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // file:///C:/…
	}
	return "file://" + name + "?mode=rw&_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"
}

// prepareFile makes an empty file if there is none, and refuses one that shows
// in its first bytes that it is not ours to open.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkHeader(path)
	}
	if err != nil {
		return &FileError{path, err, "make its directory, with the right to write for this user"}
	}
	err = errors.Join(f.Sync(), f.Close())
	if dir, openErr := os.Open(filepath.Dir(path)); openErr == nil {
		_ = dir.Sync() // not every file system can
		dir.Close()
	}
	return err
}

// checkHeader reads the fixed header of an SQLite file: the magic in its first
// 16 bytes and the user_version at 60. The last commits may still be in the
// WAL, so openWriter asks SQLite again.
func checkHeader(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return &FileError{path, err, "it must be a file that this user may read and write"}
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return &FileError{path, errors.New("not a regular file"), "name another one"}
	}
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	switch {
	case n == 0 && err == io.EOF:
		return nil
	case err == io.ErrUnexpectedEOF || err == nil && string(header[:16]) != "SQLite format 3\x00":
		return foreign(path, "no SQLite database")
	case err != nil:
		return &FileError{path, err, "it must be a file that this user may read and write"}
	}
	if version := int(int32(binary.BigEndian.Uint32(header[60:]))); version > len(migrations) {
		return newer(path, version)
	}
	return nil
}

// openWriter opens the connection that writes, after it has satisfied itself
// that the file is sound and ours, and brought it to the present schema.
func openWriter(path, source string, progress func(float64)) (*sql.DB, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, explain(path, err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	for _, step := range []func(context.Context, *sql.DB, string) error{checkSQLite, checkOurs, checkSound, shape, startWAL} {
		if err := step(ctx, db, path); err != nil {
			db.Close()
			return nil, err
		}
	}
	if err := migrate(ctx, db, path, progress); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func checkSQLite(ctx context.Context, db *sql.DB, path string) error {
	var version string
	if err := db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return explain(path, err)
	}
	return sound(version)
}

// sound says whether a version of SQLite may write an archive.
func sound(version string) error {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return fmt.Errorf("%w: its version is %q", ErrSQLite, version)
	}
	if major*1_000_000+minor*1_000+patch < 3_051_003 {
		return fmt.Errorf("%w: %s, build with modernc.org/sqlite of 3.51.3 or later", ErrSQLite, version)
	}
	return nil
}

func checkOurs(ctx context.Context, db *sql.DB, path string) error {
	var application, version, tables int
	row := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)`)
	if err := row.Scan(&application, &version, &tables); err != nil {
		return explain(path, err)
	}
	switch {
	case application != applicationID && (tables > 0 || version != 0):
		return foreign(path, "the SQLite database of another program")
	case version > len(migrations):
		return newer(path, version)
	}
	return nil
}

// checkSound lets SQLite walk the file's structure. In a large file that would
// take longer than a start may: there, damage shows when it is met.
func checkSound(ctx context.Context, db *sql.DB, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return explain(path, err)
	}
	if info.Size() > checkSize {
		return nil
	}
	var finding string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&finding); err != nil {
		return explain(path, err)
	}
	if finding != "ok" {
		return damaged(path, errors.New(finding))
	}
	return nil
}

// pageSize is what a new file has. Larger pages would make bulk a little cheaper,
// and a single item, which writes a dozen of them, twice as dear.
const pageSize = 8192

// shape gives a file that is made now its pages, and lets it shrink in steps later.
// In one that has tables already it changes nothing.
func shape(ctx context.Context, db *sql.DB, path string) error {
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA page_size=%d; PRAGMA auto_vacuum=INCREMENTAL`, pageSize)); err != nil {
		return explain(path, err)
	}
	return nil
}

func startWAL(ctx context.Context, db *sql.DB, path string) error {
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode=WAL`).Scan(&mode); err != nil {
		return explain(path, err)
	}
	if mode != "wal" {
		return &FileError{path, fmt.Errorf("its journal mode stays %q", mode), "keep it on a local disk"}
	}
	_, err := db.ExecContext(ctx, `PRAGMA journal_size_limit=16777216`)
	return err
}
