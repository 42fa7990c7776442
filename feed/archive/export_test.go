package archive

import "github.com/feedtree/feedtree/feed/store"

// OpenThrough opens an archive through a VFS of the test's own.
func OpenThrough(path, vfs string) (*Archive, error) {
	return openFile(path, store.Limits{}, vfs, quiet)
}

// CheckpointAfter moves the WAL into the file after so many pages.
func (a *Archive) CheckpointAfter(pages string) error {
	_, err := a.writer.Exec(`PRAGMA wal_autocheckpoint=` + pages)
	return err
}

// CheckpointAll moves the WAL into the file.
func (a *Archive) CheckpointAll() error {
	_, err := a.writer.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

func quiet(float64) {}
