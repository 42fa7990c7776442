// Package disk stands between SQLite and the file system in tests: it notes what
// is written and what is synced, and fails on demand.
//
//	d := disk.New()
//	// … open a database with vfs=d.Name() and work with it …
//	p := disk.NewPlatter(before)
//	for _, op := range d.Log() {
//		p.Step(op)
//		files := p.AfterPowerLoss(disk.Parts, rng)
//
// What was noted says what a machine may find on its disk if its power fails at
// any moment of the work: all that was synced, and of the rest any part. [Disk] is
// a VFS of SQLite over its own one, which goes on doing everything; only writes,
// truncations, syncs and deletions pass through here first.
//
// # Invariants
//
//  1. The log holds operations in the order in which SQLite asked for them, those
//     that failed left out.
//  2. AfterPowerLoss never loses what a later Sync of the same file covered, and
//     never invents bytes: each sector of 512 bytes is as one of the writes left it.
//
// What it cannot show: a disk that says it has synced and has not. The directory is
// synced with the first sync of a new file in it, as SQLite does for journals; all
// files are taken to be in one.
package disk
